"""A process that is killed while it makes or restores a backup leaves all as it was, or done."""

from collections.abc import Callable
from pathlib import Path

import pytest

import ricordo
from ricordo import Memory
from ricordo.testing import ManualClock
from ricordo.wiring import restore_backup
from tests.backup.comparing import rows_of
from tests.backup.killing import killed_at, killed_at_size, steps_of

pytestmark = pytest.mark.chaos
SOME = 3
HOT = bytes.fromhex("d9d505f920a163d7")  # how a journal begins as long as it is needed
DRAFTS = "*.ricordo-draft*"


@pytest.mark.requirement("backup.verified")
def test_a_killed_backup_leaves_the_old_one_or_the_new(owned: Memory, backup_path: Path) -> None:
    owned.user("ana").add("Prefers tea")
    steps = steps_of("make", _address(owned), backup_path, SOME)
    owned.user("ana").add("Has a cat")
    for step in steps:
        assert killed_at(step, "make", _address(owned), backup_path)
        assert ricordo.check_backup(backup_path).rows["items"] in (1, 2)
        seen = [path.name for path in backup_path.parent.iterdir() if path.name[0] != "."]
        assert seen == [backup_path.name]  # what is hidden is a draft
    assert ricordo.check_backup(backup_path).rows["items"] == 2
    owned.backup(backup_path, force=True)
    assert not list(backup_path.parent.glob(DRAFTS))


@pytest.mark.requirement("backup.restore")
def test_a_killed_restore_leaves_the_old_store_or_the_new(
    owned: Memory,
    owner_url: str,
    backup_path: Path,
    clock: ManualClock,
    open_store: Callable[..., Memory],
) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    new = rows_of(owned)
    owned.user("ana").add("Has a cat")
    owned.user("ben").add("Lives in Lisbon")
    old = rows_of(owned)
    old_backup = backup_path.with_name("old.backup")
    owned.backup(old_backup)
    owned.close()
    steps = steps_of("restore", owner_url, backup_path, SOME)
    restore_backup(old_backup, owner_url, clock=clock, replace=True)
    seen = []
    for step in steps:
        assert killed_at(step, "restore", owner_url, backup_path)
        after = open_store(owner_url)
        seen.append(rows_of(after) == new)
        assert seen[-1] or rows_of(after) == old
        assert after.database.backend.check() == []
        after.close()
    assert not seen[0]
    assert seen[-1]
    assert seen == sorted(seen)  # from some step on it is done
    restore_backup(backup_path, owner_url, clock=clock, replace=True)
    assert not list(backup_path.parent.glob(DRAFTS))
    if not owner_url.startswith("postgresql"):
        assert not list(Path(owner_url).parent.glob(DRAFTS))


@pytest.mark.requirement("backup.restore")
def test_killed_while_the_file_is_written(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    backup_path: Path,
    clock: ManualClock,
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add_many([f"Statement {number}" for number in range(3_000)])
    memory.backup(backup_path)
    memory.user("ana").add_many([f"Later statement {number}" for number in range(3_000)])
    old = rows_of(memory)
    memory.close()
    # The copy of the backup fits. What undoes the change does not quite: it has every page that is
    # replaced, and eight bytes more for each. By then most of the file is overwritten.
    fits = backup_path.stat().st_size + 1_000
    assert fits > 4 * 1024 * 1024  # twice of what SQLite keeps in memory
    killed_at_size(fits, "restore", sqlite_url, backup_path)
    journal = Path(f"{sqlite_url}-journal")
    assert journal.read_bytes()[: len(HOT)] == HOT  # it was in the middle of its transaction
    after = open_store(sqlite_url)
    assert rows_of(after) == old
    assert after.database.backend.check() == []
    after.close()
    restore_backup(backup_path, sqlite_url, clock=clock, replace=True)
    assert len(rows_of(open_store(sqlite_url))["items"]) == 3_000


def _address(memory: Memory) -> str:
    url = memory.settings.url
    assert url is not None
    return url
