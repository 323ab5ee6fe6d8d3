"""A store that cannot be used: what the user sees, and that nothing is half-written."""

import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from ricordo import (
    DatabaseTooNew,
    InvalidValue,
    Memory,
    NewMemory,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    UnknownField,
)
from ricordo.memories.adding import add_all
from ricordo.model.scope import Scope
from ricordo.storage.migrations import HEAD
from ricordo.testing.clock import ManualClock
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.waiting import wait_until


@pytest.mark.requirement("storage.too-new")
def test_a_newer_database_is_refused(
    backend_url: str, owner_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(owner_url)
    memory.user("ana").add("Has a cat")
    with memory.database.transaction() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(
        DatabaseTooNew, match=f"9999, newer than this ricordo, which knows up to {HEAD}"
    ):
        open_memory(backend_url)
    with memory.database.transaction() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{HEAD}'")


@pytest.mark.requirement("storage.corrupt")
def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear ana, this is not a database. " * 100)
    with pytest.raises(StorageCorrupt, match=r"letter\.db: the file is not a SQLite database"):
        open_memory(path)
    assert path.read_text().startswith("Dear ana")


@pytest.mark.requirement("storage.corrupt")
def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE items (name TEXT)")
    connection.close()
    with pytest.raises(StorageCorrupt, match="tables of something else"):
        open_memory(path)
    other = tmp_path / "alembic.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('0001')")
    connection.close()
    with pytest.raises(StorageCorrupt, match="tables of something else"):
        open_memory(other)


