"""Relations as time goes on: pruned when a memory is put aside, made where they are missing."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from ricordo.index.relations import Nearest
from ricordo.limits import MAX_RELATED_PER_ROUND
from ricordo.providers.embedder import Vectors
from ricordo.storage.tables import relations
from ricordo.storage.users import upkeep_state
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.upkeep.relations import prune_relations, refresh_relations
from tests.support.soundness import problems_of
from tests.upkeep.conftest import Stopped, quietly, stopping

pytestmark = pytest.mark.requirement("upkeep.relations")

CHAIRS = "red garden chairs for"
Edge = tuple[int, int]
_numbers = itertools.count()


def edges(memory: Memory, user_id: str = "ana") -> set[Edge]:
    with memory.database.read_all() as view:
        wanted = sa.select(relations.c.low_id, relations.c.high_id)
        found = view.connection.execute(wanted.where(relations.c.user_id == user_id))
        return {(row[0], row[1]) for row in found}


def forget_edges(memory: Memory) -> None:
    """As if a bulk had been too large to be related."""
    with memory.database.transaction() as connection:
        connection.execute(sa.delete(relations))


def prune(memory: Memory, user_id: str = "ana", report: Callable[[str], None] = quietly) -> int:
    return prune_relations(memory.database, memory.recall.relating.link_min, user_id, report)


def refresh(memory: Memory, user_id: str = "ana", report: Callable[[str], None] = quietly) -> int:
    return refresh_relations(memory.database, memory.recall, user_id, report)


def related_after(memory: Memory, user_id: str = "ana") -> int:
    with memory.database.read_all() as view:
        return upkeep_state(view.connection, user_id).related_after


def chairs(user: UserMemory, *names: str) -> list[int]:
    return [user.add(f"{CHAIRS} {name}").id for name in names]


def pair(one: int, other: int) -> Edge:
    return min(one, other), max(one, other)


@pytest.mark.both_databases
def test_what_is_put_aside_or_no_longer_similar_loses_its_relations(
    memory: Memory, clock: ManualClock
) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    kept = chairs(ana, "summer", "winter")
    gone = chairs(ana, "one", "two", "three")
    gone.append(ana.add(f"{CHAIRS} today", expires_at="2026-01-02T00:00:00+00:00").id)
    others = chairs(ben, "one", "two")
    before = edges(memory)
    assert (prune(memory), edges(memory)) == (0, before)
    ana.archive(gone[0])
    ana.forget(gone[1])
    ana.add("works at a bank in the old town", supersedes=gone[2])
    clock.advance(days=2)
    doomed = {edge for edge in before if set(edge) & set(gone)}
    assert {item_id for edge in doomed for item_id in edge} >= set(gone)
    assert prune(memory) == len(doomed)
    assert edges(memory) == before - doomed == {pair(*kept)}
    assert edges(memory, "ben") == {pair(*others)}
    assert prune(memory) == 0
    assert prune_relations(memory.database, 0.999, "ana", quietly) == 1
    assert edges(memory) == set()
    assert prune_relations(memory.database, 0.999, "nobody", quietly) == 0
    assert problems_of(memory) == []


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


def test_a_bulk_that_was_too_large_gets_its_relations(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    """A store that keeps no index in memory does not relate a large bulk at once."""
    embedder = WordEmbedder()
    memory = open_store(backend_url, embedder=embedder, index_cache_mb=0)
    ana = memory.user("ana")
    words = [
        f"{letter}{letter}{letter} {letter}x {letter}y" for letter in "abcdefghijklmnopqrstuvwxyz"
    ]
    old = [ana.add(f"{word} before").id for word in words]
    new = [one.id for one in ana.add_many([f"{word} after" for word in words])]
    expected = {pair(*both) for both in zip(old, new, strict=True)}
    lacking = expected - edges(memory)
    assert lacking
    embedded, revision = embedder.texts, ana.revision()
    assert refresh(memory) == len(lacking)
    assert (embedder.texts, ana.revision()) == (embedded, revision)  # nothing is embedded again
    assert edges(memory) == expected
    assert (refresh(memory), edges(memory)) == (0, expected)
    assert [one.id for one in ana.related(new[-1])] == [old[-1]]


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


def test_cosines_that_differ_only_in_their_last_digits_are_equally_near() -> None:
    block = np.array([[0.6000002], [0.6000003], [0.5999997], [0.5999990]], np.float32)
    one = np.ones((1, 1), np.float32)
    rounded = Nearest([9], one, count=3, least=0.6, digits=6)
    exact = Nearest([9], one, count=3, least=0.6)
    for nearest in (rounded, exact):
        for row in range(4):
            nearest.show([row], block[row : row + 1])
    assert rounded.found() == {9: [(0, 0.6), (1, 0.6), (2, 0.6)]}
    assert [row for row, _ in exact.found()[9]] == [1, 0]


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
    monkeypatch.setattr("ricordo.storage.items.VECTOR_PAGE_ROWS", 4)
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


PER_MEMORY = 2
LINK_MIN = 0.7


class Compass(WordEmbedder):
    """Texts are angles in degrees: what is near is known without a model."""

    def __init__(self) -> None:
        super().__init__(2)

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        angles = np.radians([float(text.rsplit(maxsplit=1)[-1]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


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


@pytest.fixture
def compass(backend_url: str, open_store: Callable[..., Memory]) -> Memory:
    """A store of angles."""
    chosen = {"relations_per_memory": PER_MEMORY, "link_min": LINK_MIN}
    return open_store(backend_url, embedder=Compass(), **chosen)


@pytest.mark.slow
@given(steps=_steps)
def test_after_any_history_everything_is_related_as_the_rule_says(
    compass: Memory, monkeypatch: pytest.MonkeyPatch, steps: Sequence[tuple[str, int, int]]
) -> None:
    monkeypatch.setattr("ricordo.upkeep.relations._STEP_MEMORIES", 5)
    monkeypatch.setattr("ricordo.storage.items.VECTOR_PAGE_ROWS", 3)
    user_id = f"user-{next(_numbers)}"
    me = compass.user(user_id)
    live(me, steps)
    at_write = edges(compass, user_id)
    prune(compass, user_id)
    left = edges(compass, user_id)
    assert left <= at_write
    refresh(compass, user_id)
    found = edges(compass, user_id)
    check_edges(me, found, made=found - left)
    assert (prune(compass, user_id), refresh(compass, user_id)) == (0, 0)
    assert edges(compass, user_id) == found


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
