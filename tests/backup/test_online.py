"""Backups while others write: nothing that was acknowledged before is missing, all of it fits."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.storage.sqlite import backend
from ricordo.transfer import backup
from tests.support.soundness import problems_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("backup.online")
WELL_UNDER_WAY = 100


@pytest.mark.slow
def test_what_was_acknowledged_before_is_in_and_all_fits_together(
    owned: Memory, tmp_path: Path, restored: Callable[..., Memory]
) -> None:
    acknowledged: dict[str, list[int]] = {f"user-{number}": [] for number in range(3)}
    enough = threading.Event()

    def write(name: str) -> None:
        user, own = owned.user(name), acknowledged[name]
        while not enough.is_set():
            own.append(user.add(f"Statement {len(own)} of {name}").id)
            user.add(f"Value {len(own)}", key="changing")
            user.observe([{"role": "user", "content": f"Turn {len(own)}"}], thread="t")
            user.archive(own[-1])

    with ThreadPoolExecutor(3) as threads:
        writing = threads.map(write, acknowledged)
        try:
            for number in range(3):
                seen = {name: len(own) for name, own in acknowledged.items()}
                wait_until(
                    lambda seen=seen: all(len(acknowledged[name]) > seen[name] for name in seen)
                )
                before = {name: set(own) for name, own in acknowledged.items()}
                owned.backup(tmp_path / f"{number}.backup")
                copy = restored(tmp_path / f"{number}.backup")
                assert problems_of(copy) == []
                for name, ids in before.items():
                    listed = copy.user(name).list(status="any", limit=1_000)
                    assert ids <= {item.id for item in listed}
        finally:
            enough.set()
        list(writing)


def test_writers_do_not_wait_for_a_backup(
    owned: Memory, backup_path: Path, monkeypatch: pytest.MonkeyPatch, owner_url: str
) -> None:
    """In the middle of copying, somebody writes: it is done at once, and is not in the backup."""
    owned.user("ana").add_many([f"Said before: {number}" for number in range(200)])
    if owner_url.startswith("postgresql"):
        copy = backup.copy_rows

        def writing_between(*given: object) -> None:
            owned.user("ana").add("Said meanwhile")
            copy(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(backup, "copy_rows", writing_between)
    else:
        _write_while_vacuuming(owned, monkeypatch)
    made = owned.backup(backup_path)
    assert made.rows["items"] == 200
    assert owned.user("ana").list().items[0].content == "Said meanwhile"


def _write_while_vacuuming(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = backend.write_copy

    def writing_between(driver: object, path: Path) -> None:
        calls = itertools.count()

        def progress() -> int:  # called by SQLite again and again while it copies
            if next(calls) == WELL_UNDER_WAY:
                memory.user("ana").add("Said meanwhile")
            return 0

        driver.set_progress_handler(progress, 10)  # type: ignore[attr-defined]
        copy(driver, path)
        driver.set_progress_handler(None, 0)  # type: ignore[attr-defined]
        assert next(calls) > 2 * WELL_UNDER_WAY

    monkeypatch.setattr(backend, "write_copy", writing_between)
