"""Processes that die, that meet, and files that cannot be written."""

import json
import shutil
import time
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from ricordo import FilesUnavailable, Memory, StorageError
from ricordo.files import disk
from ricordo.files.disk import Busy, locked
from ricordo.files.mirror import MirrorWrites, UserMirror
from ricordo.user_memory.maintenance import mirror_of
from tests.files.killed import killed_at, started
from tests.files.mirrors import Mirrored, while_writing
from tests.support.elsewhere import locks_of_windows

pytestmark = pytest.mark.requirement("files.mirror-edits")

Open = Callable[..., Memory]


def prepare(memory: Memory) -> Mirrored:
    """A mirror with an edit of every kind, and an entry for the daily log."""
    me = Mirrored(memory, "me")
    for text in ("tea", "coffee", "cocoa", "milk"):
        me.user.add(f"Likes {text}", theme="drinks")
    me.user.add("Has a cat", key="pet")
    me.user.add("Rows")
    me.sync()
    me.user.add("Likes mate", supersedes=4)
    me.edit(
        ("- [1] Likes tea\n", ""),
        ("Likes coffee", "Likes espresso\n- Likes water"),
        ("Likes milk", "Likes cream"),
        ("Has a cat", "Has two cats"),
        ("- [6] Rows\n", "\nWhat is this\n\n## sports\n\n- [6] Rows\n"),
    )
    me.log("Talked.")
    return me


WANTED = {
    ("drinks", "Likes espresso"),
    ("drinks", "Likes water"),
    ("drinks", "Likes cocoa"),
    ("drinks", "Likes mate"),
    ("drinks", "Likes cream"),
    ("general", "Has two cats"),
    ("sports", "Rows"),
}


def assert_as_wanted(me: Mirrored) -> None:
    me.sync()
    assert me.active() == WANTED
    assert len(me.own()) == len(WANTED)
    assert me.text.count("What is this") == 1
    log = (me.files.daily / "2026-01-02.md").read_text()
    assert log.count("Talked.") == 1
    left = [path.name for path in me.files.memory.iterdir() if "draft" in path.name]
    assert left == []
    me.assert_settled()


@pytest.mark.chaos
def test_a_process_killed_at_any_step_loses_and_doubles_nothing(
    sqlite_url: str, tmp_path: Path, open_store: Open
) -> None:
    memory = open_store(sqlite_url, files=tmp_path / "template")
    prepare(memory)
    (tmp_path / "template").rename(tmp_path / "edited")  # or closing would take the edits over
    memory.close()
    step = 0
    was_killed = True
    while was_killed:
        step += 1
        folder = tmp_path / f"step {step}"
        shutil.copytree(tmp_path / "edited", folder / "files")
        url = str(folder / "ricordo.db")
        shutil.copy(sqlite_url, url)
        was_killed = killed_at(url, folder / "files", step)
        again = open_store(url, files=folder / "files")
        assert_as_wanted(Mirrored(again, "me"))
        again.close()
    assert step > 15


@pytest.mark.requirement("files.mirror-conflicts")
@pytest.mark.slow
def test_processes_that_synchronise_at_once_do_it_once(
    backend_url: str, tmp_path: Path, open_store: Open
) -> None:
    memory = open_store(backend_url, files=tmp_path / "files")
    me = prepare(memory)
    running = [started(backend_url, tmp_path / "files") for _ in range(3)]
    for process in running:
        process.join()
        assert process.exitcode == 0
    assert_as_wanted(me)
    assert [change.event.value for change in me.user.history(1)] == ["ADD", "DELETE"]


class Interfering:
    """Does the writes of a mirror, after somebody else was quicker once."""

    def __init__(self, real: MirrorWrites, interfere: Callable[[], object]) -> None:
        self._real = real
        self._waiting = [interfere]

    def __getattr__(self, name: str) -> Any:
        while self._waiting:
            self._waiting.pop()()
        return getattr(self._real, name)


def interfered(me: Mirrored, interfere: Callable[[], object]) -> UserMirror:
    real = mirror_of(me.memory.parts, me.files)._writes
    writes: Any = Interfering(real, interfere)
    return UserMirror(me.files, me.memory.database, UTC, writes)


@pytest.fixture
def me(backend_url: str, open_store: Open, tmp_path: Path) -> Mirrored:
    found = Mirrored(open_store(backend_url, files=tmp_path / "files"), "me")
    found.user.add("Likes tea", key="drink")
    found.user.add("Rows")
    found.sync()
    return found


@pytest.mark.requirement("files.mirror-conflicts")
@pytest.mark.parametrize(
    ("old", "new", "conflicts", "kept"),
    [
        ("Likes tea", "Likes mate", [1], {"Likes coffee", "Likes mate", "Rows"}),
        ("- [1] Likes tea\n", "", [], {"Likes coffee", "Rows"}),
        (
            "- [1] Likes tea\n- [2] Rows\n",
            "- [2] Rows\n\n## other\n\n- [1] Likes tea\n",
            [],
            {"Likes coffee", "Rows"},
        ),
    ],
    ids=["changed", "deleted", "moved"],
)
def test_a_memory_that_changes_just_then_is_kept(
    me: Mirrored, old: str, new: str, conflicts: list[int], kept: set[str]
) -> None:
    me.edit((old, new))
    report = interfered(me, lambda: me.user.add("Likes coffee", key="drink")).sync()
    assert [entry.id for entry in report.conflicts] == conflicts
    assert conflicts or (report.writes, [entry.id for entry in report.problems]) == (0, [1])
    assert me.active() == {("general", text) for text in kept}
    me.assert_settled()


