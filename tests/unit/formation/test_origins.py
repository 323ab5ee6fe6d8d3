"""From a memory back to the turn it was formed from: the right one, or none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.service import draft_of
from ricordo.model.item import Item
from ricordo.model.thread import Turn, source_role
from ricordo.model.vocabulary import MemoryType, Source, Status
from ricordo.recall.origins import source_among

pytestmark = pytest.mark.requirement("memories.source_turn")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
WORDS = ("tea", "i like tea", "i like tea and cake", "Tea", "no tea")


def turn(position: int, content: str, **more: object) -> Turn:
    values = dict.fromkeys(("message_id", "actor", "tool_calls"))
    values |= {"role": "user", "at": NOON, "thread_id": "monday", **more}
    return Turn(id=position + 100, position=position, content=content, **values)  # type: ignore[arg-type]


def formed(source: Turn, quote: str, *, now: datetime = LATER) -> Item:
    """The memory that formation makes of a quote from a turn."""
    same = {name: getattr(source, name) for name in ("position", "actor", "message_id", "at")}
    role = source_role(source.role) or ""
    passage = Passage(turn_id=source.id, role=role, text=source.content, **same)
    candidate = Candidate(content="Likes tea", quote=quote, passage=passage)
    draft = draft_of(candidate, source.thread_id, now)
    own = ("content", "source_context", "thread_id", "message_id", "actor_id", "role")
    empty = ("key", "agent_id", "run_id", "valid_to", "expires_at", "purge_at")
    return Item(
        **{field: getattr(draft, field) for field in own},
        **dict.fromkeys((*empty, "last_accessed_at", "last_verified_at")),
        **dict.fromkeys(("created_at", "updated_at"), now),
        id=1,
        user_id="ana",
        theme="general",
        type=MemoryType.FACT,
        tags=(),
        source=draft.source or Source.CONVERSATION,
        confidence=70,
        importance=2,
        pinned=False,
        status=Status.ACTIVE,
        valid_from=draft.valid_from or now,
        access_count=0,
    )


said = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
            "role": st.sampled_from(("user", "tool", "function", "assistant")),
            "actor": st.sampled_from((None, "ana")),
            "at": st.sampled_from((NOON, NOON + timedelta(seconds=1))),
            "named": st.booleans(),
            "thread_id": st.sampled_from(("monday", "monday", "tuesday")),
        }
    ),
    min_size=1,
    max_size=8,
)


@given(said=said, data=st.data())
def test_the_turn_is_right_or_there_is_none(
    said: list[dict[str, object]], data: st.DataObject
) -> None:
    turns = []
    for position, one in enumerate(said, 1):
        named = one.pop("named")
        message_id = f"m{position}" if named else None
        turns.append(turn(position, message_id=message_id, **one))  # type: ignore[arg-type]
    sources = [one for one in turns if source_role(one.role)]
    if not sources:
        return
    true = data.draw(st.sampled_from(sources))
    start = data.draw(st.integers(0, len(true.content) - 1))
    quote = true.content[start : data.draw(st.integers(start + 1, len(true.content)))]
    if not quote.strip():
        return
    item = formed(true, quote)
    found = source_among(item, data.draw(st.permutations(turns)))
    alike = [
        one
        for one in turns
        if (one.thread_id, one.at, one.actor, one.message_id)
        == (true.thread_id, true.at, true.actor, None)
        and source_role(one.role) == source_role(true.role)
        and quote.strip() in one.content
    ]
    if true.message_id is not None or alike == [true]:
        assert found == true
    elif len({one.content for one in alike}) > 1:
        assert found is None
    else:  # word for word the same, by the same, at the same moment
        assert found == alike[0]


MINE = turn(3, "i like tea", actor="ana")


@pytest.mark.parametrize(
    "other",
    [
        {"thread_id": "tuesday"},
        {"at": NOON + timedelta(microseconds=1)},
        {"message_id": "m3"},
        {"role": "assistant"},
        {"role": "tool"},
        {"actor": None},
        {"content": "I like tea"},
    ],
)
def test_whatever_differs_makes_it_another(other: dict[str, object]) -> None:
    item = formed(MINE, "i like tea")
    assert source_among(item, [MINE]) == MINE
    assert source_among(item, [replace(MINE, **other)]) is None  # type: ignore[arg-type]


def test_a_message_id_decides_alone_and_is_never_replaced_by_a_guess() -> None:
    named = replace(MINE, message_id="m3")
    item = formed(named, "i like tea")
    undone = replace(item, source_context=None, valid_from=LATER, role=None, actor_id=None)
    assert source_among(undone, [MINE, named]) == named
    assert source_among(item, [MINE]) is None
    assert source_among(replace(item, message_id="m4"), [named, MINE]) is None


@pytest.mark.parametrize(
    "lost", [{"thread_id": None}, {"source_context": None}, {"role": None}, {"message_id": "m9"}]
)
def test_what_says_too_little_has_no_source(lost: dict[str, object]) -> None:
    assert source_among(replace(formed(MINE, "tea"), **lost), [MINE]) is None  # type: ignore[arg-type]
    ahead = NOON - timedelta(seconds=1)  # a clock that was ahead
    assert source_among(formed(MINE, "tea", now=ahead), [MINE]) is None


def test_a_long_quote_is_cut_and_still_found() -> None:
    long = turn(1, "tea " * 1_000)
    item = formed(long, long.content)
    assert item.source_context is not None
    assert len(item.source_context) < len(long.content)
    assert source_among(item, [long]) == long
