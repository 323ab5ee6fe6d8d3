"""Recording what is said, and finding it again."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo import InvalidValue, Memory, NewTurn, ScopeWidened, UnknownField, UserMemory
from ricordo.errors import EmbeddingError
from ricordo.providers.embedder import Vectors
from ricordo.recall.turn_search import TurnSearch
from ricordo.testing import ManualClock, WordEmbedder
from tests.contract.conftest import on_sqlite
from tests.support.searching import WIDTH, Searching

SAID: list[dict[str, Any]] = [
    {"role": "user", "actor": "Ana", "content": "Where did you go on holiday?", "id": "m1"},
    {"role": "assistant", "actor": "Ben", "content": "To Lisbon, for the tiles", "id": "m2"},
    {"role": "user", "actor": "Ana", "content": "My cat is called Momo", "id": "m3"},
    {"role": "tool", "content": "weather: rain", "id": "m4"},
]


class SometimesDown(WordEmbedder):
    is_down = False

    @classmethod
    @contextlib.contextmanager
    def down(cls) -> Iterator[None]:
        cls.is_down = True
        yield
        cls.is_down = False

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        if self.is_down:
            raise EmbeddingError("it is down")
        return super().embed(texts, deadline_seconds=deadline_seconds)


def found(user: UserMemory, query: str, **wanted: Any) -> list[str | None]:
    return [hit.message_id for hit in user.search_turns(query, **wanted)]


@pytest.mark.requirement("conversations.observe")
def test_messages_are_recorded_in_order_and_once(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    observed = ana.observe(SAID, thread="t", title="Holiday")
    assert (observed.thread_id, observed.recorded, observed.known) == ("t", 4, 0)
    again = ana.observe([*SAID, {"role": "user", "content": "New", "id": "m5"}], thread="t")
    assert (again.recorded, again.known) == (1, 4)
    twice = {"role": "user", "content": "Twice", "id": "m6"}
    once = ana.observe([twice, twice, {"role": "user", "content": "No id"}], thread="t")
    assert (once.recorded, once.known) == (2, 1)
    ana.observe([{"role": "user", "content": "No id"}], thread="t")
    said = [(turn.position, turn.content) for turn in ana.turns("t")]
    assert [place for place, _ in said] == list(range(1, 9))
    assert [content for _, content in said][-4:] == ["New", "Twice", "No id", "No id"]
    assert ana.observe(SAID[:1], thread="other").recorded == 1
    titles = {thread.thread_id: thread.title for thread in ana.threads()}
    assert titles == {"t": "Holiday", "other": None}


@pytest.mark.requirement("recall.turns")
def test_turns_without_a_vector_are_found_by_words_alone(searching: Searching) -> None:
    ana = searching.open(embedder=SometimesDown(WIDTH)).user("ana")
    ana.observe([{"role": "user", "content": "The boat is red"}], thread="a")
    with SometimesDown.down():
        ana.observe([{"role": "user", "content": "The boat is blue"}], thread="b")
    (hit,) = ana.search_turns("red boat", thread="b", explain=True)
    assert hit.signals.semantic is None
    assert hit.explanation is not None
    assert hit.explanation["cosine"] is None
    assert hit.explanation["fused"] == hit.signals.fts == 1


@pytest.mark.requirement("conversations.observe")
@on_sqlite
def test_a_bad_message_leaves_nothing(memory: Memory) -> None:
    ana = memory.user("ana")
    good = {"role": "user", "content": "Fine"}
    bad: list[Any] = [
        {"role": "user"},
        {"content": "x"},
        *({**good, "content": content} for content in ("  ", 5, "a\x00b", "x" * 1_000_001)),
        {**good, "role": ""},
        {**good, "at": "yesterday"},
        {**good, "id": " "},
        {**good, "tool_calls": "call"},
        {**good, "tool_calls": {"a": 1}},
        "just text",
        None,
    ]
    for message in bad:
        with pytest.raises(InvalidValue):
            ana.observe([good, message], thread="t")
    with pytest.raises(UnknownField, match="colour"):
        ana.observe([good, {**good, "colour": "red"}], thread="t")
    with pytest.raises(InvalidValue, match="messages"):
        ana.observe("text", thread="t")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="thread"):
        ana.observe([good], thread="")
    with pytest.raises(ScopeWidened):
        ana.narrow(thread="one").observe([good], thread="two")
    assert memory.users() == ()


@pytest.mark.requirement("conversations.observe")
def test_a_message_may_be_a_value_has_a_time_and_calls_tools(
    memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
    long_ago = datetime(2024, 5, 7, 9, tzinfo=UTC)
    calls = [{"id": "c1", "type": "function", "function": {"name": "get_weather"}}]
    turns = [
        NewTurn(role="user", content="Then", at=long_ago, tool_calls=[{"name": "x"}]),
        {"role": "user", "content": "Now", "at": None},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    ana.observe(turns, thread="t")
    first, second, third = ana.turns("t")
    assert (first.at, first.tool_calls) == (long_ago, [{"name": "x"}])
    assert second.at == clock()
    assert (third.content, third.tool_calls) == ("[calls get_weather]", calls)


@pytest.mark.requirement("recall.turns")
def test_a_hit_says_who_said_it_where_and_when(searching_store: Memory, clock: ManualClock) -> None:
    ana = searching_store.user("ana")
    ana.observe(SAID, thread="t")
    hit = ana.search_turns("cat called Momo", explain=True)[0]
    assert (hit.thread_id, hit.message_id, hit.actor, hit.role) == ("t", "m3", "Ana", "user")
    assert (hit.at, hit.content_snippet) == (clock(), "My cat is called Momo")
    parts = hit.explanation
    assert parts is not None
    boosts = sum(parts["boosts"].values())
    assert parts["weighed"] == pytest.approx(parts["fused"] + boosts, abs=1e-3)
    assert hit.score == pytest.approx(parts["weighed"] / TurnSearch.highest_score, abs=1e-3)
    assert {"role", "thread"} <= set(parts["boosts"])
    assert all(one.explanation is None for one in ana.search_turns("Momo"))


@pytest.mark.requirement("recall.turns")
def test_filters_hold(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    start = datetime(2026, 3, 1, tzinfo=UTC)
    ana.observe(
        [
            {
                "role": "user" if number % 2 else "assistant",
                "actor": "Ana" if number % 3 else "Ben",
                "content": f"tea number {number}",
                "id": str(number),
                "at": start + timedelta(days=number),
            }
            for number in range(12)
        ],
        thread="t",
    )
    ana.observe([{"role": "user", "content": "tea elsewhere", "id": "e"}], thread="u")
    every = {str(number) for number in range(12)}
    assert set(found(ana, "tea", limit=50)) == every | {"e"}
    assert set(found(ana, "tea", limit=50, thread="t")) == every
    assert found(ana, "tea", thread="u") == ["e"]
    assert found(ana, "tea", thread="nowhere") == []
    assert set(found(ana, "tea", role="assistant")) == {str(n) for n in range(0, 12, 2)}
    assert set(found(ana, "tea", actor="Ben")) == {"0", "3", "6", "9"}
    assert found(ana, "tea", actor="ben") == []
    assert set(found(ana, "tea", since="2026-03-10", thread="t")) == {"9", "10", "11"}
    assert set(found(ana, "tea", until=start + timedelta(days=2), thread="t")) == {"0", "1"}
    assert set(found(ana, "tea", since="2026-03-04", until="2026-03-06")) == {"3", "4"}
    assert set(found(ana, "tea", role="user", actor="Ben", limit=1)) <= {"3", "9"}


@pytest.mark.requirement("recall.filters-exact")
def test_a_filter_on_turns_costs_no_result(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    ana.observe(
        [{"role": "user", "content": f"tea tea tea {number}"} for number in range(80)], thread="t"
    )
    ana.observe([{"role": "user", "content": "once there was some tea", "id": "x"}], thread="u")
    assert found(ana, "tea tea tea", thread="u") == ["x"]


@pytest.mark.requirement("recall.turns")
def test_an_answer_is_found_by_the_words_of_its_question(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(backend_url, ranking_off="semantic").user("ana")
    ana.observe(SAID[:1], thread="t")
    assert found(ana, "holiday go") == ["m1"]
    ana.observe([{"role": "user", "content": "In between", "id": "b"}], thread="other")
    ana.observe(SAID, thread="t")
    assert found(ana, "holiday go") == ["m1", "m2"]
    alone = open_store(backend_url, ranking_off="window,semantic").user("ana")
    assert found(alone, "holiday go") == ["m1"]
    fresh = open_store(backend_url).user("ana")
    by_both = fresh.search_turns("holiday go", explain=True)
    near = {hit.message_id: (hit.explanation or {})["semantic"] for hit in by_both}
    lone = {hit.message_id: (hit.explanation or {})["cosine"] for hit in by_both}
    assert near["m2"] == pytest.approx((lone["m2"] + 0.3 * lone["m1"]) / 1.3, abs=1e-3)
    assert near["b"] == lone["b"]


@pytest.mark.requirement("recall.turns")
def test_what_one_named_person_said_comes_first(searching: Searching) -> None:
    memory = searching.open()
    ana = memory.user("ana")
    for actor in ("Cleo Park", "Ben"):
        ana.observe(
            [{"role": "user", "actor": actor, "content": "The garden needs water", "id": actor}],
            thread=actor,
        )
    ana.observe([{"role": "user", "content": "Hello", "actor": "Ana"}], thread="x")
    for question, first in (
        ("What did Cleo say about the garden?", "Cleo Park"),
        ("What did Ben say about the garden?", "Ben"),
        ("ben's garden", "Ben"),
    ):
        hits = ana.search_turns(question, explain=True)
        assert hits[0].actor == first
        assert "actor" in (hits[0].explanation or {})["boosts"]
    both = ana.search_turns("Ben and Cleo about the garden", explain=True)
    assert "actor" not in (both[0].explanation or {})["boosts"]


@pytest.mark.requirement("recall.turns")
def test_who_said_it_and_in_which_month_counts(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    for role, month in (("user", 3), ("user", 5), ("assistant", 8)):
        said = {"role": role, "content": "Went swimming", "id": f"{month}"}
        ana.observe([{**said, "at": datetime(2024, month, 7, tzinfo=UTC)}], thread=f"{month}")
    assert found(ana, "swimming in May 2024", limit=1) == ["5"]
    assert found(ana, "swimming in August 2024", limit=1) == ["8"]
    assert found(ana, "swimming")[-1] == "8"


@pytest.mark.requirement("recall.turns")
@on_sqlite
def test_bad_questions_are_refused(memory: Memory) -> None:
    ana = memory.user("ana")
    for query in ("", " ", "*"):
        with pytest.raises(InvalidValue, match="to read a conversation in order, use turns"):
            ana.search_turns(query)
    bad = {"limit": 51, "threshold": 2, "since": "soon", "role": "", "thread": 5, "explain": "yes"}
    for name, value in bad.items():
        with pytest.raises(InvalidValue, match=name):
            ana.search_turns("tea", **{name: value})  # type: ignore[arg-type]
    assert len(ana.search_turns("tea")) == 0


@pytest.mark.requirement("recall.isolation")
def test_nobody_finds_what_others_said(searching_store: Memory) -> None:
    for name in ("ana", "ben"):
        searching_store.user(name).observe(
            [{"role": "user", "content": "Tea secret", "id": name, "actor": name.title()}],
            thread="same",
        )
    for name in ("ana", "ben"):
        user = searching_store.user(name)
        assert found(user, "tea") == [name]
        assert found(user, "what did Ana and Ben say of tea", thread="same") == [name]
    assert found(searching_store.user("cleo"), "tea") == []