@pytest.mark.requirement("files.mirror-conflicts")
def test_a_memory_that_is_forgotten_just_then_stays_so(me: Mirrored) -> None:
    me.edit(("- [2] Rows\n", ""))
    report = interfered(me, lambda: (me.user.forget(2), me.user.purge(before_time=True))).sync()
    assert report.forgotten == ()
    assert me.active() == {("general", "Likes tea")}
    me.assert_settled()


def test_what_is_saved_just_then_is_taken_over_too(me: Mirrored) -> None:
    me.edit(("Likes tea", "Likes mate"))
    report = interfered(me, lambda: me.edit(("Rows", "Rows far\n- Sings"))).sync()
    assert (len(report.changed), len(report.added)) == (2, 1)
    assert me.active() == {("general", text) for text in ("Likes mate", "Rows far", "Sings")}
    me.assert_settled()


def test_what_is_saved_while_the_file_is_written_is_not_lost(
    me: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    me.user.add("Swims")
    while_writing(monkeypatch, lambda: me.edit(("Likes tea", "Likes tea\n- Sings")))
    assert len(me.sync().added) == 1
    assert me.active() == {("general", text) for text in ("Likes tea", "Rows", "Swims", "Sings")}
    me.assert_settled()


def test_a_file_that_is_only_half_there_is_waited_for(
    me: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = me.text
    me.write(whole[: whole.index("Rows") - 1])
    monkeypatch.setattr(time, "sleep", lambda _: me.write(f"{whole}- Sings\n"))
    report = me.sync()
    assert (report.forgotten, len(report.added)) == ((), 1)
    assert me.active() == {("general", text) for text in ("Likes tea", "Rows", "Sings")}
    me.assert_settled()


def test_a_write_that_fails_leaves_the_file(me: Mirrored) -> None:
    def fail() -> None:
        raise StorageError("the disk is full")

    me.edit(("Likes tea", "Likes mate"))
    before = me.text
    with pytest.raises(StorageError):
        interfered(me, fail).sync()
    assert me.text == before
    assert len(me.sync().changed) == 1
    me.assert_settled()


@pytest.mark.requirement("files.mirror")
def test_who_waits_too_long_is_told(me: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.limits.MIRROR_LOCK_SECONDS", 0.05)
    with locked(me.files.mirror.lock, 0):
        with pytest.raises(FilesUnavailable, match="another process is syncing these files"):
            me.sync()
        me.user.add("New")
        assert mirror_of(me.memory.parts, me.files).follow() is None  # comes back later
        with pytest.raises(FilesUnavailable, match="another process"):
            me.memory.erase_user("me")
        assert len(me.active()) == 3
    assert me.sync().written


@pytest.mark.requirement("files.mirror")
@pytest.mark.parametrize("system", ["posix", "windows"])
def test_a_lock_is_held_by_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    if system == "windows":
        monkeypatch.setattr(disk, "msvcrt", locks_of_windows(disk.fcntl))
        monkeypatch.setattr(disk, "fcntl", None)
    path = tmp_path / "lock"
    with locked(path, 0), pytest.raises(Busy), locked(path, 0):
        pass
    with locked(path, 0):  # what is left of a lock locks nothing
        pass
    with pytest.raises(FilesUnavailable, match="No such file"), locked(tmp_path / "no" / "x", 0):
        pass


@pytest.mark.requirement("files.mirror")
def test_a_folder_that_cannot_be_made_is_named(
    sqlite_url: str, open_store: Open, tmp_path: Path
) -> None:
    (tmp_path / "files").write_text("a file")
    memory = open_store(sqlite_url, files=tmp_path / "files")
    with pytest.raises(FilesUnavailable, match="files"):
        memory.user("me").sync_mirror()


ODD_NOTES: dict[str, list[dict[str, object]]] = {
    "notes": [
        {"daily_since": "yesterday"},
        {"daily_reached": []},
        {"daily_reached": {"\ud800": 1}},
        {"series": "\ud800"},
        {"series": "../x"},
        {"newest": float("inf")},
        {"newest": -1},
        {"newest": 10**30},
        {"oldest": 10**6},
        {"oldest": -1},
        {"lines": [[1]]},
        {"lines": [[1, "\ud800", "d", 1, None]]},
        {"lines": [[1, "general", "\udc00", 1, None]]},
        {"lines": [[1, "general", "d", 1, 9]]},
        {"lines": [[1, "general", "d", 9, None]]},
    ],
    "seen": [{"stamp": [1]}, {"position": 5}, {"problems": [[1]]}],
}


@pytest.mark.requirement("files.mirror")
@pytest.mark.parametrize("name", ODD_NOTES)
def test_notes_that_are_damaged_cost_nothing(me: Mirrored, name: str) -> None:
    path = me.files.mirror.notes if name == "notes" else me.files.seen
    noted = json.loads(path.read_text())
    spoiled = ["", "{", "[]", '{"version": 1}', '{"version": 9}', "null"]
    for text in [*spoiled, *(json.dumps({**noted, **odd}) for odd in ODD_NOTES[name])]:
        path.write_text(text)
        assert me.user.mirror_status().on
        assert me.sync().writes == 0
        assert len(me.active()) == 2
    me.assert_settled()
