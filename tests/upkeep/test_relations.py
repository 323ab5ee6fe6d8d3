"""Relations as time goes on: pruned when a memory is put aside, made where they are missing."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from ricordo.embedding.contract import Vectors
from ricordo.limits import MAX_RELATED_PER_ROUND
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.index_tables import relations
from ricordo.storage.relations import add_relations
from ricordo.storage.upkeep import upkeep_state
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from ricordo.upkeep.relations import prune_relations, refresh_relations

CHAIRS = "red garden chairs for"
Edge = tuple[int, int]
_numbers = itertools.count()


class Stopped(Exception):
    """Raised by a report that ends the work."""


def silently(_done: str) -> None:
    pass


def stopping(after: int) -> Callable[[str], None]:
    """A report that ends the work when it is told for the so-manieth time."""
    told = itertools.count(1)

    def report(_done: str) -> None:
        if next(told) >= after:
            raise Stopped

    return report


def edges(memory: Memory, user_id: str = "ana") -> set[Edge]:
    with memory.database.read_all() as view:
        wanted = sa.select(relations.c.low_id, relations.c.high_id)
        found = view.connection.execute(wanted.where(relations.c.user_id == user_id))
        return {(row[0], row[1]) for row in found}


def forget_edges(memory: Memory) -> None:
    """As if a bulk had been too large to be related."""
    with memory.database.transaction() as connection:
        connection.execute(sa.delete(relations))


def prune(memory: Memory, user_id: str = "ana", report: Callable[[str], None] = silently) -> int:
    return prune_relations(memory.database, memory.recall.relating.link_min, user_id, report)


def refresh(memory: Memory, user_id: str = "ana", report: Callable[[str], None] = silently) -> int:
    return refresh_relations(memory.database, memory.recall, user_id, report)


def related_after(memory: Memory, user_id: str = "ana") -> int:
    with memory.database.read_all() as view:
        return upkeep_state(view.connection, user_id).related_after


def chairs(user: UserMemory, *names: str) -> list[int]:
    return [user.add(f"{CHAIRS} {name}").id for name in names]


def pair(one: int, other: int) -> Edge:
    return min(one, other), max(one, other)


# -- pruning --------------------------------------------------------------------------------------


@pytest.mark.requirement("upkeep.relations")
def test_what_is_put_aside_loses_its_relations_and_the_others_keep_theirs(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    kept = chairs(ana, "summer", "winter")
    gone = chairs(ana, "one", "two", "three")
    others = chairs(ben, "one", "two")
    before = edges(memory)
    assert prune(memory) == 0
    assert edges(memory) == before
    ana.archive(gone[0])
    ana.forget(gone[1])
    new = ana.add("works at a bank in the old town", supersedes=gone[2]).id
    doomed = {edge for edge in before if set(edge) & set(gone)}
    assert doomed
    assert prune(memory) == len(doomed)
    assert edges(memory) == before - doomed == {pair(*kept)}
    assert not any(new in edge for edge in edges(memory))
    assert edges(memory, "ben") == {pair(*others)}
    assert prune(memory) == 0


@pytest.mark.requirement("upkeep.relations")
def test_what_has_expired_or_is_not_similar_enough_any_more_loses_its_relations(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    memory = open_store(backend_url)
    ana = memory.user("ana")
    summer, winter = chairs(ana, "summer", "winter")
    brief = ana.add(f"{CHAIRS} today", expires_at="2026-01-02T00:00:00+00:00").id
    assert any(brief in edge for edge in edges(memory))
    clock.advance(days=2)
    assert prune(memory) > 0
    assert edges(memory) == {(summer, winter)}
    assert prune_relations(memory.database, 0.999, "ana", silently) == 1
    assert edges(memory) == set()
    assert prune_relations(memory.database, 0.999, "nobody", silently) == 0
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@pytest.mark.requirement("upkeep.bounded")
def test_pruning_works_in_small_steps_and_can_stop_after_each(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.TRIM_BATCH_ROWS", 2)
    ana = memory.user("ana")
    kept = chairs(ana, "summer", "winter", "spring")
    gone = chairs(ana, "one", "two", "three", "four")
    expected = {edge for edge in edges(memory) if not set(edge) & set(gone)}
    for item_id in gone:
        ana.archive(item_id)
    steps = 0
    while True:
        before = edges(memory)
        try:
            prune(memory, report=stopping(steps + 1))
        except Stopped:
            assert len(before - edges(memory)) <= 2 * (steps + 1)
            steps += 1
        else:
            break
    assert steps > 2
    assert edges(memory) == expected
    assert all(set(edge) <= set(kept) for edge in expected)


# -- refreshing -----------------------------------------------------------------------------------


@pytest.fixture
def searching_inside(backend_url: str, open_store: Callable[..., Memory]) -> Memory:
    """A store that keeps no index in memory, where a large bulk is not related at once."""
    return open_store(backend_url, index_cache_mb=0)


@pytest.mark.requirement("upkeep.relations")
def test_a_bulk_that_was_too_large_gets_its_relations(searching_inside: Memory) -> None:
    memory = searching_inside
    ana = memory.user("ana")
    words = [
        f"{letter}{letter}{letter} {letter}x {letter}y" for letter in "abcdefghijklmnopqrstuvwxyz"
    ]
    old = [ana.add(f"{word} before").id for word in words]
    new = [one.id for one in ana.add_many([f"{word} after" for word in words])]
    expected = {pair(*both) for both in zip(old, new, strict=True)}
    lacking = expected - edges(memory)
    assert lacking
    assert refresh(memory) == len(lacking)
    assert edges(memory) == expected
    assert (refresh(memory), edges(memory)) == (0, expected)
    assert [one.id for one in ana.related(new[-1])] == [old[-1]]


@pytest.mark.requirement("upkeep.relations")
def test_what_is_restored_or_undone_gets_its_relations_back(memory: Memory) -> None:
    ana = memory.user("ana")
    first, second, third, fourth = chairs(ana, "one", "two", "three", "four")
    before = edges(memory)
    ana.archive(first)
    ana.forget(second)
    ana.add("works at a bank in the old town", supersedes=third)
    prune(memory)
    assert edges(memory) == set()
    assert refresh(memory) == 0
    ana.restore(first)
    ana.restore(second)
    assert refresh(memory) == 3
    assert edges(memory) == {pair(first, second), pair(first, fourth), pair(second, fourth)}
    ana.undo(third)
    prune(memory)
    refresh(memory)
    assert edges(memory) == before


@pytest.mark.requirement("upkeep.relations")
def test_nothing_is_embedded_again_and_nobody_elses_memories_count(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = WordEmbedder()
    memory = open_store(backend_url, embedder=embedder)
    ana = memory.user("ana")
    mine = chairs(ana, "summer", "winter")
    chairs(memory.user("ben"), "summer", "winter")
    forget_edges(memory)
    revision = ana.revision()
    embedded = embedder.texts
    assert refresh(memory) == 1
    assert embedder.texts == embedded
    assert edges(memory) == {pair(*mine)}
    assert edges(memory, "ben") == set()
    assert ana.revision() == revision


@pytest.mark.requirement("upkeep.relations")
def test_a_memory_without_a_vector_of_the_present_model_is_left_out(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    chairs(open_store(backend_url, embedder=WordEmbedder(32)).user("ana"), "one", "two", "three")
    memory = open_store(backend_url)
    new = chairs(memory.user("ana"), "summer", "winter")
    forget_edges(memory)
    assert refresh(memory) == 1
    assert edges(memory) == {pair(*new)}
    lexical = open_store(backend_url, embedder=None, embedding_provider="none")
    forget_edges(memory)
    assert refresh(lexical) == 0
    assert refresh(open_store(backend_url, relations_per_memory=0)) == 0
    assert edges(memory) == set()


@pytest.mark.requirement("upkeep.relations")
def test_vectors_of_each_width_are_compared_with_their_like(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    narrow, wide = WordEmbedder(32), WordEmbedder(64)
    narrow.model = wide.model
    old = chairs(open_store(backend_url, embedder=narrow).user("ana"), "one", "two")
    memory = open_store(backend_url, embedder=wide)
    new = chairs(memory.user("ana"), "one more", "two more")
    forget_edges(memory)
    assert refresh(memory) == 2
    assert edges(memory) == {pair(*old), pair(*new)}


@pytest.mark.requirement("upkeep.relations")
def test_relations_with_what_was_put_aside_do_not_count(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, relations_per_memory=1)
    ana = memory.user("ana")
    first, second, archived = chairs(ana, "one", "two", "three")
    forget_edges(memory)
    with memory.database.write("ana") as writing:
        add_relations(writing, [(first, archived, 0.9), (second, archived, 0.9)])
    ana.archive(archived)
    assert refresh(memory) == 1
    assert pair(first, second) in edges(memory)


@pytest.mark.requirement("upkeep.relations")
@pytest.mark.requirement("upkeep.bounded")
def test_a_round_is_bounded_and_the_walk_goes_round(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_RELATED_PER_ROUND > 4
    monkeypatch.setattr("ricordo.limits.MAX_RELATED_PER_ROUND", 4)
    ana = memory.user("ana")
    ids = chairs(ana, *"abcdefghij")
    forget_edges(memory)
    places = []
    for _ in range(3):
        before = edges(memory)
        refresh(memory)
        places.append(related_after(memory))
        walked = ids[4 * len(places) - 4 : 4 * len(places)]
        assert all(set(edge) & set(walked) for edge in edges(memory) - before)
    assert places == [ids[3], ids[7], 0]
    ana.archive(ids[0])
    prune(memory)
    for _ in range(3):
        refresh(memory)
    assert related_after(memory) == 0
    ana.restore(ids[0])
    assert refresh(memory) > 0  # the walk has begun anew
    assert any(ids[0] in edge for edge in edges(memory))


@pytest.mark.requirement("upkeep.bounded")
def test_a_refresh_that_is_stopped_at_any_step_ends_like_one_that_is_not(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.upkeep.relations._STEP_MEMORIES", 3)
    monkeypatch.setattr("ricordo.storage.comparables.VECTOR_PAGE_ROWS", 4)
    ana = memory.user("ana")
    ids = chairs(ana, *"abcdefghijklm")
    forget_edges(memory)
    made = refresh(memory)
    undisturbed = edges(memory)
    assert made == len(undisturbed)
    forget_edges(memory)
    stops = 0
    while True:
        try:
            refresh(memory, report=stopping(1))
        except Stopped:
            stops += 1
            assert related_after(memory) == ids[3 * stops - 1]
        else:
            break
    assert stops == len(ids) // 3
    assert edges(memory) == undisturbed
    assert related_after(memory) == 0


class Interrupting:
    """A report that does something in the middle of the work, once."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do: Callable[[], object] | None = do

    def __call__(self, _done: str) -> None:
        if self._do is not None:
            do, self._do = self._do, None
            do()


