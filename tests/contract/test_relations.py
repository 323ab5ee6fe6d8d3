"""Which memories are about the same: noted when they are written, and shown as a graph."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import (
    CategoryNotAllowed,
    InvalidValue,
    Memory,
    MemoryNotFound,
    RelationGraph,
    UserMemory,
)
from ricordo.storage.relations import add_relations
from ricordo.storage.tables import relations
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite
from tests.support.searching import Searching
from tests.support.sharing import share

pytestmark = [
    pytest.mark.requirement("recall.related"),
    pytest.mark.requirement("graph.relations"),
]


CHAIRS = "red garden chairs for"


def near(user: UserMemory, item_id: int) -> list[int]:
    return [one.id for one in user.related(item_id)]


def rows(memory: Memory) -> list[tuple[int, int]]:
    with memory.database.read_all() as view:
        found = view.connection.execute(sa.select(relations.c.low_id, relations.c.high_id))
        return sorted((row[0], row[1]) for row in found)


def test_they_are_noted_at_add_above_the_least_similarity(searching: Searching) -> None:
    ana = searching.open(link_min=0.6).user("ana")
    first = ana.add(f"{CHAIRS} summer", theme="home").id
    boat = ana.add("owns a yellow boat").id
    second = ana.add(f"{CHAIRS} winter").id
    (found,) = ana.related(second)
    assert (found.id, found.theme, found.content) == (first, "home", f"{CHAIRS} summer")
    assert 0.6 <= found.similarity <= 1
    assert near(ana, first) == [second]
    assert near(ana, boat) == []
    for settings in ({"link_min": 0.99}, {"relations_per_memory": 0}):
        ben = searching.open(**settings).user("ben")
        added = ben.add_many([f"{CHAIRS} summer", f"{CHAIRS} winter"])
        assert near(ben, added[0].id) == near(ben, added[1].id) == []


def test_a_pair_is_kept_once_and_the_number_is_bounded(searching: Searching) -> None:
    memory = searching.open(relations_per_memory=2)
    ana = memory.user("ana")
    added = [ana.add(f"{CHAIRS} {name}").id for name in ("one", "two", "three", "four", "five")]
    assert ana.add(f"{CHAIRS} one").duplicate
    assert len(rows(memory)) == len(set(rows(memory)))
    assert all(low < high for low, high in rows(memory))
    for place, item_id in enumerate(added):
        assert sum(high == item_id for _, high in rows(memory)) == min(place, 2)
    assert len(ana.related(added[0], limit=1)) == 1
    for low, high in rows(memory):
        assert high in near(ana, low)
        assert low in near(ana, high)


def test_those_of_one_bulk_find_each_other_as_they_have_become(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    keyed = ana.add(f"{CHAIRS} autumn", key="k").id
    old = ana.add(f"{CHAIRS} spring").id
    changed, first, second, boat = (
        one.id
        for one in ana.add_many(
            [
                {"content": "works at a bank", "key": "k"},
                *(f"{CHAIRS} summer", f"{CHAIRS} winter", "owns a yellow boat"),
            ]
        )
    )
    assert changed == keyed
    assert set(near(ana, first)) == {old, second}
    assert set(near(ana, second)) == {old, first}
    assert near(ana, boat) == near(ana, changed) == []


def test_a_new_text_has_new_relations(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    chairs = ana.add(f"{CHAIRS} summer").id
    boat = ana.add("the yellow boat needs paint").id
    keyed = ana.add(f"{CHAIRS} winter", key="k").id
    assert near(ana, keyed) == [chairs]
    ana.add("the yellow boat needs oars", key="k")
    assert near(ana, keyed) == [boat]
    assert near(ana, chairs) == []
    ana.undo(keyed)
    assert boat not in near(ana, keyed)
    assert keyed not in near(ana, boat)


def test_what_is_put_aside_is_hidden_and_what_is_purged_is_gone(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    first, second, third = (ana.add(f"{CHAIRS} {name}").id for name in ("one", "two", "three"))
    ana.archive(second)
    ana.forget(third)
    assert near(ana, first) == []
    with pytest.raises(MemoryNotFound):
        ana.related(third)
    ana.restore(second)
    assert near(ana, first) == [second]
    ana.purge(before_time=True)
    assert rows(searching_store) == [(first, second)]
    new = ana.add(f"{CHAIRS} all", supersedes=second).id
    assert near(ana, new) == [first]


@pytest.mark.requirement("recall.isolation")
def test_nobody_is_related_to_what_is_anothers(searching: Searching) -> None:
    memory = searching.open()
    ana, ben = memory.user("ana"), memory.user("ben")
    shared, private = ana.add(f"{CHAIRS} one").id, ana.add(f"{CHAIRS} two").id
    everybody = memory.global_memories().add(f"{CHAIRS} all").id
    share(ana, shared, "ben")
    own = ben.add(f"{CHAIRS} three").id
    for item_id in (own, shared, everybody):
        assert near(ben, item_id) == []
    for unknown in (private, 987_654):
        with pytest.raises(MemoryNotFound):
            ben.related(unknown)
    assert near(ana, shared) == [private]
    for limit in (0, 51, True):
        with pytest.raises(InvalidValue, match="limit"):
            ana.related(shared, limit=limit)
    memory.erase_user("ana")
    assert rows(memory) == []


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


def test_other_users_have_graphs_of_their_own(memory: Memory, ana: UserMemory) -> None:
    mine = added(ana, 3)
    star(ana, mine)
    ben = memory.user("ben")
    for item_id in mine:
        share(ana, item_id, "ben")
    assert ben.relation_graph() == RelationGraph((), (), False)
    theirs = added(ben, 2)
    star(ben, theirs)
    assert set(ids(ben.relation_graph())) == set(theirs)
    assert set(ids(ana.relation_graph())) == set(mine)


def test_a_theme_shows_relations_within_it_alone(ana: UserMemory) -> None:
    a, b = added(ana, 2)
    c, d = added(ana, 2, "health")
    relate(ana, (a, b), (a, c), (b, d), (c, d))
    worker = ana.narrow(categories="work")
    for graph in (ana.relation_graph("work"), worker.relation_graph()):
        assert (ids(graph), edges(graph), graph.more) == ([b, a], [(a, b)], False)
    assert ids(ana.relation_graph("health")) == [d, c]
    assert len(ana.relation_graph().relations) == 4
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
    monkeypatch.setattr("ricordo.recall.service.MAX_GRAPHED_MEMORIES", 3)
    graph = ana.relation_graph(theme)
    assert ids(graph) == [old[2], new[1], new[0]]
    assert graph.more
    monkeypatch.setattr("ricordo.recall.service.MAX_GRAPHED_MEMORIES", 6)
    assert set(ids(ana.relation_graph("work"))) == {*old[:3], *new[:2]}
    assert not ana.relation_graph("work").more


@on_sqlite
def test_bad_input_is_refused(ana: UserMemory) -> None:
    wrong: list[tuple[Any, Any]] = [
        *((None, limit) for limit in (1, 201, "5", True)),
        *((theme, 5) for theme in ("", 5, "x" * 65, "a\0b")),
    ]
    for theme, limit in wrong:
        with pytest.raises(InvalidValue):
            ana.relation_graph(theme, limit=limit)