@pytest.mark.requirement("storage.corrupt")
def test_a_damaged_file(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    with open_memory(sqlite_url, run_jobs=False) as memory:
        memory.user("ana").add_many([f"Fact {number} " + "x" * 500 for number in range(500)])
    size = Path(sqlite_url).stat().st_size
    with Path(sqlite_url).open("r+b") as file:
        file.seek(size // 4)
        file.write(os.urandom(size // 2))
    damaged = open_store(sqlite_url)
    with pytest.raises(StorageCorrupt, match="damaged; restore a backup"):
        damaged.user("ana").list(limit=1_000)
    assert damaged.database.backend.check() != []


@pytest.mark.requirement("storage.unavailable")
def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailable, match=r"file/ricordo\.db"):
        open_memory(tmp_path / "file" / "ricordo.db")
    with pytest.raises(StorageUnavailable):
        open_memory(tmp_path)


@pytest.mark.requirement("storage.unavailable")
def test_a_server_that_is_not_there() -> None:
    url = "postgresql://someone:secret@127.0.0.1:1/nothing"
    with pytest.raises(StorageUnavailable) as caught:
        open_memory(url, busy_timeout_seconds=2)
    assert "cannot be reached" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.requirement("storage.unavailable")
def test_a_database_that_is_not_there(postgres_url: str) -> None:
    with pytest.raises(StorageUnavailable, match="no such database|cannot be reached"):
        open_memory(postgres_url.replace("/ricordo_", "/nothing_"))


@pytest.fixture
def small_store(tmp_path: Path, open_store: Callable[..., Memory]) -> Iterator[Memory]:
    """A store with room for three megabytes: a small file system, or where none can be mounted,
    SQLite's own limit, which fails in the same way."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder]
    mounted = subprocess.run(mount, capture_output=True).returncode == 0
    memory = open_store(str(folder / "ricordo.db"))
    if not mounted:
        with memory.database.transaction() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 450")
    yield memory
    if mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.requirement("storage.full")
def test_a_full_disk(small_store: Memory) -> None:
    ana = small_store.user("ana")
    written: list[int] = []
    with pytest.raises(StorageFull, match="disk is full; free some space"):
        for number in range(2_000):
            written.append(ana.add(f"Statement {number} " + "x" * 4_000).id)
    assert len(written) > 20
    assert ana.revision() == len(written)
    assert {item.id for item in ana.list(limit=1_000)} == set(written)
    assert small_store.database.backend.check() == []


@pytest.mark.requirement("storage.read-only")
def test_a_database_that_may_not_be_written(
    postgres_url: str, open_store: Callable[..., Memory]
) -> None:
    owner = open_store(postgres.as_owner(postgres_url))
    owner.user("ana").add("Has a cat")
    role = f"onlooker_{os.getpid()}"
    with owner.database.transaction() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN")
        connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    try:
        url = sa.make_url(postgres_url).set(username=role, password=None)
        onlooker = open_store(url.render_as_string(hide_password=False))
        assert [item.content for item in onlooker.user("ana").list()] == ["Has a cat"]
        with pytest.raises(StorageReadOnly, match="lacks a permission"):
            onlooker.user("ana").add("Has a dog")
        onlooker.close()
    finally:
        with owner.database.transaction() as connection:
            connection.exec_driver_sql(f"DROP OWNED BY {role}")
            connection.exec_driver_sql(f"DROP ROLE {role}")


@pytest.mark.requirement("storage.lost-connection")
def test_a_lost_connection_is_replaced(
    postgres_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(postgres_url)
    ana = memory.user("ana")
    ana.add("Before")
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename = current_user"
        " AND pid <> pg_backend_pid()"
    )
    with pytest.raises(StorageUnavailable), memory.database.write("ana") as writing:
        ana_in_the_middle(writing)
        other = open_store(postgres_url)
        with other.database.transaction() as connection:
            connection.exec_driver_sql(kill)
        ana_in_the_middle(writing)
    ana.add("Afterwards")
    assert [item.content for item in ana.list(sort="id", order="asc")] == ["Before", "Afterwards"]


def ana_in_the_middle(writing: object) -> None:
    from datetime import timedelta

    from ricordo.memories.adding import add_all
    from ricordo.model.draft import NewMemory
    from ricordo.model.scope import Scope
    from ricordo.storage.writing import Writing

    assert isinstance(writing, Writing)
    add_all(writing, Scope("ana"), [NewMemory(content="Lost")], timedelta(days=30))


@pytest.mark.requirement("settings.checked")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(colour="red"), "unknown setting 'colour'; allowed: "),
        (dict(pool_size=0), "setting pool_size"),
        (dict(synchronous="OFF"), "setting synchronous"),
        (dict(busy_timeout_seconds="long"), "setting busy_timeout_seconds"),
        (dict(url="mysql://host/db"), "is not a file path, sqlite:///PATH, postgresql://"),
        (dict(url="sqlite:///"), "is not a file path"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, object], said: str) -> None:
    with pytest.raises((InvalidValue, UnknownField)) as caught:
        open_memory(**given)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.requirement("settings.checked")
def test_the_environment_is_read_and_overridden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RICORDO_URL", str(tmp_path / "from-environment.db"))
    monkeypatch.setenv("RICORDO_GLOBAL_UNTIL", "9")
    with open_memory(run_jobs=False) as memory:
        assert memory.database.backend.location.endswith("from-environment.db")
        assert memory.settings.global_until == 9
    with open_memory(tmp_path / "given.db", global_until=1, run_jobs=False) as memory:
        assert memory.database.backend.location.endswith("given.db")
        assert memory.settings.global_until == 1
    monkeypatch.setenv("RICORDO_GLOBAL_UNTIL", "many")
    with pytest.raises(InvalidValue, match="setting global_until"):
        open_memory(run_jobs=False)


@pytest.mark.requirement("storage.private")
def test_the_files_are_private(own_home: Path) -> None:
    with open_memory(run_jobs=False) as memory:
        memory.user("ana").add("Has a cat")
        assert own_home.stat().st_mode & 0o077 == 0
        for path in own_home.iterdir():
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.requirement("storage.private")
def test_a_link_to_a_new_file_is_private_too(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    open_memory(tmp_path / "link.db", run_jobs=False).close()
    assert (tmp_path / "real.db").stat().st_mode & 0o077 == 0


@pytest.mark.requirement("storage.busy")
def test_an_import_into_a_locked_file_says_so(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    memory = open_store(sqlite_url, busy_timeout_seconds=0.1)
    memory.user("ana").add("Has a cat")
    memory.user("ana").export(tmp_path / "ana.jsonl")
    locking = sqlite3.connect(sqlite_url, isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy):
        memory.user("ben").import_file(tmp_path / "ana.jsonl")
    locking.execute("ROLLBACK")
    locking.close()


@pytest.mark.requirement("storage.temporary")
def test_a_temporary_store_leaves_nothing() -> None:
    with open_memory(":memory:", run_jobs=False) as memory:
        memory.user("ana").add("Has a cat")
        folder = Path(memory.database.backend.location).parent
        assert folder.exists()
    assert not folder.exists()
    assert issubclass(StorageFull, StorageError)


@pytest.mark.requirement("storage.threads")
def test_who_waited_for_another_writes_later_than_that_one(
    postgres_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    memory = open_store(postgres_url)
    ana = memory.user("ana")
    ana.add("Lives in Rome", key="home")
    failed: list[Exception] = []

    def somebody_waits() -> bool:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        with memory.database.read_all() as view:
            return bool(view.connection.execute(sa.text(waiting)).scalar_one())

    def move(town: str) -> None:
        try:
            ana.add(f"Lives in {town}", key="home")
        except Exception as problem:  # shown by the assertion below
            failed.append(problem)

    waiting = threading.Thread(target=move, args=("Oslo",))
    with memory.database.write("ana") as first:
        waiting.start()
        wait_until(somebody_waits)
        clock.advance(seconds=1)
        first.now = clock()
        add_all(first, Scope("ana"), [NewMemory(content="Lives in Bern", key="home")])
    waiting.join()
    assert failed == []
    assert [item.content for item in ana.list()] == ["Lives in Oslo"]
