"""What holds after any conversation, however it is cut into pieces and whenever it is formed."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo import Event, Memory, Source, Status, UserMemory
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.limits import MAX_WRITES_PER_TURN
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.tables import formation, threads
from ricordo.testing import ManualClock
from ricordo.text.normalise import canonical

PLAIN = (
    "I love jazz",
    "I hate jazz",
    "I love olives",
    "I don't like olives anymore",
    "I live in Bekasi",
    "I moved to Turin",
    "I work as a nurse",
    "I work as a teacher now",
    "I work at Acme",
    "My goal is to run a marathon",
    "I prefer short answers",
    "What time is it?",
)
"""What answers the same questions, in passing and without more detail."""
SAID = (
    *PLAIN,
    "I really love live jazz",
    "No, I don't like olives anymore",
    "I love green olives",
    "Actually, I moved to Turin",
    "Remember that I live in Lisbon.",
    "I no longer work at Acme",
    "Remember that my sister is called Ada.",
    "Remember that I am allergic to peanuts.",
    "I am allergic to peanuts",
    "I have a dog named Rex. I love tea. I love chess. I love opera. I love rain.",
    "Do I love jazz?",
)

_numbers = itertools.count()


@dataclass(frozen=True)
class Say:
    text: str
    thread: str
    minutes_ago: int  # so that what was said earlier can be recorded later


@dataclass(frozen=True)
class Form:
    thread: str


@dataclass(frozen=True)
class Decide:
    approves: bool


Step = Say | Form | Decide
_thread = st.sampled_from(["one", "two", "three"])
_steps = st.lists(
    st.one_of(
        st.builds(Say, st.sampled_from(SAID), _thread, st.sampled_from([0, 0, 0, 5, 90])),
        st.builds(Form, _thread),
        st.builds(Decide, st.booleans()),
    ),
    max_size=14,
)


def live(me: UserMemory, clock: ManualClock, steps: Sequence[Step]) -> set[int]:
    """Say and form as told, and then form the rest; the memories that were approved."""
    approved = set()
    for step in steps:
        clock.advance(minutes=1)
        match step:
            case Say(text, thread, minutes_ago):
                at = clock() - timedelta(minutes=minutes_ago)
                me.observe([{"role": "user", "content": text, "at": at}], thread=thread)
            case Form(thread):
                if thread in {one.thread_id for one in me.threads()}:
                    me.form(thread)
            case Decide(approves):
                for proposal in me.proposals(limit=1):
                    if approves:
                        approved.add(me.approve(proposal.id).id)
                    else:
                        me.reject(proposal.id)
    me.form()
    return approved


@pytest.mark.slow
@pytest.mark.requirement("formation.resolve")
@given(steps=_steps)
def test_what_holds_after_any_conversation(
    memory: Memory, clock: ManualClock, steps: Sequence[Step]
) -> None:
    me = memory.user(f"user-{next(_numbers)}")
    approved = live(me, clock, steps)
    check_memories(me)
    check_sources(me)
    check_consent(me, approved)
    check_positions(memory, me)
    check_history(memory, me)
    check_that_forming_again_changes_nothing(me)


def check_memories(me: UserMemory) -> None:
    """One answer for each key, no text twice, and ends before the next begins."""
    active = me.list(limit=1000).items
    keys = [item.key for item in active if item.key is not None]
    assert len(keys) == len(set(keys))
    texts = [canonical(item.content) for item in active]
    assert len(texts) == len(set(texts))
    by_id = {item.id: item for item in me.list(limit=1000, status="any")}
    for change in me.changes(limit=1000).changes:
        if change.event is Event.SUPERSEDE and change.old_ref is not None:
            old = by_id[change.old_ref]
            start = by_id[change.new_ref or 0].valid_from
            assert old.status is not Status.ACTIVE
            assert old.valid_to is not None
            assert old.valid_to <= start
        if change.event is Event.UPDATE and change.old_ref is not None:
            version = by_id[change.old_ref]
            assert version.valid_to is not None
            assert version.valid_from <= version.valid_to
            assert version.valid_to <= by_id[change.item_id].valid_from
    for item in by_id.values():
        if item.status is Status.SUPERSEDED:
            assert item.valid_to is not None


def check_sources(me: UserMemory) -> None:
    """Every memory rests on words of a turn of the conversation that it names."""
    said = {thread.thread_id: me.turns(thread.thread_id, limit=1000) for thread in me.threads()}
    for item in me.list(limit=1000, status="any"):
        assert item.thread_id is not None
        turns = [turn for turn in said[item.thread_id] if turn.role == "user"]
        assert item.source_context
        resting = [turn for turn in turns if item.source_context in turn.content]
        assert item.valid_from in {turn.at for turn in resting}
        assert not any(turn.content.endswith("?") for turn in resting)


def check_consent(me: UserMemory, approved: set[int]) -> None:
    """What is sensitive was asked for, or agreed to."""
    agreed = {
        change.item_id
        for change in me.changes(limit=1000).changes
        if change.event is Event.CONSENT and change.meta.get("consent") == "approved"
    }
    assert approved <= agreed
    for item in me.list(limit=1000):
        if sensitive_fields_of(item.content, item.source_context or "", item.key):
            assert item.source is Source.USER_EXPLICIT or item.id in agreed


def check_positions(memory: Memory, me: UserMemory) -> None:
    """Every conversation is formed to its end, and no turn has given more than it may."""
    user_id = me.scope.user_id
    with memory.database.read_all() as view:
        lengths = view.connection.execute(
            sa.select(threads.c.thread_id, threads.c.turn_count).where(threads.c.user_id == user_id)
        ).all()
        positions = view.connection.execute(
            sa.select(formation.c.thread_id, formation.c.formed_position).where(
                formation.c.user_id == user_id
            )
        ).all()
    assert sorted(map(tuple, lengths)) == sorted(map(tuple, positions))
    written: dict[tuple[str | None, datetime], int] = {}
    for item in me.list(limit=1000, status="any"):
        turn = (item.thread_id, item.valid_from)
        written[turn] = written.get(turn, 0) + (item.source is not Source.USER_EXPLICIT)
    assert all(count <= MAX_WRITES_PER_TURN for count in written.values())


def check_history(memory: Memory, me: UserMemory) -> None:
    """Every memory has a row that tells how it came to be, and all revisions are there."""
    changes = me.changes(limit=1000).changes
    assert [change.revision for change in changes] == list(range(1, me.revision() + 1))
    made = {change.new_ref for change in changes if change.event is Event.ADD}
    kept = {change.old_ref for change in changes if change.event is Event.UPDATE}
    ended = {change.old_ref for change in changes if change.event is Event.SUPERSEDE}
    for item in me.list(limit=1000, status="any"):
        if item.status is Status.ACTIVE:
            assert item.id in made
        else:
            assert item.id in kept | ended
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def check_that_forming_again_changes_nothing(me: UserMemory) -> None:
    before = (me.revision(), me.list(limit=1000, status="any"), me.proposals(limit=1000))
    assert me.form().turns == 0
    for thread in me.threads():
        assert me.form(thread.thread_id).decisions == ()
    assert (me.revision(), me.list(limit=1000, status="any"), me.proposals(limit=1000)) == before


@pytest.mark.slow
@pytest.mark.requirement("formation.once")
@given(
    said=st.lists(st.sampled_from(PLAIN), min_size=1, max_size=4), cuts=st.sets(st.integers(0, 3))
)
@example(said=["I love olives", "I don't like olives anymore"], cuts={0})
def test_where_a_conversation_is_cut_makes_no_difference(
    memory: Memory, clock: ManualClock, said: Sequence[str], cuts: set[int]
) -> None:
    """Formed after every turn, or at the end: the same is known."""
    at_once, in_pieces = (memory.user(f"user-{next(_numbers)}") for _ in range(2))
    for place, text in enumerate(said):
        clock.advance(minutes=1)
        for me in (at_once, in_pieces):
            me.observe([{"role": "user", "content": text, "at": clock()}], thread="one")
        if place in cuts:
            in_pieces.form("one")
    for me in (at_once, in_pieces):
        me.form("one")
    assert answers(at_once) == answers(in_pieces)


def answers(me: UserMemory) -> tuple[list[str], list[str | None]]:
    """What is known, and what waits."""
    known = sorted(item.content for item in me.list(limit=1000))
    return known, [proposal.content for proposal in me.proposals()]
