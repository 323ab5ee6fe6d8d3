"""Files that are saved in pieces: half of one is no edit, and the whole one wins."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, MirrorReport
from ricordo.files.mirror import UserMirror
from ricordo.limits import MIRROR_OPEN_SECONDS, MIRROR_QUIET_SECONDS
from ricordo.user_memory.maintenance import _FileWrites
from tests.files.mirrors import Mirrored

pytestmark = pytest.mark.requirement("files.mirror-saving")

_users = itertools.count()


class Watch:
    """Somebody's mirror, and the time on the wall."""

    def __init__(self, store: Memory, count: int) -> None:
        self.me = Mirrored(store, f"user-{next(_users)}")
        self.me.user.add_many([f"Fact {number}" for number in range(count)])
        self.me.sync()
        self.now = time.time()
        parts = store.parts
        zone = parts.conversation.policy.zone
        writes = _FileWrites(parts, self.me.user.scope.user_id)
        self.mirror = UserMirror(self.me.files, parts.database, zone, writes, lambda: self.now)

    def save(self, held: bytes) -> None:
        self.me.path.write_bytes(held)
        os.utime(self.me.path, (self.now, self.now))

    def looks(self, seconds: float) -> Iterator[MirrorReport]:
        """What the looks of so many seconds do, one each."""
        for _ in range(int(seconds)):
            self.now += 1
            report = self.mirror.follow()
            if report is not None:
                yield report

    def texts(self) -> set[str]:
        return {content for _, content in self.me.active()}


@pytest.fixture
def store(backend_url: str, open_store: Callable[..., Memory], tmp_path: Path) -> Memory:
    return open_store(backend_url, files=tmp_path / "files")


def edited(text: str) -> str:
    """Changed at both ends, one deleted, one new."""
    changed = text.replace("Fact 39", "Fact thirty-nine").replace("Fact 0\n", "Fact zero\n")
    lines = [line for line in changed.split("\n") if not line.endswith("Fact 20")]
    return "\n".join(lines).replace(
        "\n\n<!-- ricordo mirror, end", "\n- Sings\n\n<!-- ricordo mirror, end"
    )


WANTED = {f"Fact {number}" for number in range(1, 39) if number != 20} | {
    "Fact zero",
    "Fact thirty-nine",
    "Sings",
}


