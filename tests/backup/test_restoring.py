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
from ricordo.storage.tables import ITEMS
from ricordo.testing import ManualClock
from ricordo.wiring import restore_backup
from tests.backup.comparing import rows_of
from tests.support import postgres
from tests.support.processes import start
from tests.support.soundness import problems_of

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
    with pytest.raises(StoreNotEmpty, match="is not empty"):
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
    assert problems_of(after) == []


def test_a_new_store_is_made_private(
    owned: Memory, backup_path: Path, tmp_path: Path, own_home: Path
) -> None:
    owned.user("ana").add("Prefers tea")
    made = owned.backup(backup_path)
    new = tmp_path / "not" / "there" / "yet.db"
    report = ricordo.restore_backup(backup_path, new)
    assert (report.database, report.replaced) == (str(new), False)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.parent.stat().st_mode) == 0o700
    assert [path.name for path in new.parent.iterdir()] == ["yet.db"]
    assert ricordo.restore_backup(backup_path).database == str(own_home / "ricordo.db")
    with pytest.raises(InvalidValue, match="temporary"):
        ricordo.restore_backup(backup_path, ":memory:")
    for replace in (False, True):
        with pytest.raises(ricordo.StorageReadOnly, match="is a backup"):
            restore_backup(backup_path, backup_path, replace=replace)
    assert ricordo.check_backup(backup_path) == made


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


@pytest.mark.chaos
def test_a_store_that_another_process_has_open_is_not_touched(
    owned: Memory, owner_url: str, backup_path: Path, clock: ManualClock
) -> None:
    owned.backup(backup_path)
    owned.close()
    other = start("form_when_told", owner_url)
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    with pytest.raises(StorageBusy, match="stop the service"):
        restore_backup(backup_path, owner_url, clock=clock, replace=True)
    assert other.communicate("\n")[1] == ""
    restore_backup(backup_path, owner_url, clock=clock, replace=True)


def test_nothing_of_the_replaced_store_is_left_in_the_file_or_its_log(
    sqlite_url: str, open_store: Callable[..., Memory], backup_path: Path, tmp_path: Path
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add("Prefers tea")
    memory.backup(backup_path)
    memory.user("ana").add_many([f"Confidential {number} zebra" for number in range(100)])
    killed = tmp_path / "killed" / "ricordo.db"  # as a process leaves it that was killed
    killed.parent.mkdir()
    for ending in ("", "-wal"):
        Path(f"{killed}{ending}").write_bytes(Path(f"{sqlite_url}{ending}").read_bytes())
    memory.close()
    for path in (Path(sqlite_url), killed):
        restore_backup(backup_path, path, replace=True)
        after = open_store(str(path))
        assert contents(after) == ["Prefers tea"]
        after.close()
        held = [one.read_bytes() for one in path.parent.glob("ricordo.db*")]
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
    indexes = owned.recall.indexes
    owned.close()
    restore_backup(backup_path, owner_url, clock=clock, replace=True)
    after = open_store(owner_url)
    assert after.user("ana").add("Prefers black tea").status == "active"
    kept = indexes._entries[ITEMS.name, "ana"]
    after.recall.indexes._entries = indexes._entries  # as if this process had gone on
    with (
        after.database.read("ana") as view,
        after.recall.indexes.borrow(view, ITEMS, "ana", kept.model) as user_index,
    ):
        assert user_index is not None
        assert set(user_index.row_of) == {item.id for item in after.user("ana").list()}


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


@pytest.mark.slow
def test_into_a_database_without_tables(
    sqlite_url: str, backup_path: Path, open_store: Callable[..., Memory], worker_id: str
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add("Prefers tea")
    memory.backup(backup_path)
    with postgres.database(f"restored_{worker_id}") as url:
        restore_backup(backup_path, url)
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
