"""Restoring: into what is empty, or in place of what is there; otherwise nothing is touched."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import ricordo
from ricordo import (
    AccessDenied,
    InvalidValue,
    Memory,
    StorageBusy,
    StorageCorrupt,
    StoreNotEmpty,
)
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.search_index import ITEMS
from ricordo.testing.clock import ManualClock
from ricordo.wiring import restore_backup
from tests.backup.comparing import rows_of
from tests.support import postgres
from tests.support.processes import start

pytestmark = pytest.mark.requirement("backup.restore")


def contents(memory: Memory, user: str = "ana") -> list[str]:
    return sorted(item.content for item in memory.user(user).list())


def test_a_store_that_holds_something_is_replaced_only_when_asked_to(
    owned: Memory,
    owner_url: str,
    backup_path: Path,
    clock: ManualClock,
    open_store: Callable[..., Memory],
) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    owned.user("ana").add("Has a cat")
    owned.user("cem").add("Came later")
    owned.close()
    with pytest.raises(StoreNotEmpty, match="holds something already"):
        restore_backup(backup_path, owner_url, clock=clock)
    unchanged = open_store(owner_url)
    assert contents(unchanged) == ["Has a cat", "Prefers tea"]
    unchanged.close()

    report = restore_backup(backup_path, owner_url, clock=clock, replace=True)
    assert (report.replaced, report.migrated_from, report.rows["items"]) == (True, None, 1)
    after = open_store(owner_url)
    assert contents(after) == ["Prefers tea"]
    assert after.users() == ("ana",)
    assert after.user("ana").search("tea").results[0].content_snippet == "Prefers tea"
    with after.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_a_new_store_is_made_private(owned: Memory, backup_path: Path, tmp_path: Path) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    new = tmp_path / "not" / "there" / "yet.db"
    report = ricordo.restore_backup(backup_path, new)
    assert (report.database, report.replaced) == (str(new), False)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.parent.stat().st_mode) == 0o700
    assert [path.name for path in new.parent.iterdir()] == ["yet.db"]


def test_the_default_store_is_restored(owned: Memory, backup_path: Path, own_home: Path) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    assert ricordo.restore_backup(backup_path).database == str(own_home / "ricordo.db")
    with pytest.raises(InvalidValue, match="temporary"):
        ricordo.restore_backup(backup_path, ":memory:")


def test_a_store_that_somebody_has_open_is_not_touched(
    owned: Memory, owner_url: str, backup_path: Path, clock: ManualClock
) -> None:
    ana = owned.user("ana")
    ana.add("Prefers tea")
    owned.backup(backup_path)
    ana.add("Has a cat")
    with pytest.raises(StorageBusy, match="stop the service"):
        restore_backup(backup_path, owner_url, clock=clock, replace=True)
    assert contents(owned) == ["Has a cat", "Prefers tea"]
    assert ana.add("Goes on").status == "active"


def test_a_store_that_another_process_has_open_is_not_touched(
    owned: Memory, owner_url: str, backup_path: Path, clock: ManualClock
) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    owned.close()
    other = start("form_when_told", owner_url)
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    with pytest.raises(StorageBusy, match="stop the service"):
        restore_backup(backup_path, owner_url, clock=clock, replace=True)
    assert other.communicate("\n")[1] == ""
    restore_backup(backup_path, owner_url, clock=clock, replace=True)


def test_a_log_that_was_left_does_not_come_back(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    backup_path: Path,
    clock: ManualClock,
    tmp_path: Path,
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add("Prefers tea")
    memory.backup(backup_path)
    memory.user("ana").add("Only in the log of a process that was killed")
    wal, killed = Path(f"{sqlite_url}-wal"), tmp_path / "killed.db"
    killed.write_bytes(Path(sqlite_url).read_bytes())
    Path(f"{killed}-wal").write_bytes(wal.read_bytes())
    restore_backup(backup_path, killed, clock=clock, replace=True)
    assert contents(open_store(str(killed))) == ["Prefers tea"]


def test_nothing_of_the_replaced_store_is_left_in_the_file(
    sqlite_url: str, open_store: Callable[..., Memory], backup_path: Path, clock: ManualClock
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add("Prefers tea")
    memory.backup(backup_path)
    memory.user("ana").add_many([f"Confidential {number} zebra" for number in range(500)])
    memory.close()
    restore_backup(backup_path, sqlite_url, clock=clock, replace=True)
    open_store(sqlite_url).close()
    held = [path.read_bytes() for path in Path(sqlite_url).parent.glob("ricordo.db*")]
    assert not any(b"Confidential" in one or b"zebra" in one for one in held)


def test_an_index_in_memory_of_the_former_contents_is_not_used(
    owned: Memory,
    owner_url: str,
    backup_path: Path,
    clock: ManualClock,
    open_store: Callable[..., Memory],
) -> None:
    """A program that was not stopped, against advice, and is connected again by itself."""
    ana = owned.user("ana")
    ana.add("Prefers green tea")
    owned.backup(backup_path)
    for number in range(20):
        ana.add(f"Later statement {number}")
    assert ana.search("green tea").results
    shelves = owned.recall.shelves
    owned.close()
    restore_backup(backup_path, owner_url, clock=clock, replace=True)
    after = open_store(owner_url)
    assert after.user("ana").add("Prefers black tea").status == "active"
    kept = shelves._kept[ITEMS.name, "ana"]
    after.recall.shelves._kept = shelves._kept  # as if this process had gone on
    with (
        after.database.read("ana") as view,
        after.recall.shelves.borrow(view.connection, ITEMS, "ana", kept.model) as shelf,
    ):
        assert shelf is not None
        assert set(shelf.row_of) == {item.id for item in after.user("ana").list()}


def test_only_the_owner_of_the_tables_restores(
    postgres_url: str, open_store: Callable[..., Memory], backup_path: Path, clock: ManualClock
) -> None:
    owner = postgres.as_owner(postgres_url)
    memory = open_store(owner)
    memory.user("ana").add("Prefers tea")
    memory.backup(backup_path)
    before = rows_of(memory)
    memory.close()
    with pytest.raises(AccessDenied, match="only the role that owns the tables"):
        restore_backup(backup_path, postgres_url, clock=clock, replace=True)
    assert rows_of(open_store(owner)) == before


def test_into_a_database_without_tables(
    owned: Memory,
    backup_path: Path,
    clock: ManualClock,
    open_store: Callable[..., Memory],
    worker_id: str,
) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    with postgres.database(f"restored_{worker_id}") as url:
        restore_backup(backup_path, url, clock=clock)
        app = open_store(postgres.let_app_in(url))
        assert contents(app) == ["Prefers tea"]
        assert app.database.backend.confinement_problem() is None
        app.close()


def test_what_is_no_store_is_not_replaced(
    owned: Memory, backup_path: Path, tmp_path: Path, clock: ManualClock
) -> None:
    owned.backup(backup_path)
    notes = tmp_path / "notes.txt"
    notes.write_text("Notes of mine, and long enough to be looked at.\n" * 100)
    before = notes.read_bytes()
    with pytest.raises(StorageCorrupt):
        restore_backup(backup_path, notes, clock=clock, replace=True)
    assert notes.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


@pytest.mark.parametrize("replace", [False, True])
def test_a_backup_is_no_place_to_restore_to(
    owned: Memory, backup_path: Path, clock: ManualClock, replace: bool
) -> None:
    owned.user("ana").add("Prefers tea")
    made = owned.backup(backup_path)
    with pytest.raises(ricordo.StorageReadOnly, match="is a backup"):
        restore_backup(backup_path, backup_path, clock=clock, replace=replace)
    assert ricordo.check_backup(backup_path) == made