@pytest.mark.both_databases
def test_a_save_in_two_pieces_six_seconds_apart(store: Memory) -> None:
    watch = Watch(store, 40)
    whole = edited(watch.me.text).encode()
    half = whole[: len(whole) // 2]
    watch.save(half)
    (waiting,) = watch.looks(6)
    assert (waiting.applied, waiting.written, waiting.writes) == (False, False, 0)
    assert "lacks its last line" in waiting.problems[0].note
    assert "ricordo mirror sync --allow-deletes" in waiting.problems[0].note
    assert watch.me.path.read_bytes() == half
    watch.me.user.add("Swims")  # and the file is not written, whatever happens meanwhile
    list(watch.looks(6))
    assert watch.me.path.read_bytes() == half
    assert "lacks its last line" in watch.me.user.mirror_status().problems[0].note
    watch.save(whole)
    (report,) = watch.looks(6)
    assert (len(report.changed), len(report.added), len(report.forgotten)) == (2, 1, 1)
    assert watch.texts() == WANTED | {"Swims"}
    watch.me.assert_settled()


@pytest.mark.slow
@given(
    cut=st.floats(0, 1),
    pause=st.sampled_from([0, 1, 6]),
    final_break=st.booleans(),
    crlf=st.booleans(),
)
def test_any_half_of_a_file_and_then_the_whole_are_the_whole(
    store: Memory, cut: float, pause: int, final_break: bool, crlf: bool
) -> None:
    watch = Watch(store, 8)
    text = "\n".join(line for line in watch.me.text.split("\n") if not line.endswith("Fact 1"))
    text = text.replace("Fact 7", "Fact séven").replace(
        "## general\n", "## general\n\n- Runs far ⏎ and long\n"
    )
    text = text if final_break else text.rstrip("\n")
    whole = (text.replace("\n", "\r\n") if crlf else text).encode()
    watch.save(whole[: int(cut * len(whole))])
    list(watch.looks(pause))
    watch.save(whole)
    list(watch.looks(MIRROR_QUIET_SECONDS + 1))
    kept = {f"Fact {number}" for number in (0, 2, 3, 4, 5, 6)}
    assert watch.texts() == kept | {"Fact séven", "Runs far\nand long"}
    gone = watch.me.user.list(status="deleted", limit=100)
    assert {item.content for item in gone} <= {"Fact 1"}
    watch.me.assert_settled()


def test_a_line_that_is_appended_in_pieces_is_one_memory(store: Memory) -> None:
    watch = Watch(store, 3)
    before = watch.me.text
    watch.save(f"{before}- Likes ca".encode())
    (report,) = watch.looks(5)
    assert "ends in the middle of one" in report.problems[0].note
    watch.save(f"{before}- Likes cats\n".encode())
    (report,) = watch.looks(5)
    assert len(report.added) == 1
    assert watch.texts() == {"Fact 0", "Fact 1", "Fact 2", "Likes cats"}


def test_it_waits_until_a_file_is_quiet_and_nobody_writes_it(store: Memory) -> None:
    watch = Watch(store, 3)
    whole = watch.me.text.replace("Fact 1", "Fact one").encode()
    for _ in range(5):  # a program that saves again and again
        watch.save(whole)
        assert list(watch.looks(MIRROR_QUIET_SECONDS - 1)) == []
    with watch.me.path.open("r+b"):
        assert list(watch.looks(MIRROR_OPEN_SECONDS - 20)) == []
        assert watch.mirror.follow(at_once=True) is None
    (report,) = watch.looks(2)
    assert len(report.changed) == 1
    watch.save(watch.me.text.replace("Fact 2", "Fact two").encode())
    with watch.me.path.open("r+b"):  # one that never lets go does not lock anybody out
        (report,) = watch.looks(MIRROR_OPEN_SECONDS + 2)
    assert len(report.changed) == 1


def test_a_time_of_saving_that_is_to_come_is_not_waited_for(store: Memory) -> None:
    watch = Watch(store, 3)
    watch.save(watch.me.text.replace("Fact 1", "Fact one").encode())
    os.utime(watch.me.path, (watch.now + 1e6, watch.now + 1e6))
    (report,) = watch.looks(1)
    assert len(report.changed) == 1


@pytest.mark.parametrize(("gone", "is_asked"), [(4, False), (5, True), (12, True)])
def test_many_lines_that_are_gone_at_once_are_asked_about(
    store: Memory, gone: int, is_asked: bool
) -> None:
    watch = Watch(store, 16)
    lines = watch.me.text.split("\n")
    names = [f"Fact {number}" for number in range(gone)]
    kept = [line for line in lines if not line.endswith(tuple(f"] {name}" for name in names))]
    watch.save("\n".join(kept).encode())
    (report,) = watch.looks(5)
    assert len(report.forgotten) == (0 if is_asked else gone)
    if is_asked:
        assert f"lacks {gone} of 16 memories" in report.problems[0].note
        assert len(watch.texts()) == 16
        assert len(watch.me.sync(allow_deletes=True).forgotten) == gone
    assert len(watch.texts()) == 16 - gone


def test_an_emptied_file_is_not_written_until_it_is_whole(store: Memory) -> None:
    """Some editors empty a file before they write it; and some people by mistake."""
    watch = Watch(store, 3)
    whole = watch.me.text.replace("Fact 1", "Fact one").encode()
    watch.save(b"")
    (report,) = watch.looks(10)
    assert "is empty" in report.problems[0].note
    assert watch.me.path.read_bytes() == b""
    assert len(watch.texts()) == 3
    watch.save(whole)
    (report,) = watch.looks(5)
    assert len(report.changed) == 1
    watch.me.assert_settled()


def test_a_file_without_its_last_line_locks_nobody_out(store: Memory) -> None:
    watch = Watch(store, 3)
    text = watch.me.text.replace("Fact 1", "Fact one")
    watch.save(text.split("\n<!-- ricordo mirror, end")[0].encode())
    (report,) = watch.looks(5)
    assert not report.applied
    assert len(watch.me.sync(allow_deletes=True).changed) == 1
    watch.me.assert_settled()


def test_a_copy_from_before_there_were_last_lines_is_read(store: Memory) -> None:
    watch = Watch(store, 3)
    state = watch.me.files.mirror.notes
    state.write_text(state.read_text().replace('"ended_from": 1,', ""))
    text = watch.me.text.replace("Fact 1", "Fact one")
    watch.save(text.split("\n<!-- ricordo mirror, end")[0].encode())
    (report,) = watch.looks(5)
    assert (len(report.changed), report.written) == (1, True)
    assert "<!-- ricordo mirror, end of copy" in watch.me.text


def test_a_file_that_another_takes_the_place_of_is_taken_whole(store: Memory) -> None:
    """As vim and sync tools save: beside it, with the old one kept under another name."""
    watch = Watch(store, 3)
    fresh = watch.me.path.with_name("MEMORY.md.new")
    fresh.write_bytes(watch.me.text.replace("Fact 1", "Fact one").encode())
    os.utime(fresh, (watch.now - 100, watch.now - 100))
    watch.me.path.rename(watch.me.path.with_name("MEMORY.md~"))
    fresh.rename(watch.me.path)
    (report,) = watch.looks(1)
    assert len(report.changed) == 1
