"""Memories as a graph: the most connected ones, and the relations among them."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import CategoryNotAllowed, InvalidValue, Memory, RelationGraph, UserMemory
from ricordo.recall.graphing import most_connected
from ricordo.storage.relations import add_relations
from ricordo.testing.clock import ManualClock

pytestmark = pytest.mark.requirement("graph.relations")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def added(user: UserMemory, count: int, theme: str = "work") -> list[int]:
    """Memories that nothing relates yet."""
    start = len(user.list(status="any", limit=1_000))
    drafts = [{"content": f"n{number}x", "theme": theme} for number in range(start, start + count)]
    return [one.id for one in user.add_many(drafts)]


def relate(user: UserMemory, *pairs: tuple[int, int], similarity: float = 0.75) -> None:
    with user.database.write(user.scope.user_id) as writing:
        add_relations(writing, [(*pair, similarity) for pair in pairs])


def ids(graph: RelationGraph) -> list[int]:
    return [item.id for item in graph.memories]


def edges(graph: RelationGraph) -> list[tuple[int, int]]:
    return [(edge.one, edge.other) for edge in graph.relations]


def star(user: UserMemory, members: Sequence[int]) -> None:
    relate(user, *((members[0], other) for other in members[1:]))


def test_the_most_connected_come_first_and_the_unrelated_not_at_all(ana: UserMemory) -> None:
    a, b, c, d, _ = added(ana, 5)
    relate(ana, (a, b), (a, c))
    relate(ana, (a, d), similarity=0.912345)
    graph = ana.relation_graph("work")
    assert ids(graph) == [a, d, c, b]
    assert graph.memories[0] == ana.get(a)
    assert [(edge.one, edge.other, edge.similarity) for edge in graph.relations] == [
        (a, d, 0.9123),
        (a, b, 0.75),
        (a, c, 0.75),
    ]
    assert not graph.more
    assert graph == ana.relation_graph("Work") == ana.relation_graph()
    assert ana.relation_graph("nowhere") == RelationGraph((), (), False)


def test_relations_that_are_noted_at_add_are_shown(ana: UserMemory) -> None:
    texts = ("red garden chairs for summer", "red garden chairs for winter", "a yellow boat")
    first, second, _ = (ana.add(text).id for text in texts)
    assert edges(ana.relation_graph()) == [(first, second)]
    assert ids(ana.relation_graph()) == [second, first]


def test_no_more_than_asked_for_and_none_alone(ana: UserMemory) -> None:
    one, two = added(ana, 5), added(ana, 4)
    star(ana, one)
    star(ana, two)
    graph = ana.relation_graph(limit=4)
    assert ids(graph) == [one[0], two[0], two[-1], one[-1]]
    assert edges(graph) == [(one[0], one[-1]), (two[0], two[-1])]
    assert graph.more
    small = ana.relation_graph(limit=3)
    assert ids(small) == [one[0], one[-1], one[-2]]
    assert edges(small) == [(one[0], one[-2]), (one[0], one[-1])]
    assert not ana.relation_graph(limit=9).more


def test_only_what_holds_is_shown(ana: UserMemory, clock: ManualClock) -> None:
    a, b, c, d = added(ana, 4)
    soon = ana.add("Is in Porto", theme="work", expires_at=clock() + timedelta(hours=1)).id
    relate(ana, (a, b), (a, c), (a, d), (a, soon))
    assert set(ids(ana.relation_graph())) == {a, b, c, d, soon}
    ana.archive(b)
    ana.forget(c)
    clock.advance(hours=2)
    assert (ids(ana.relation_graph()), edges(ana.relation_graph())) == ([d, a], [(a, d)])
    ana.archive(d)
    assert ana.relation_graph() == RelationGraph((), (), False)


def test_a_theme_shows_relations_within_it_alone(ana: UserMemory) -> None:
    a, b = added(ana, 2)
    (c, d) = added(ana, 2, "health")
    relate(ana, (a, b), (a, c), (b, d), (c, d))
    assert edges(ana.relation_graph("work")) == [(a, b)]
    assert ids(ana.relation_graph("health")) == [d, c]
    assert len(ana.relation_graph().relations) == 4


def test_other_users_have_graphs_of_their_own(memory: Memory, ana: UserMemory) -> None:
    mine = added(ana, 3)
    star(ana, mine)
    ben = memory.user("ben")
    for item_id in mine:
        ana.link(item_id, "ben")
    assert ben.relation_graph() == RelationGraph((), (), False)
    theirs = added(ben, 2)
    star(ben, theirs)
    assert set(ids(ben.relation_graph())) == set(theirs)
    assert set(ids(ana.relation_graph())) == set(mine)


def test_a_confined_scope_sees_its_categories_alone(ana: UserMemory) -> None:
    a, b = added(ana, 2)
    c, d = added(ana, 2, "health")
    relate(ana, (a, b), (a, c), (a, d), (c, d))
    worker = ana.narrow(categories="work")
    for graph in (worker.relation_graph(), worker.relation_graph("work")):
        assert (ids(graph), edges(graph), graph.more) == ([b, a], [(a, b)], False)
    with pytest.raises(CategoryNotAllowed):
        worker.relation_graph("health")
    assert ana.narrow(categories=[]).relation_graph().memories == ()


@pytest.mark.parametrize("theme", [None, "work"])
def test_of_many_the_latest_and_what_they_are_related_to(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch, theme: str | None
) -> None:
    old = added(ana, 4)
    elsewhere = added(ana, 1, "health") if theme else []
    new = added(ana, 3)
    relate(ana, (old[0], old[1]), (old[2], new[0]), (old[2], new[1]), (old[3], new[2]))
    relate(ana, *((other, new[2]) for other in elsewhere))
    ana.archive(old[3])
    monkeypatch.setattr("ricordo.recall.graphing.MAX_GRAPHED_MEMORIES", 3)
    graph = ana.relation_graph(theme)
    assert ids(graph) == [old[2], new[1], new[0]]
    assert graph.more
    monkeypatch.setattr("ricordo.recall.graphing.MAX_GRAPHED_MEMORIES", 6)
    assert set(ids(ana.relation_graph("work"))) == {*old[:3], *new[:2]}
    assert not ana.relation_graph("work").more


@pytest.mark.parametrize(
    ("theme", "limit"),
    [
        (None, 1),
        (None, 201),
        (None, "5"),
        (None, True),
        ("", 5),
        (5, 5),
        ("x" * 65, 5),
        ("a\0b", 5),
    ],
)
def test_bad_input_is_refused(ana: UserMemory, theme: Any, limit: Any) -> None:
    with pytest.raises(InvalidValue):
        ana.relation_graph(theme, limit=limit)


pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=40)


@given(pairs=pairs, limit=st.integers(2, 14))
def test_what_is_chosen_is_beside_its_own_and_in_order(
    pairs: list[tuple[int, int]], limit: int
) -> None:
    near: dict[int, set[int]] = {}
    for one, other in pairs:
        if one != other:
            near.setdefault(one, set()).add(other)
            near.setdefault(other, set()).add(one)
    chosen = most_connected(near, limit)
    assert len(chosen) == len(set(chosen)) <= limit
    assert all(near[one] & set(chosen) for one in chosen)
    assert all(
        (-len(near[one]), -one) < (-len(near[other]), -other) for one, other in pairwise(chosen)
    )
    if near:
        assert chosen[0] == max(near, key=lambda one: (len(near[one]), one))
    if len(near) <= limit:
        assert set(chosen) == set(near)
    assert len(chosen) >= min(len(near), limit) - 1  # the last place may fit no pair
