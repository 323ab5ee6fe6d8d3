"""Conversations: how far memories were formed from them, and from which turn which came."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import (
    FormedTurn,
    InvalidCursor,
    InvalidValue,
    Memory,
    MemoryNotFound,
    ThreadNotFound,
    UserMemory,
)
from ricordo.model.thread import NewTurn
from ricordo.storage.threads import append_turns
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite
from tests.support.sharing import share

pytestmark = [
    pytest.mark.requirement("memories.source_turn"),
    pytest.mark.requirement("turns.formed"),
]


SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "I love jazz music.", "id": "m1"},
    {"role": "assistant", "content": "I love jazz music, too.", "id": "m2"},
    {"role": "user", "content": "I hate olives. I work as a nurse."},
    {"role": "assistant", "content": "You hate olives."},
]


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    ana = memory.user("ana")
    ana.observe(SAID, thread="monday")
    ana.form("monday")
    return ana


def pages(user: UserMemory, thread: str, limit: int, **more: Any) -> Iterator[FormedTurn]:
    page = user.formed_turns(thread, limit=limit, **more)
    yield from page
    while page.next_cursor is not None:
        page = user.formed_turns(thread, limit=limit, cursor=page.next_cursor)
        yield from page


def listed(user: UserMemory, thread: str = "monday", limit: int = 50) -> dict[int, list[int]]:
    """The ids of the memories below each turn, by the position of the turn."""
    return {
        one.turn.position: [item.id for item in one.memories] for one in pages(user, thread, limit)
    }


def containing(user: UserMemory, text: str) -> int:
    (item,) = user.list(contains=text, status="any")
    return item.id


def test_a_formed_memory_leads_to_what_was_said(ana: UserMemory) -> None:
    turns = ana.turns("monday").items
    jazz, olives, nurse = (containing(ana, word) for word in ("jazz", "olives", "nurse"))
    assert ana.source_turn(jazz) == turns[0]
    assert ana.source_turn(olives) == ana.source_turn(nurse) == turns[2]
    ana.archive(jazz)
    assert ana.source_turn(jazz) == turns[0]
    ana.forget(jazz)
    with pytest.raises(MemoryNotFound):
        ana.source_turn(jazz)


def test_turns_are_shown_with_what_they_gave(ana: UserMemory, clock: ManualClock) -> None:
    jazz, olives, nurse = (containing(ana, word) for word in ("jazz", "olives", "nurse"))
    for limit in (1, 2, 50):
        found = list(pages(ana, "monday", limit))
        assert [one.turn for one in found] == list(ana.turns("monday"))
        assert listed(ana, limit=limit) == {1: [jazz], 2: [], 3: sorted([olives, nurse]), 4: []}
        assert found[0].memories == (ana.get(jazz),)
    ana.archive(olives)
    ana.forget(nurse)
    soon = clock() + timedelta(hours=1)
    brief = ana.add("Is glad", thread_id="monday", message_id="m1", expires_at=soon).id
    assert listed(ana) == {1: [jazz, brief], 2: [], 3: [olives], 4: []}
    clock.advance(hours=2)
    assert listed(ana)[1] == [jazz]
    with pytest.raises(MemoryNotFound):
        ana.source_turn(brief)


def test_a_page_can_begin_at_a_turn(ana: UserMemory) -> None:
    def positions(**how: Any) -> list[int]:
        return [one.turn.position for one in pages(ana, "monday", **how)]

    assert positions(limit=1, from_position=3) == [3, 4]
    assert positions(limit=50, from_position=4) == [4]
    assert positions(limit=50, from_position=2**62) == []
    page = ana.formed_turns("monday", limit=1, from_position=2)
    both = ana.formed_turns("monday", from_position=2, cursor=page.next_cursor)
    assert [one.turn.position for one in both] == [3, 4]


def test_an_update_leads_to_the_new_turn_and_undoing_it_back(
    memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
    for city in ("Turin", "Lisbon"):
        clock.advance(days=1)
        ana.observe([{"role": "user", "content": f"I live in {city}."}], thread="home")
        ana.form("home")
        clock.advance(days=1)  # what waits for consent still comes from when it was said
        (proposal,) = ana.proposals()
        ana.approve(proposal.id)
    (home,) = ana.list()
    (former,) = ana.list(status="superseded")
    assert listed(ana, "home") == {1: [former.id], 2: [home.id]}
    back = ana.undo(home.id)
    source = ana.source_turn(back.id)
    assert source is not None
    assert "Turin" in source.content
    assert listed(ana, "home")[1] == [back.id]


def test_what_was_merged_or_added_by_hand(ana: UserMemory, clock: ManualClock) -> None:
    jazz, olives = containing(ana, "jazz"), containing(ana, "olives")
    merged = ana.merge([jazz, olives], "Loves jazz, hates olives").id
    by_hand = ana.add("Loves jazz a lot", thread_id="monday", role="user").id
    bound = ana.narrow(thread="monday", role="user").add("Hates olives", source_context="olives").id
    clock.advance(days=1)
    named = ana.add("Is glad", thread_id="monday", message_id="m2").id
    lost = ana.add("Is sad", thread_id="monday", message_id="m9").id
    elsewhere = ana.add("Is tired", thread_id="tuesday", message_id="m2").id
    without = ana.add("Is awake", message_id="m2").id
    for item_id in (merged, by_hand, lost, elsewhere, without):
        assert ana.source_turn(item_id) is None
        assert item_id not in [one for items in listed(ana).values() for one in items]
    # Said at the very moment of the turn, in its role, with words from it: that is no accident.
    assert ana.source_turn(bound) == ana.turns("monday").items[2]
    assert ana.source_turn(named) == ana.turns("monday").items[1]
    assert listed(ana)[2] == [named]


def test_more_than_can_be_told_apart_is_not_guessed_at(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.recall.origins.MAX_SIMULTANEOUS_TURNS", 1)
    assert ana.source_turn(containing(ana, "olives")) is None
    assert listed(ana) == {1: [containing(ana, "jazz")], 2: [], 3: [], 4: []}


def test_other_users_see_nothing_of_it(memory: Memory, ana: UserMemory) -> None:
    ben = memory.user("ben")
    jazz = containing(ana, "jazz")
    with pytest.raises(MemoryNotFound):
        ben.source_turn(jazz)
    with pytest.raises(MemoryNotFound):
        ben.source_turn(jazz + 1_000)
    with pytest.raises(ThreadNotFound):
        ben.formed_turns("monday")
    share(ana, jazz, "ben")
    ben.observe(SAID, thread="monday")
    assert ben.get(jazz).content == ana.get(jazz).content
    assert ben.source_turn(jazz) is None
    assert listed(ben) == {1: [], 2: [], 3: [], 4: []}
    ben.form("monday")
    assert {item.user_id for one in ben.formed_turns("monday") for item in one.memories} == {"ben"}


@on_sqlite
def test_bad_input_is_refused(ana: UserMemory) -> None:
    bad_ids: list[Any] = [0, -1, 2**63, "1", True, None]
    for bad in bad_ids:
        with pytest.raises(InvalidValue):
            ana.source_turn(bad)
    wrong: list[dict[str, Any]] = [
        *({"from_position": position} for position in (0, "1", 2**63)),
        *({"limit": limit} for limit in (0, 1_001)),
        {"thread_id": " "},
    ]
    for how in wrong:
        with pytest.raises(InvalidValue):
            ana.formed_turns(**{"thread_id": "monday", **how})
    with pytest.raises(ThreadNotFound):
        ana.formed_turns("tuesday")
    for cursor in ("nonsense", ana.turns("monday", limit=1).next_cursor):
        with pytest.raises(InvalidCursor):
            ana.formed_turns("monday", cursor=cursor)


def say(user: UserMemory, *texts: str, thread: str = "monday") -> None:
    user.observe([{"role": "user", "content": text} for text in texts], thread=thread, title="Talk")


@pytest.mark.requirement("conversations.thread")
def test_how_far_memories_have_been_formed(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ana, begun = memory.user("ana"), clock()
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
    with memory.database.write("ana") as writing:
        append_turns(writing, "old", None, [NewTurn(role="user", content="I love jazz music.")])
    assert (ana.thread("old").formed_position, ana.thread("old").observed_at) == (0, None)
    ana.export(tmp_path / "ana.jsonl")
    memory.erase_user("ana")
    with pytest.raises(ThreadNotFound):
        ana.thread("monday")
    ana.import_file(tmp_path / "ana.jsonl")
    assert ana.thread("monday") == later


@pytest.mark.requirement("conversations.thread")
@pytest.mark.requirement("items.threads")
def test_conversations_are_paged_and_private(memory: Memory, clock: ManualClock) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    for number in range(5):
        say(ana, *(f"I love jazz {turn}." for turn in range(3)), thread=f"t{number}")
        if number % 2:
            ana.form(f"t{number}")
        clock.advance(hours=1)
    first = ana.threads(limit=3)
    rest = ana.threads(limit=3, cursor=first.next_cursor)
    assert [*first, *rest] == [ana.thread(f"t{number}") for number in (4, 3, 2, 1, 0)]
    assert [one.formed_position for one in (*first, *rest)] == [0, 3, 0, 3, 0]
    assert rest.next_cursor is None
    page = ana.turns("t1", limit=2)
    assert [turn.content for turn in page] == ["I love jazz 0.", "I love jazz 1."]
    assert [turn.content for turn in ana.turns("t1", cursor=page.next_cursor)] == ["I love jazz 2."]
    with pytest.raises(InvalidCursor):
        ana.turns("t1", cursor=first.next_cursor)
    assert ben.threads().items == ()
    for read in (ben.turns, ben.thread):
        for name in ("t1", "never"):
            with pytest.raises(ThreadNotFound, match=name):
                read(name)
    say(ben, "One.", thread="t1")
    assert (ana.thread("t1").turn_count, ben.thread("t1").turn_count) == (3, 1)
    bad: list[Any] = ["", " ", "x" * 201, None, 5]
    for name in bad:
        with pytest.raises(InvalidValue):
            ana.thread(name)
