"""Which memories took the place of which, and that an undo works exactly where one is told of."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ricordo import (
    IllegalTransition,
    InvalidValue,
    Lineage,
    Memory,
    MemoryNotFound,
    NothingToUndo,
    Occupied,
    RicordoError,
    Undoable,
    UserMemory,
)
from ricordo.memories.absorbing import absorb
from ricordo.model.vocabulary import Event
from ricordo.storage.database import Database
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from ricordo.wiring import open_memory

pytestmark = pytest.mark.requirement("memories.lineage")


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


def told(user: UserMemory, item_id: int) -> tuple[int | None, list[int], str | None]:
    found = user.lineage(item_id)
    successor = None if found.successor is None else found.successor.id
    return successor, [one.id for one in found.predecessors], found.undoable


def test_nothing_took_anythings_place(ana: UserMemory) -> None:
    assert ana.lineage(ana.add("Likes tea").id) == Lineage()


def test_a_chain_and_its_undoing(ana: UserMemory) -> None:
    first = ana.add("Plays the viola").id
    second = ana.add("Plays the cello", supersedes=first).id
    third = ana.add("Plays the harp", supersedes=second).id
    assert told(ana, first) == (second, [], None)  # the later one has to be undone first
    assert told(ana, second) == (third, [first], "replacement")
    assert told(ana, third) == (None, [second], "replacement")
    assert ana.lineage(second).successor == ana.get(third)
    assert ana.lineage(third).predecessors == (ana.get(second),)
    ana.undo(third)
    assert told(ana, third) == (None, [], None)
    assert told(ana, second) == (None, [first], "replacement")


def test_a_merge(ana: UserMemory) -> None:
    ids = [ana.add(f"Plays instrument {number}").id for number in range(3)]
    merged = ana.merge(ids, "Plays many instruments").id
    assert told(ana, merged) == (None, ids[::-1], "replacement")
    assert [told(ana, one) for one in ids] == [(merged, [], "replacement")] * 3
    ana.undo(ids[1])
    assert told(ana, merged) == (None, [], None)


def test_updates_by_key(ana: UserMemory) -> None:
    kept = ana.add("Eats no meat", key="diet").id
    ana.add("Eats no fish", key="diet")
    (earlier,) = ana.list(status="superseded")
    ana.add("Eats all", key="diet")
    (later,) = (one for one in ana.list(status="superseded") if one.id != earlier.id)
    assert told(ana, kept) == (None, [later.id, earlier.id], "update")
    assert told(ana, later.id) == (kept, [], "update")
    assert told(ana, earlier.id) == (kept, [], None)
    ana.undo(kept)
    assert told(ana, kept) == (None, [earlier.id], "update")


def test_an_update_of_what_took_anothers_place(ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", key="plays", supersedes=old).id
    ana.add("Plays the harp", key="plays")
    (former,) = (one.id for one in ana.list(status="superseded") if one.id != old)
    assert told(ana, new) == (None, [former, old], "update")
    ana.undo(new)
    assert told(ana, new) == (None, [old], "replacement")


def test_who_came_back_and_was_replaced_again_is_no_predecessor(ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    first = ana.add("Plays the cello", supersedes=old).id
    ana.undo(old)
    second = ana.add("Plays the harp", supersedes=old).id
    assert told(ana, first)[1] == []
    assert told(ana, second)[1] == [old]
    assert told(ana, old) == (second, [], "replacement")


def test_what_is_forgotten_expired_or_purged(ana: UserMemory, clock: ManualClock) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    ana.forget(new)
    assert told(ana, new) == (None, [old], None)
    assert told(ana, old) == (new, [], "replacement")
    ana.purge(before_time=True)
    assert told(ana, old) == (None, [], "replacement")
    brief = ana.add("Rents a viola", expires_at=clock() + timedelta(hours=1), key="rents").id
    ana.add("Rents a cello", expires_at=clock() + timedelta(hours=1), key="rents")
    assert told(ana, brief)[2] == "update"
    clock.advance(hours=2)
    (former,) = ana.lineage(brief).predecessors
    assert told(ana, brief) == (None, [former.id], None)
    assert told(ana, former.id) == (brief, [], None)
    with pytest.raises(MemoryNotFound):
        ana.lineage(new)


def test_no_more_than_the_latest(ana: UserMemory) -> None:
    kept = ana.add("Reads book 0", key="reads").id
    for number in range(1, 53):
        ana.add(f"Reads book {number}", key="reads")
    shown = [item.content for item in ana.lineage(kept).predecessors]
    assert shown == [f"Reads book {number}" for number in range(51, 1, -1)]


def test_of_what_others_share_nothing_is_told(memory: Memory, ana: UserMemory) -> None:
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    ben = memory.user("ben")
    for item_id in (old, new, 987_654):
        with pytest.raises(MemoryNotFound):
            ben.lineage(item_id)
    ana.link(new, "ben")
    assert ben.lineage(new) == Lineage()
    everybody = memory.global_memories()
    everybodys = everybody.add("Open till six", supersedes=everybody.add("Open till five").id).id
    assert ben.lineage(everybodys) == Lineage()
    assert everybody.lineage(everybodys).undoable is Undoable.REPLACEMENT


def test_a_confined_scope_is_told_what_it_reaches(ana: UserMemory) -> None:
    work = ana.add("Works at night", theme="work").id
    health = ana.add("Sleeps at day", theme="health", supersedes=work).id
    worker = ana.narrow(categories="work")
    assert told(worker, work) == (None, [], None)
    with pytest.raises(MemoryNotFound):
        worker.lineage(health)
    with pytest.raises(MemoryNotFound):
        worker.undo(work)
    later = ana.add("Works at noon", theme="work", supersedes=health).id
    assert told(worker, later) == (None, [], None)
    assert told(ana, later) == (None, [health], "replacement")


@pytest.mark.parametrize("bad", [0, -1, 2**63, "1", True, None])
def test_bad_input_is_refused(ana: UserMemory, bad: Any) -> None:
    with pytest.raises(InvalidValue):
        ana.lineage(bad)


# -- an undo works exactly where one is told of --------------------------------------------

texts = st.sampled_from(["Likes tea", "Likes milk", "Likes rum", "Likes ale"])
themes = st.sampled_from(["work", "health"])
nth = st.integers(0, 5)
steps = st.one_of(
    st.tuples(st.just("add"), texts, themes, st.sampled_from([None, "drink"]), st.booleans()),
    st.tuples(st.just("add"), texts, themes, st.just("drink"), st.just(False)),
    *[st.tuples(st.just("supersede"), nth, texts, themes)] * 2,
    st.tuples(st.just("merge"), nth, nth, texts),
    st.tuples(st.just("absorb"), nth, nth),
    *[st.tuples(st.just("undo"), nth)] * 2,
    *(st.tuples(st.just(name), nth) for name in ("archive", "forget", "restore")),
    st.tuples(st.just("purge")),
    st.tuples(st.just("wait")),
)


@dataclass
class Past:
    """A user's memories with a past that is made up."""

    ana: UserMemory
    database: Database
    clock: ManualClock
    ids: list[int] = field(default_factory=list)

    def live(self, step: tuple[Any, ...]) -> None:
        name, *arguments = step
        with contextlib.suppress(RicordoError):  # what is not possible as things stand
            getattr(self, name)(*arguments)
        everything = self.ana.list(status="any", limit=1_000)
        self.ids = sorted({*self.ids, *(item.id for item in everything)})

    def id(self, number: int) -> int:
        return self.ids[-1 - number % len(self.ids)] if self.ids else 1

    def add(self, text: str, theme: str, key: str | None, brief: bool) -> None:
        ends = self.clock() + timedelta(days=1) if brief else None
        self.ana.add(text, theme=theme, key=key, expires_at=ends)

    def supersede(self, number: int, text: str, theme: str) -> None:
        self.ana.add(text, theme=theme, supersedes=self.id(number))

    def merge(self, one: int, other: int, text: str) -> None:
        self.ana.merge([self.id(one), self.id(other)], text)

    def absorb(self, one: int, other: int) -> None:
        scope = self.ana.scope
        with self.database.write(scope.user_id) as writing:
            absorb(writing, scope, self.id(one), [self.id(other)], Event.MERGE, None)

    def undo(self, number: int) -> None:
        self.check_undo(self.ana, self.id(number))

    def archive(self, number: int) -> None:
        self.ana.archive(self.id(number))

    def forget(self, number: int) -> None:
        self.ana.forget(self.id(number))

    def restore(self, number: int) -> None:
        self.ana.restore(self.id(number))

    def purge(self) -> None:
        self.ana.purge(before_time=True)

    def wait(self) -> None:
        self.clock.advance(days=2)

    def check_undo(self, user: UserMemory, item_id: int) -> None:
        try:
            undoable = user.lineage(item_id).undoable
        except MemoryNotFound:
            undoable = None
        try:
            came_back = user.undo(item_id)
        except Occupied:
            assert undoable is not None  # only that another one is in the way now
        except (NothingToUndo, IllegalTransition, MemoryNotFound):
            assert undoable is None
        else:
            assert undoable is not None
            last = self.ana.history(came_back.id)[-1]
            assert last.event is Event.UNDO
            assert ("undone_revision" in last.meta) == (undoable is Undoable.UPDATE)

    def check_lines(self) -> None:
        """What took the place of another says so on either side."""
        lines = {item_id: self.line(item_id) for item_id in self.ids}
        for item_id, line in lines.items():
            if line.successor is not None:
                beyond = lines[line.successor.id].predecessors
                assert item_id in [one.id for one in beyond]
            for former in line.predecessors:
                successor = lines[former.id].successor
                assert successor is not None
                assert successor.id == item_id

    def line(self, item_id: int) -> Lineage:
        try:
            return self.ana.lineage(item_id)
        except MemoryNotFound:
            return Lineage()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def pasts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Past]]:
    url = (
        str(tmp_path_factory.mktemp("lineage") / "ricordo.db")
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_database")
    )
    clock, numbers = ManualClock(), itertools.count()
    with open_memory(
        url, run_jobs=False, upkeep=False, embedder=WordEmbedder(), clock=clock
    ) as memory:
        yield lambda: Past(memory.user(f"lineage-{next(numbers)}"), memory.database, clock)


@settings(
    max_examples=100,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    lived=st.lists(steps, min_size=3, max_size=14),
    categories=st.sampled_from([None, None, "work"]),
    order=st.randoms(use_true_random=False),
)
def test_an_undo_works_exactly_where_one_is_told_of(
    pasts: Callable[[], Past], lived: list[tuple[Any, ...]], categories: str | None, order: Any
) -> None:
    past = pasts()
    for step in lived:
        past.live(step)
    past.check_lines()
    who = past.ana.narrow(categories=categories)
    for item_id in order.sample(past.ids, len(past.ids)):
        past.check_undo(who, item_id)
