"""Reading several memories at once: those that could be read one by one, and no others."""

from datetime import timedelta
from typing import Any

import pytest

from ricordo import InvalidValue, Memory, MemoryNotFound, UserMemory
from ricordo.testing.clock import ManualClock

pytestmark = pytest.mark.requirement("memories.get_many")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def one_by_one(user: UserMemory, ids: list[int], **how: Any) -> list[Any]:
    found = []
    for item_id in ids:
        try:
            found.append(user.get(item_id, **how))
        except MemoryNotFound:
            continue
    return found


def test_in_the_order_of_the_ids_and_each_once(memory: Memory, ana: UserMemory) -> None:
    first, second, third = (one.id for one in ana.add_many(["a", "b", "c"]))
    theirs = memory.user("ben").add("Has a dog").id
    asked = [third, 987_654, first, theirs, third]
    assert list(ana.get_many(asked)) == one_by_one(ana, [third, first])
    assert [item.id for item in ana.get_many(iter([second, first]))] == [second, first]
    assert ana.get_many([]) == ()
    assert memory.user("ben").get_many([first, second]) == ()


@pytest.mark.parametrize("include_deleted", [False, True])
def test_what_is_found_is_what_get_finds(
    memory: Memory, ana: UserMemory, clock: ManualClock, include_deleted: bool
) -> None:
    kept, aside, gone, purged = (one.id for one in ana.add_many(["a", "b", "c", "d"]))
    ended = ana.add("e", expires_at=clock() + timedelta(hours=1)).id
    ana.forget(purged)
    ana.purge(before_time=True)
    ana.archive(aside)
    ana.forget(gone)
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    clock.advance(hours=2)
    asked = [kept, aside, gone, purged, ended, old, new]
    found = ana.get_many(asked, include_deleted=include_deleted)
    assert list(found) == one_by_one(ana, asked, include_deleted=include_deleted)
    hidden = {purged} if include_deleted else {purged, gone, ended}
    assert {item.id for item in found} == set(asked) - hidden


def test_what_is_shared_is_shown_as_get_shows_it(memory: Memory, ana: UserMemory) -> None:
    tea = ana.add("Prefers tea", source_context="over lunch", thread_id="t1").id
    ana.link(tea, "ben")
    everybodys = memory.global_memories().add("The office closes at six").id
    ben = memory.user("ben")
    assert list(ben.get_many([everybodys, tea])) == one_by_one(ben, [everybodys, tea])
    assert ben.get_many([tea])[0].source_context is None
    ana.forget(tea)
    assert ben.get_many([tea], include_deleted=True) == ()


def test_a_confined_scope_gets_its_categories(ana: UserMemory) -> None:
    work = ana.add("Works at night", theme="work").id
    health = ana.add("Has asthma", theme="health").id
    worker = ana.narrow(categories="work")
    assert [item.id for item in worker.get_many([health, work])] == [work]


BAD_IDS: list[Any] = [[0], [-1], [2**63], ["1"], [True], [None], "12", 5, None, range(1, 1_002)]


@pytest.mark.parametrize("ids", BAD_IDS)
def test_bad_input_is_refused(ana: UserMemory, ids: Any) -> None:
    with pytest.raises(InvalidValue):
        ana.get_many(ids)


def test_a_flag_is_a_flag(ana: UserMemory) -> None:
    with pytest.raises(InvalidValue, match="include_deleted"):
        ana.get_many([1], include_deleted="yes")  # type: ignore[arg-type]


def test_as_many_as_a_page_has(ana: UserMemory) -> None:
    made = ana.add_many([f"n{number}" for number in range(5)])
    assert len(ana.get_many(range(1, 1_001))) == len(made)