@pytest.mark.requirement("upkeep.relations")
def test_two_at_once_and_a_user_erased_in_between_do_no_harm(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.upkeep.relations._STEP_MEMORIES", 3)
    ana = memory.user("ana")
    chairs(ana, *"abcdefgh")
    forget_edges(memory)
    refresh(memory)
    expected = edges(memory)
    forget_edges(memory)
    refresh(memory, report=Interrupting(lambda: refresh(memory)))
    refresh(memory)
    assert edges(memory) == expected
    forget_edges(memory)
    refresh(memory, report=Interrupting(lambda: memory.erase_user("ana")))
    prune(memory)
    assert (edges(memory), related_after(memory)) == (set(), 0)
    assert "ana" not in list(memory.users())


@contextlib.contextmanager
def after_the_first_look(do: Callable[[], object]) -> Iterator[None]:
    """Do something once the memories have been looked at, before what is found is written."""
    pending = [do]

    def looked(*given: Any) -> None:
        if pending and "JOIN item_index" in given[2]:
            pending.pop()()

    sa.event.listen(sa.Engine, "after_cursor_execute", looked)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", looked)
    assert not pending


@pytest.mark.requirement("upkeep.relations")
def test_what_changes_while_it_is_compared_is_not_related_by_what_it_was(memory: Memory) -> None:
    ana = memory.user("ana")
    changed = ana.add(f"{CHAIRS} summer", key="k").id
    archived, kept, other = chairs(ana, "winter", "spring", "autumn")
    forget_edges(memory)

    def change() -> None:
        ana.add("works at a bank in the old town", key="k")
        ana.archive(archived)

    with after_the_first_look(change):
        refresh(memory)
    assert edges(memory) == {pair(kept, other)}
    assert not any(changed in edge for edge in edges(memory))


# -- any history ----------------------------------------------------------------------------------

PER_MEMORY = 2
LINK_MIN = 0.7


class Compass(WordEmbedder):
    """Texts are angles in degrees: what is near is known without a model."""

    def __init__(self) -> None:
        super().__init__(2)

    def _vector(self, text: str) -> Vectors:
        angle = np.radians(float(text.rsplit(maxsplit=1)[-1]))
        return np.array([np.cos(angle), np.sin(angle)], np.float32)


@pytest.fixture(params=[("sqlite", 40), ("postgresql", 8)], ids=lambda one: str(one[0]))
def compass(
    request: pytest.FixtureRequest, open_store: Callable[..., Memory]
) -> Iterator[tuple[Memory, int]]:
    """A store of angles, and how many histories to try on it."""
    backend, examples = request.param
    url = request.getfixturevalue("sqlite_url" if backend == "sqlite" else "postgres_url")
    chosen = {"relations_per_memory": PER_MEMORY, "link_min": LINK_MIN}
    yield open_store(url, embedder=Compass(), **chosen), examples


_steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "bulk", "archive", "forget", "restore", "change"]),
        st.integers(0, 359),
        st.integers(0, 30),
    ),
    min_size=3,
    max_size=25,
)


