"""From memories to the turns they were formed from, and from turns to memories."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import (
    FormedTurn,
    InvalidCursor,
    InvalidValue,
    Memory,
    MemoryNotFound,
    PermissionMissing,
    ThreadNotFound,
    UserMemory,
)
from ricordo.testing.clock import ManualClock

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


@pytest.mark.requirement("memories.source_turn")
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


@pytest.mark.requirement("turns.formed")
@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_turns_are_shown_with_what_they_gave(ana: UserMemory, limit: int) -> None:
    found = list(pages(ana, "monday", limit))
    assert [one.turn for one in found] == list(ana.turns("monday"))
    jazz, olives, nurse = (containing(ana, word) for word in ("jazz", "olives", "nurse"))
    assert listed(ana, limit=limit) == {1: [jazz], 2: [], 3: sorted([olives, nurse]), 4: []}
    assert found[0].memories == (ana.get(jazz),)
    ana.archive(olives)
    ana.forget(nurse)
    assert listed(ana, limit=limit) == {1: [jazz], 2: [], 3: [olives], 4: []}


@pytest.mark.requirement("turns.formed")
def test_a_page_can_begin_at_a_turn(ana: UserMemory) -> None:
    def positions(**how: Any) -> list[int]:
        return [one.turn.position for one in pages(ana, "monday", **how)]

    assert positions(limit=1, from_position=3) == [3, 4]
    assert positions(limit=50, from_position=4) == [4]
    assert positions(limit=50, from_position=2**62) == []
    page = ana.formed_turns("monday", limit=1, from_position=2)
    both = ana.formed_turns("monday", from_position=2, cursor=page.next_cursor)
    assert [one.turn.position for one in both] == [3, 4]


@pytest.mark.requirement("memories.source_turn")
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


@pytest.mark.requirement("memories.source_turn")
def test_what_was_merged_or_added_by_hand_has_no_source(ana: UserMemory) -> None:
    jazz, olives = containing(ana, "jazz"), containing(ana, "olives")
    merged = ana.merge([jazz, olives], "Loves jazz, hates olives").id
    by_hand = ana.add("Loves jazz a lot", thread_id="monday", role="user").id
    bound = ana.narrow(thread="monday", role="user").add("Hates olives", source_context="olives").id
    assert [ana.source_turn(one) for one in (merged, by_hand)] == [None, None]
    shown = [item for items in listed(ana).values() for item in items]
    assert {merged, by_hand}.isdisjoint(shown)
    # Said at the very moment of the turn, in its role, with words from it: that is no accident.
    assert ana.source_turn(bound) == ana.turns("monday").items[2]


@pytest.mark.requirement("memories.source_turn")
def test_a_memory_that_names_a_message_comes_from_it(ana: UserMemory, clock: ManualClock) -> None:
    clock.advance(days=1)
    named = ana.add("Is glad", thread_id="monday", message_id="m2").id
    lost = ana.add("Is sad", thread_id="monday", message_id="m9").id
    elsewhere = ana.add("Is tired", thread_id="tuesday", message_id="m2").id
    without = ana.add("Is awake", message_id="m2").id
    assert ana.source_turn(named) == ana.turns("monday").items[1]
    assert [ana.source_turn(one) for one in (lost, elsewhere, without)] == [None, None, None]
    assert listed(ana)[2] == [named]


@pytest.mark.requirement("memories.source_turn")
def test_turns_that_cannot_be_told_apart_are_no_source(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    said = ["I like tea", "I like tea and cake", "I like milk", "I like milk"]
    ana.observe([{"role": "user", "content": text} for text in said], thread="t")
    at = {"thread_id": "t", "role": "user", "valid_from": clock()}
    tea = ana.add("Likes tea", source_context="I like tea", **at).id
    cake = ana.add("Likes cake", source_context="cake", **at).id
    milk = ana.add("Likes milk", source_context="I like milk", **at).id
    assert ana.source_turn(tea) is None
    assert listed(ana, "t", limit=1) == {1: [], 2: [cake], 3: [milk], 4: []}
    assert listed(ana, "t") == {1: [], 2: [cake], 3: [milk], 4: []}


@pytest.mark.requirement("turns.formed")
def test_more_than_can_be_told_apart_is_not_guessed_at(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.conversation.origins.MAX_SIMULTANEOUS_TURNS", 1)
    assert ana.source_turn(containing(ana, "olives")) is None
    assert listed(ana) == {1: [containing(ana, "jazz")], 2: [], 3: [], 4: []}


@pytest.mark.requirement("memories.source_turn")
@pytest.mark.requirement("turns.formed")
def test_other_users_see_nothing_of_it(memory: Memory, ana: UserMemory) -> None:
    ben = memory.user("ben")
    jazz = containing(ana, "jazz")
    with pytest.raises(MemoryNotFound):
        ben.source_turn(jazz)
    with pytest.raises(MemoryNotFound):
        ben.source_turn(jazz + 1_000)
    with pytest.raises(ThreadNotFound):
        ben.formed_turns("monday")
    ana.link(jazz, "ben")
    ben.observe(SAID, thread="monday")
    assert ben.get(jazz).content == ana.get(jazz).content
    assert ben.source_turn(jazz) is None
    assert listed(ben) == {1: [], 2: [], 3: [], 4: []}
    ben.form("monday")
    assert {item.user_id for one in ben.formed_turns("monday") for item in one.memories} == {"ben"}


@pytest.mark.requirement("turns.formed")
def test_expired_memories_are_not_shown(ana: UserMemory, clock: ManualClock) -> None:
    soon = clock() + timedelta(hours=1)
    gone = ana.add("Is glad", thread_id="monday", message_id="m1", expires_at=soon).id
    assert gone in listed(ana)[1]
    clock.advance(hours=2)
    assert gone not in listed(ana)[1]
    with pytest.raises(MemoryNotFound):
        ana.source_turn(gone)


@pytest.mark.requirement("turns.formed")
def test_bad_input_is_refused(ana: UserMemory) -> None:
    bad_ids: list[Any] = [0, -1, 2**63, "1", True, None]
    for bad in bad_ids:
        with pytest.raises(InvalidValue):
            ana.source_turn(bad)
    wrong: list[dict[str, Any]] = [
        {"from_position": 0},
        {"from_position": "1"},
        {"from_position": 2**63},
        {"limit": 0},
        {"limit": 1_001},
    ]
    for how in wrong:
        with pytest.raises(InvalidValue):
            ana.formed_turns("monday", **how)
    with pytest.raises(InvalidValue):
        ana.formed_turns(" ")
    with pytest.raises(ThreadNotFound):
        ana.formed_turns("tuesday")
    other = ana.turns("monday", limit=1).next_cursor
    for cursor in ("nonsense", other):
        with pytest.raises(InvalidCursor):
            ana.formed_turns("monday", cursor=cursor)


@pytest.mark.requirement("turns.formed")
@pytest.mark.requirement("memories.source_turn")
def test_a_confined_scope_reads_neither(ana: UserMemory) -> None:
    worker = ana.narrow(categories="general")
    with pytest.raises(PermissionMissing):
        worker.formed_turns("monday")
    with pytest.raises(PermissionMissing):
        worker.source_turn(containing(ana, "jazz"))


@pytest.mark.requirement("turns.formed")
def test_a_page_takes_the_same_number_of_queries_whatever_is_on_it(memory: Memory) -> None:
    ana = memory.user("ana")
    said: list[dict[str, Any]] = [
        {"role": "user", "content": f"Dish {number}.", "id": f"m{number}" if number % 2 else None}
        for number in range(40)
    ]
    ana.observe(said, thread="t")
    at = ana.turns("t").items[0].at
    for number, one in enumerate(said):
        ana.add(
            f"Likes dish {number}",
            thread_id="t",
            message_id=one["id"],
            role="user",
            source_context=one["content"],
            valid_from=at,
        )
    with ana.database.read("ana") as view:
        engine = view.connection.engine
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        asked.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    counts = []
    for limit in (2, 40):
        asked.clear()
        shown = ana.formed_turns("t", limit=limit)
        assert [len(one.memories) for one in shown] == [1] * limit
        counts.append(len([one for one in asked if one.startswith("SELECT")]))
    sa.event.remove(engine, "before_cursor_execute", note)
    assert counts[0] == counts[1]


texts = st.sampled_from(("I like tea", "I like tea and cake", "cake", "I like"))


@pytest.mark.requirement("turns.formed")
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
@given(
    said=st.lists(
        st.tuples(texts, st.sampled_from(("user", "tool")), st.booleans(), st.integers(0, 1)),
        min_size=1,
        max_size=6,
    ),
    known=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(("tea", "like", "cake"))), max_size=5
    ),
    limit=st.integers(1, 4),
)
def test_both_ways_agree(
    memory: Memory,
    clock: ManualClock,
    said: list[tuple[str, str, bool, int]],
    known: list[tuple[int, str]],
    limit: int,
) -> None:
    """Whatever a turn is shown with has that turn as its source, and the other way round."""
    ana = memory.user(f"ana-{len(memory.users(limit=1_000))}")
    messages: list[dict[str, Any]] = [
        {
            "role": role,
            "content": text,
            "id": f"m{number}" if named else None,
            "at": clock() - timedelta(seconds=second),
        }
        for number, (text, role, named, second) in enumerate(said)
    ]
    ana.observe(messages, thread="t")
    for place, (number, quote) in enumerate(known):
        source = messages[number % len(messages)]
        ana.add(
            f"Memory {place}",
            thread_id="t",
            message_id=source["id"],
            role=source["role"],
            valid_from=source["at"],
            source_context=quote,
        )
    expected: dict[int, list[int]] = {turn.position: [] for turn in ana.turns("t")}
    for item in sorted(ana.list(), key=lambda item: item.id):
        turn = ana.source_turn(item.id)
        if turn is not None:
            expected[turn.position].append(item.id)
    assert listed(ana, "t", limit) == expected
