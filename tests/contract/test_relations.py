"""Which memories are about the same: noted when they are written, gone when they are."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from ricordo import InvalidValue, Memory, MemoryNotFound, UserMemory
from ricordo.storage.index_tables import relations
from tests.support.searching import Searching

CHAIRS = "red garden chairs for"


def near(user: UserMemory, item_id: int) -> list[int]:
    return [one.id for one in user.related(item_id)]


def rows(memory: Memory) -> list[tuple[int, int]]:
    with memory.database.read_all() as view:
        found = view.connection.execute(sa.select(relations.c.low_id, relations.c.high_id))
        return sorted((row[0], row[1]) for row in found)


@pytest.mark.requirement("recall.related")
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
    strict = searching.open(link_min=0.99).user("ben")
    strict.add(f"{CHAIRS} summer")
    assert near(strict, strict.add(f"{CHAIRS} winter").id) == []


@pytest.mark.requirement("recall.related")
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


@pytest.mark.requirement("recall.related")
def test_none_where_they_are_turned_off(searching: Searching) -> None:
    memory = searching.open(relations_per_memory=0)
    memory.user("ana").add_many([f"{CHAIRS} summer", f"{CHAIRS} winter"])
    assert rows(memory) == []


@pytest.mark.requirement("recall.related")
def test_those_of_one_bulk_find_each_other(searching_store: Memory) -> None:
    ana = searching_store.user("ana")
    old = ana.add(f"{CHAIRS} spring").id
    first, second, boat = (
        one.id
        for one in ana.add_many([f"{CHAIRS} summer", f"{CHAIRS} winter", "owns a yellow boat"])
    )
    assert set(near(ana, first)) == {old, second}
    assert set(near(ana, second)) == {old, first}
    assert near(ana, boat) == []


@pytest.mark.requirement("recall.related")
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


@pytest.mark.requirement("recall.related")
def test_a_text_changed_in_the_same_bulk_is_not_taken_for_what_it_was(
    searching_store: Memory,
) -> None:
    ana = searching_store.user("ana")
    keyed = ana.add(f"{CHAIRS} winter", key="k").id
    changed, new = ana.add_many(
        [{"content": "works at a bank", "key": "k"}, {"content": f"{CHAIRS} summer"}]
    )
    assert changed.id == keyed
    assert near(ana, new.id) == []


@pytest.mark.requirement("recall.related")
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


@pytest.mark.requirement("recall.related")
@pytest.mark.requirement("recall.isolation")
def test_nobody_is_related_to_what_is_anothers(searching: Searching) -> None:
    memory = searching.open()
    ana, ben = memory.user("ana"), memory.user("ben")
    shared, private = ana.add(f"{CHAIRS} one").id, ana.add(f"{CHAIRS} two").id
    everybody = memory.global_memories().add(f"{CHAIRS} all").id
    ana.link(shared, "ben")
    own = ben.add(f"{CHAIRS} three").id
    assert near(ben, own) == []
    assert near(ben, shared) == []
    assert near(ben, everybody) == []
    with pytest.raises(MemoryNotFound):
        ben.related(private)
    assert near(ana, shared) == [private]


@pytest.mark.requirement("recall.related")
def test_bad_values_are_refused(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Tea").id
    for limit in (0, 51, True):
        with pytest.raises(InvalidValue, match="limit"):
            ana.related(item_id, limit=limit)
    with pytest.raises(MemoryNotFound):
        ana.related(item_id + 1)


@pytest.mark.requirement("recall.related")
def test_erasing_a_user_leaves_no_relation(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url)
    memory.user("ana").add_many([f"{CHAIRS} one", f"{CHAIRS} two"])
    assert len(rows(memory)) == 1
    memory.erase_user("ana")
    assert rows(memory) == []
