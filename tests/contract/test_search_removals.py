"""What was removed leaves nothing behind in the memory of a search, and all else stays there."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ricordo import Conflict, Memory, NotFound, UserMemory
from ricordo.indexing.shelf import Shelf
from ricordo.storage.index_reading import index_position
from ricordo.storage.search_index import ITEMS, TURNS, Indexed
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder

WORDS = ("tea", "garden", "boat", "lemon", "zebra", "violin", "harbour", "snow")
QUERIES = ("tea garden", "zebra", "zebrra lemn", "violin snow boat", "nothing")
# Each text has words that no other has together, so that no two are equally near by chance.
TEXTS = [
    f"{' '.join(pair)} {number}" for number, pair in enumerate(itertools.permutations(WORDS, 2))
]
STEPS = (
    *("add", "add", "many", "edit", "edit", "undo", "archive", "restore", "say"),
    *("forget", "forget", "purge", "purge", "rebuild", "fill", "erase", "compare"),
)
users = itertools.count()
steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 1), st.integers(0, len(TEXTS) - 1)),
    min_size=15,
    max_size=40,
)


def seen(user: UserMemory) -> list[Any]:
    """All that searches tell of a user, with scores as precise as the order of sums allows."""
    found: list[Any] = []
    for query in QUERIES:
        for status in ("active", "any"):
            hits = user.search(query, status=status, limit=50, explain=True)
            found.append({hit.id: pytest.approx(hit.score, abs=5e-6) for hit in hits})
            found.append({hit.id: hit.content_snippet for hit in hits})
            found += [hit.explanation["terms"] for hit in hits.results[:1] if hit.explanation]
        said = user.search_turns(query, limit=50)
        found.append({hit.id: pytest.approx(hit.score, abs=5e-6) for hit in said})
    return found


class World:
    """One user in two open stores, and in a third that keeps nothing from search to search."""

    def __init__(self, stores: list[Memory], clock: ManualClock) -> None:
        self._name = f"user{next(users)}"
        self._stores = stores
        self._clock = clock
        *warm, self._forgetful = [store.user(self._name) for store in stores]
        self._warm = warm

    def do(self, step: str, store: int, number: int) -> None:
        """Do a step in one of the stores, as far as it can be done."""
        user = self._warm[store]
        listed = user.list(status="any", limit=100).items
        one = listed[number % len(listed)].id if listed else 1_000_000
        doing: dict[str, Callable[[], object]] = {
            "add": lambda: user.add(TEXTS[number]),
            "many": lambda: user.add_many(TEXTS[number : number + 12]),
            "edit": lambda: user.add(TEXTS[number], key=f"k{number % 3}"),
            "undo": lambda: user.undo(one),
            "archive": lambda: user.archive(one),
            "restore": lambda: user.restore(one),
            "forget": lambda: user.forget(one),
            "purge": lambda: user.purge(before_time=True),
            "rebuild": lambda: user.rebuild_embeddings(confirm=True),
            "fill": user.fill_embeddings,
            "say": lambda: user.observe([{"role": "user", "content": TEXTS[number]}], thread="t"),
            "erase": lambda: self._erase(store),
            "compare": self.compare,
        }
        with contextlib.suppress(NotFound, Conflict):  # nothing is there that it could be done with
            doing[step]()

    def compare(self) -> None:
        """Both stores say what one says that has just read all of it."""
        self._stores[2].recall.shelves.forget(self._name)
        expected = seen(self._forgetful)
        for user in self._warm:
            assert seen(user) == expected

    def _erase(self, store: int) -> None:
        self._clock.advance(seconds=1)
        self._stores[store].erase_user(self._name)


@pytest.fixture
def stores(backend_url: str, open_store: Callable[..., Memory]) -> list[Memory]:
    return [open_store(backend_url, embedder=WordEmbedder(384), global_until=0) for _ in range(3)]


@pytest.mark.requirement("recall.cache")
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(played=steps)
def test_a_warm_store_answers_like_one_just_opened(
    stores: list[Memory], clock: ManualClock, played: list[tuple[str, int, int]]
) -> None:
    world = World(stores, clock)
    for step in played:
        world.do(*step)
    world.compare()


def shelf_of(memory: Memory, kind: Indexed) -> Shelf:
    """The shelf of ana as the next search gets it."""
    with memory.database.read_all() as view:
        model = memory.recall.embedders.chosen(view.connection, "ana").model
        with memory.recall.shelves.borrow(view.connection, kind, "ana", model) as shelf:
            assert shelf is not None
            return shelf


@pytest.mark.requirement("recall.cache")
def test_a_shelf_is_kept_when_memories_go(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ids = [one.id for one in ana.add_many([f"Tea number {n}" for n in range(40)])]
    ana.observe([{"role": "user", "content": "I like tea"}], thread="t")
    memories, said = shelf_of(here, ITEMS), shelf_of(here, TURNS)
    for gone in ids[:10]:
        other.forget(gone)
    other.purge(before_time=True)
    other.add("Tea of today")
    assert shelf_of(here, ITEMS) is memories
    assert shelf_of(here, TURNS) is said
    assert (memories.size, memories.rows) == (31, 41)
    assert set(memories.row_of) == {*ids[10:], ana.search("today")[0].id}


@pytest.mark.requirement("recall.cache")
@pytest.mark.parametrize("change", ["rebuild", "erase", "most are purged"])
def test_a_shelf_is_made_anew_where_it_has_to_be(
    stores: list[Memory], clock: ManualClock, change: str
) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ids = [one.id for one in ana.add_many([f"Tea number {n}" for n in range(120)])]
    before = shelf_of(here, ITEMS)
    if change == "rebuild":
        other.rebuild_embeddings(confirm=True)
    elif change == "erase":
        clock.advance(seconds=1)
        there.erase_user("ana")
    else:
        for gone in ids[:100]:
            other.forget(gone)
        other.purge(before_time=True)
    after = shelf_of(here, ITEMS)
    assert after is not before
    assert after.rows == after.size == {"rebuild": 120, "erase": 0}.get(change, 20)


@pytest.mark.requirement("recall.cache")
def test_no_word_and_no_vector_of_what_was_purged_stays(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ana.add_many([f"Tea number {n}" for n in range(20)])
    secret = ana.add("Zebra keeps tea").id
    shelf = shelf_of(here, ITEMS)
    place = shelf.row_of[secret]
    query = WordEmbedder(384).embed(["Zebra keeps tea"])[0]
    cosines = shelf.cosines(query)
    assert cosines is not None
    assert cosines[place] == pytest.approx(1)
    assert "zebra" in shelf.vocabulary
    taken = shelf.nbytes
    other.forget(secret)
    other.purge(before_time=True)
    hits = ana.search("zebrra tea", status="any", explain=True, limit=50)
    assert shelf_of(here, ITEMS) is shelf
    assert len(hits) == 20
    assert all("zebra" not in (hit.explanation or {})["terms"] for hit in hits)
    assert "zebra" not in shelf.vocabulary
    assert (shelf.frequency("zebra"), shelf.frequency("tea")) == (0, 20)
    cosines = shelf.cosines(query)
    assert cosines is not None
    assert cosines[place] == 0
    assert shelf.nbytes < taken


@pytest.mark.requirement("recall.cache")
def test_a_shelf_that_is_ahead_serves_an_older_view(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ids = [one.id for one in ana.add_many([f"Tea number {n}" for n in range(10)])]
    shelf = shelf_of(here, ITEMS)
    other.forget(ids[0])
    with here.database.read_all() as older:
        model = here.recall.embedders.chosen(older.connection, "ana").model
        position = index_position(older.connection, "ana")
        other.purge(before_time=True)
        added = other.add("Tea of today").id
        assert shelf_of(here, ITEMS).row_of.keys() == {*ids[1:], added}
        assert index_position(older.connection, "ana") == position
        with here.recall.shelves.borrow(older.connection, ITEMS, "ana", model) as borrowed:
            assert borrowed is shelf
    assert {hit.id for hit in ana.search("tea", status="any", limit=50)} == {*ids[1:], added}


@pytest.mark.requirement("recall.cache")
def test_searching_while_another_store_removes(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    kept = {one.id for one in ana.add_many([f"Tea that stays {n}" for n in range(15)])}
    added: list[int] = []
    purged: list[int] = []
    problems: list[BaseException] = []

    def write() -> None:
        try:
            for number in range(25):
                one = other.add(f"Tea that goes {number}").id
                added.append(one)
                other.forget(one)
                other.purge(before_time=True)
                purged.append(one)
        except BaseException as problem:
            problems.append(problem)
            raise

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        gone = set(purged)
        found = {hit.id for hit in ana.search("tea goes", status="any", limit=50)}
        assert kept <= found
        assert not found & gone
        assert found <= kept | set(added) | {max(added, default=0) + 1}
    writer.join()
    assert not problems
    assert {hit.id for hit in ana.search("tea goes", status="any", limit=50)} == kept


@pytest.mark.requirement("recall.cache")
def test_a_user_who_is_brought_back_is_not_taken_for_the_former_one(
    stores: list[Memory], clock: ManualClock, tmp_path: Any
) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    other.add("Tea of old")
    other.export(tmp_path / "ana.jsonl")
    other.add_many([f"Boat {n}" for n in range(5)])
    for number in range(5):
        other.add(f"Garden {number}")
    assert len(ana.search("tea boat garden", limit=50)) == 11
    clock.advance(seconds=1)
    there.erase_user("ana")
    other.import_file(tmp_path / "ana.jsonl")
    added = other.add("Tea of today").id
    assert len(ana.search("tea boat", status="any", limit=50)) == 2
    assert ana.search("today")[0].id == added


terms = st.sampled_from(WORDS)
rows = st.dictionaries(st.integers(1, 30), st.lists(terms, max_size=6).map(" ".join), min_size=1)


@pytest.mark.requirement("recall.cache")
@given(rows, st.data())
def test_letting_go_leaves_a_shelf_as_if_they_had_never_been_there(
    given_rows: dict[int, str], data: st.DataObject
) -> None:
    vectors: Iterator[Any] = iter(WordEmbedder(8).embed([f"a {one}" for one in given_rows]))
    embedded = {row_id: next(vectors) for row_id in given_rows}
    shelf, fresh = Shelf(), Shelf()
    for row_id, words in given_rows.items():
        if data.draw(st.booleans()):
            shelf.put(row_id, f"former {words}", None)
        shelf.put(row_id, words, embedded[row_id])
    gone = data.draw(st.sets(st.sampled_from(sorted(given_rows))))
    shelf.let_go(gone)
    for row_id in given_rows.keys() - gone:
        fresh.put(row_id, given_rows[row_id], embedded[row_id])
    assert set(shelf.vocabulary) == set(fresh.vocabulary)
    assert shelf.row_of.keys() == fresh.row_of.keys()
    weights = dict.fromkeys(WORDS, 1.0)
    query = WordEmbedder(8).embed(["tea"])[0]
    for score in (Shelf.lexical, Shelf.coverage):
        assert _by_id(shelf, score(shelf, weights)) == _by_id(fresh, score(fresh, weights))
    assert all(shelf.frequency(term) == fresh.frequency(term) for term in WORDS)
    if fresh.size:
        near, expected = shelf.cosines(query), fresh.cosines(query)
        assert _by_id(shelf, near) == pytest.approx(_by_id(fresh, expected), abs=1e-6)
        assert np.array_equal(shelf.with_vector, shelf.alive)


def _by_id(shelf: Shelf, scores: Any) -> dict[int, float]:
    return {row_id: float(scores[row]) for row_id, row in shelf.row_of.items()}
