"""A store that cannot be used: what the user sees, and that nothing is half-written."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from ricordo import (
    DatabaseTooNew,
    InvalidValue,
    Memory,
    NewMemory,
    StorageCorrupt,
    StorageReadOnly,
    StorageUnavailable,
    UnknownField,
)
from ricordo.memories.additions import add_all
from ricordo.model.scope import Scope
from ricordo.storage.migration import HEAD
from ricordo.storage.postgres.security import secure
from ricordo.testing import ManualClock
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
def test_files_that_are_no_store(tmp_path: Path) -> None:
    letter = tmp_path / "letter.db"
    letter.write_text("Dear ana, this is not a database. " * 100)
    with pytest.raises(StorageCorrupt, match=r"letter\.db: the file is not a SQLite database"):
        open_memory(letter)
    assert letter.read_text().startswith("Dear ana")
    for name, statement in (
        ("shop.db", "CREATE TABLE items (name TEXT)"),
        ("alembic.db", "CREATE TABLE alembic_version AS SELECT '0001' AS version_num"),
    ):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.execute(statement)
            connection.commit()
        with pytest.raises(StorageCorrupt, match="tables of something else"):
            open_memory(tmp_path / name)


@pytest.mark.requirement("storage.unavailable")
def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailable, match=r"file/ricordo\.db"):
        open_memory(tmp_path / "file" / "ricordo.db")
    with pytest.raises(StorageUnavailable):
        open_memory(tmp_path)


@pytest.mark.requirement("storage.unavailable")
def test_a_server_or_database_that_is_not_there(postgres_url: str) -> None:
    with pytest.raises(StorageUnavailable, match="cannot be reached") as caught:
        open_memory("postgresql://someone:secret@127.0.0.1:1/nothing", busy_timeout_seconds=2)
    assert "secret" not in str(caught.value)
    with pytest.raises(StorageUnavailable, match="no such database|cannot be reached"):
        open_memory(postgres_url.replace("/ricordo_", "/nothing_"))


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
        secure(connection)  # as an upgrade does: policies call functions
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


@pytest.mark.requirement("storage.private")
def test_the_files_are_private(own_home: Path, tmp_path: Path) -> None:
    with open_memory(run_jobs=False, embedding_provider="none") as memory:
        memory.user("ana").add("Has a cat")
        assert own_home.stat().st_mode & 0o077 == 0
        for path in own_home.iterdir():
            assert path.stat().st_mode & 0o077 == 0, path
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    open_memory(tmp_path / "link.db", run_jobs=False).close()
    assert (tmp_path / "real.db").stat().st_mode & 0o077 == 0


@pytest.mark.requirement("storage.temporary")
def test_a_temporary_store_leaves_nothing() -> None:
    with open_memory(":memory:", run_jobs=False, embedding_provider="none") as memory:
        memory.user("ana").add("Has a cat")
        folder = Path(memory.database.backend.location).parent
        assert folder.exists()
    assert not folder.exists()


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