def live(me: UserMemory, steps: Sequence[tuple[str, int, int]]) -> None:
    """Do as told, with the memories counted from the first."""
    made: list[int] = []
    for number, (what, angle, place) in enumerate(steps):
        if what == "add":
            made.append(me.add(f"{number} at {angle}", key=f"k{number}").id)
        elif what == "bulk":
            texts = [f"{number} and {more} at {angle + more}" for more in range(4)]
            made += [one.id for one in me.add_many(texts)]
        elif made:
            item = me.get(made[place % len(made)], include_deleted=True)
            if what == "restore" and item.status in ("archived", "deleted"):
                me.restore(item.id)
            elif what == "change" and item.status == "active" and item.key is not None:
                me.add(f"{number} at {angle}", key=item.key)
            elif what == "archive" and item.status == "active":
                me.archive(item.id)
            elif what == "forget" and item.status == "active":
                me.forget(item.id)


@pytest.mark.requirement("upkeep.relations")
def test_after_any_history_everything_is_related_as_the_rule_says(
    compass: tuple[Memory, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, examples = compass
    monkeypatch.setattr("ricordo.upkeep.relations._STEP_MEMORIES", 5)
    monkeypatch.setattr("ricordo.storage.comparables.VECTOR_PAGE_ROWS", 3)

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=True,
        database=None,
    )
    @given(_steps)
    def check(steps: Sequence[tuple[str, int, int]]) -> None:
        user_id = f"user-{next(_numbers)}"
        me = memory.user(user_id)
        live(me, steps)
        at_write = edges(memory, user_id)
        prune(memory, user_id)
        left = edges(memory, user_id)
        assert left <= at_write
        refresh(memory, user_id)
        found = edges(memory, user_id)
        check_edges(me, found, made=found - left)
        assert (prune(memory, user_id), refresh(memory, user_id)) == (0, 0)
        assert edges(memory, user_id) == found

    check()


def check_edges(me: UserMemory, found: set[Edge], made: set[Edge]) -> None:
    """Only what is active and near, for each as many as it may have, the new ones the nearest."""
    angle = {item.id: float(item.content.rsplit(maxsplit=1)[-1]) for item in me.list(limit=1000)}

    def cosine(one: int, other: int) -> float:
        return float(np.cos(np.radians(angle[one] - angle[other])))

    near = {
        one: sorted(
            (other for other in angle if other != one and cosine(one, other) >= LINK_MIN),
            key=lambda other: (-round(cosine(one, other), 6), other),
        )
        for one in angle
    }
    for one, other in found:
        assert other in near[one]
        assert one in near[other]
    for one in angle:
        assert sum(one in edge for edge in found) >= min(PER_MEMORY, len(near[one]))
    for one, other in made:
        last_of_one = near[one][:PER_MEMORY][-1]
        last_of_other = near[other][:PER_MEMORY][-1]
        reach = min(cosine(one, last_of_one), cosine(other, last_of_other))
        assert cosine(one, other) >= reach - 1e-5
