"""Backups while others write: nothing that was acknowledged before is missing, all of it fits."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.storage.consistency import find_inconsistencies
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("backup.online")
WRITERS = 3
BACKUPS = 3
WELL_UNDER_WAY = 100


class Writer(threading.Thread):
    """Writes of every kind for one user until told to stop."""

    def __init__(self, memory: Memory, name: str) -> None:
        super().__init__()
        self.user = memory.user(name)
        self.acknowledged: list[int] = []
        self.error: Exception | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._write(len(self.acknowledged))
        except Exception as error:
            self.error = error

    def _write(self, number: int) -> None:
        name = self.user.scope.user_id
        self.acknowledged.append(self.user.add(f"Statement {number} of {name}").id)
        self.user.add(f"Value {number}", key="changing")
        self.user.observe([{"role": "user", "content": f"Turn {number}"}], thread="t")
        if number % 3 == 0:
            self.user.archive(self.acknowledged[-1])

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def test_what_was_acknowledged_before_is_in_and_all_fits_together(
    owned: Memory, tmp_path: Path, restored: Callable[..., Memory]
) -> None:
    writers = [Writer(owned, f"user-{number}") for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for number in range(BACKUPS):
            seen = {one: len(one.acknowledged) for one in writers}
            wait_until(lambda seen=seen: all(len(one.acknowledged) > seen[one] for one in writers))
            before = {one.user.scope.user_id: set(one.acknowledged) for one in writers}
            owned.backup(tmp_path / f"{number}.backup")
            _check(restored(tmp_path / f"{number}.backup"), before)
    finally:
        for writer in writers:
            writer.stop()
    assert [writer.error for writer in writers] == [None] * WRITERS


def _check(copy: Memory, before: dict[str, set[int]]) -> None:
    with copy.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []
    assert copy.database.backend.check() == []
    for name, ids in before.items():
        listed = {item.id for item in copy.user(name).list(status="any", limit=1_000)}
        assert ids <= listed
    copy.close()


def test_writers_do_not_wait_for_a_backup(
    owned: Memory, backup_path: Path, monkeypatch: pytest.MonkeyPatch, owner_url: str
) -> None:
    """In the middle of copying, somebody writes: it is done at once, and is not in the backup."""
    owned.user("ana").add_many([f"Said before: {number}" for number in range(200)])
    if owner_url.startswith("postgresql"):
        from ricordo.transfer.backup import making

        copy = making.copy_rows

        def writing_between(*given: object) -> None:
            owned.user("ana").add("Said meanwhile")
            copy(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(making, "copy_rows", writing_between)
    else:
        _write_while_vacuuming(owned, monkeypatch)
    made = owned.backup(backup_path)
    assert made.rows["items"] == 200
    assert owned.user("ana").list().items[0].content == "Said meanwhile"


def _write_while_vacuuming(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from ricordo.storage.sqlite import backend

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
