"""One conversation: how long it is, and how far memories have been formed from it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import InvalidValue, Memory, PermissionMissing, ThreadNotFound, UserMemory
from ricordo.model.thread import NewTurn
from ricordo.storage.threads import append_turns
from ricordo.testing.clock import ManualClock

pytestmark = pytest.mark.requirement("conversations.thread")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def say(user: UserMemory, *texts: str, thread: str = "monday") -> None:
    user.observe([{"role": "user", "content": text} for text in texts], thread=thread, title="Talk")


def test_how_far_memories_have_been_formed(ana: UserMemory, clock: ManualClock) -> None:
    begun = clock()
    say(ana, "I love jazz music.", "I live in Bekasi.")
    found = ana.thread("monday")
    assert (found.thread_id, found.title, found.turn_count) == ("monday", "Talk", 2)
    assert (found.formed_position, found.observed_at) == (0, begun)
    ana.form("monday")
    assert ana.thread("monday").formed_position == 2
    clock.advance(minutes=5)
    say(ana, "I have a cat.")
    later = ana.thread("monday")
    assert (later.turn_count, later.formed_position) == (3, 2)
    assert later.observed_at == begun + timedelta(minutes=5)


def test_what_was_not_observed_says_so(ana: UserMemory) -> None:
    with ana.database.write("ana") as writing:
        append_turns(writing, "old", None, [NewTurn(role="user", content="I love jazz music.")])
    found = ana.thread("old")
    assert (found.turn_count, found.formed_position, found.observed_at) == (1, 0, None)
    ana.form("old")
    assert ana.thread("old").formed_position == 1


def test_the_list_says_the_same(ana: UserMemory, clock: ManualClock) -> None:
    for number in range(7):
        say(ana, *["I love jazz music."] * (number + 1), thread=f"t{number}")
        if number % 2:
            ana.form(f"t{number}")
        clock.advance(minutes=1)
    listed = []
    cursor: str | None = None
    while True:
        page = ana.threads(limit=3, cursor=cursor)
        listed += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert listed == [ana.thread(f"t{number}") for number in reversed(range(7))]
    assert [one.formed_position for one in listed] == [0, 6, 0, 4, 0, 2, 0]


def test_it_comes_back_from_an_export(ana: UserMemory, memory: Memory, tmp_path: Path) -> None:
    say(ana, "I love jazz music.")
    ana.form("monday")
    say(ana, "I have a cat.")
    before = ana.thread("monday")
    ana.export(tmp_path / "ana.jsonl")
    memory.erase_user("ana")
    with pytest.raises(ThreadNotFound):
        ana.thread("monday")
    ana.import_file(tmp_path / "ana.jsonl")
    assert ana.thread("monday") == before


def test_anothers_is_as_unknown_as_one_that_never_was(memory: Memory, ana: UserMemory) -> None:
    say(ana, "I love jazz music.")
    ben = memory.user("ben")
    for name in ("monday", "never"):
        with pytest.raises(ThreadNotFound, match=name):
            ben.thread(name)
    say(ben, "One.", "Two.")
    assert (ana.thread("monday").turn_count, ben.thread("monday").turn_count) == (1, 2)
    with pytest.raises(PermissionMissing):
        ana.narrow(categories="work").thread("monday")


@pytest.mark.parametrize("bad", ["", " ", "x" * 201, None, 5])
def test_bad_input_is_refused(ana: UserMemory, bad: Any) -> None:
    with pytest.raises(InvalidValue):
        ana.thread(bad)
