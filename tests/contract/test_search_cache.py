"""What search keeps in memory is never older than the store, never too much, and lets go."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from ricordo import Memory, UserMemory
from ricordo.index.cache import IndexCache
from ricordo.index.user_index import UserIndex
from ricordo.storage.search_rows import index_position
from ricordo.storage.tables import ITEMS, TURNS, Indexed
from ricordo.testing import ManualClock, WordEmbedder
from tests.support.searching import ENGINES, Searching
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.requirement("recall.cache")


def test_the_least_recently_used_are_dropped(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, embedder=WordEmbedder(384), global_until=0)
    for name in ("ana", "ben", "cleo"):
        memory.user(name).add_many([f"Tea of {name} number {number}" for number in range(60)])
    indexes = IndexCache(max_bytes=150_000)  # enough for two of them
    model = memory.recall.embedders.chosen
    with memory.database.read_all() as view:
        made_by = model(view.connection, "ana").model
        kept = {}
        for name in ("ana", "ben", "ana", "cleo", "ana", "ben"):
            with indexes.borrow(view, ITEMS, name, made_by) as user_index:
                assert user_index is not None
                assert user_index.size == 60
                kept.setdefault(name, []).append(user_index)
                assert indexes.nbytes <= 150_000
    assert kept["ana"][0] is kept["ana"][1] is kept["ana"][2]
    assert kept["ben"][0] is not kept["ben"][1]
    indexes.forget("ana")
    indexes.forget("ben")
    assert indexes.nbytes == 0


def test_an_index_that_outgrows_the_cache_leaves_it(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, index_cache_mb=1, global_until=0)
    ana = memory.user("ana")
    ana.add("Tea 0")
    assert len(ana.search("tea")) == 1
    assert memory.recall.indexes.nbytes > 0
    ana.add_many([f"Tea {number} and more" for number in range(1, 800)])
    assert len(ana.search("tea", limit=50)) == 50
    assert memory.recall.indexes.nbytes == 0
    without = open_store(backend_url, index_cache_mb=0)
    without.user("ben").search("tea")  # nothing is indexed yet
    without.user("ben").observe([{"role": "user", "content": "Hello"}], thread="t")
    assert len(without.user("ben").search_turns("hello")) == 1
    assert len(without.user("ana").search("tea", limit=50)) == 50
    assert without.recall.indexes.nbytes == 0


# Each text has words that no other has together, so that no two are equally near by chance.


@pytest.fixture
def stores(backend_url: str, open_store: Callable[..., Memory]) -> list[Memory]:
    return [open_store(backend_url, embedder=WordEmbedder(384), global_until=0) for _ in range(3)]


def index_of(memory: Memory, kind: Indexed) -> UserIndex:
    """The user_index of ana as the next search gets it."""
    with memory.database.read_all() as view:
        model = memory.recall.embedders.chosen(view.connection, "ana").model
        with memory.recall.indexes.borrow(view, kind, "ana", model) as user_index:
            assert user_index is not None
            return user_index


def test_an_index_is_kept_when_memories_go(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ids = [one.id for one in ana.add_many([f"Tea number {n}" for n in range(40)])]
    ana.observe([{"role": "user", "content": "I like tea"}], thread="t")
    memories, said = index_of(here, ITEMS), index_of(here, TURNS)
    for gone in ids[:10]:
        other.forget(gone)
    other.purge(before_time=True)
    other.add("Tea of today")
    assert index_of(here, ITEMS) is memories
    assert index_of(here, TURNS) is said
    assert (memories.size, memories.rows) == (31, 41)
    assert set(memories.row_of) == {*ids[10:], ana.search("today")[0].id}


@pytest.mark.parametrize(
    "change", ["rebuild", "erase", pytest.param("most are purged", marks=pytest.mark.slow)]
)
def test_an_index_is_rebuilt_where_it_has_to_be(
    stores: list[Memory], clock: ManualClock, change: str
) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ids = [one.id for one in ana.add_many([f"Tea number {n}" for n in range(120)])]
    before = index_of(here, ITEMS)
    if change == "rebuild":
        other.rebuild_embeddings(confirm=True)
    elif change == "erase":
        clock.advance(seconds=1)
        there.erase_user("ana")
    else:
        for gone in ids[:100]:
            other.forget(gone)
        other.purge(before_time=True)
    after = index_of(here, ITEMS)
    assert after is not before
    assert after.rows == after.size == {"rebuild": 120, "erase": 0}.get(change, 20)


def test_no_word_and_no_vector_of_what_was_purged_stays(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ana.add_many([f"Tea number {n}" for n in range(20)])
    secret = ana.add("Zebra keeps tea").id
    user_index = index_of(here, ITEMS)
    place = user_index.row_of[secret]
    query = WordEmbedder(384).embed(["Zebra keeps tea"])[0]
    cosines = user_index.cosines(query)
    assert cosines is not None
    assert cosines[place] == pytest.approx(1)
    assert user_index.similar_terms("zebra", 1, 1.0) == [("zebra", 1.0)]
    taken = user_index.nbytes
    other.forget(secret)
    other.purge(before_time=True)
    hits = ana.search("zebrra tea", status="any", explain=True, limit=50)
    assert index_of(here, ITEMS) is user_index
    assert len(hits) == 20
    assert all("zebra" not in (hit.explanation or {})["terms"] for hit in hits)
    assert user_index.similar_terms("zebra", 1, 1.0) == []
    assert (user_index.frequency("zebra"), user_index.frequency("tea")) == (0, 20)
    cosines = user_index.cosines(query)
    assert cosines is not None
    assert cosines[place] == 0
    assert user_index.nbytes < taken


def test_an_index_that_is_ahead_serves_an_older_view(stores: list[Memory]) -> None:
    here, there, _ = stores
    ana, other = here.user("ana"), there.user("ana")
    ids = [one.id for one in ana.add_many([f"Tea number {n}" for n in range(10)])]
    user_index = index_of(here, ITEMS)
    other.forget(ids[0])
    with here.database.read_all() as older:
        model = here.recall.embedders.chosen(older.connection, "ana").model
        position = index_position(older.connection, "ana")
        other.purge(before_time=True)
        added = other.add("Tea of today").id
        assert index_of(here, ITEMS).row_of.keys() == {*ids[1:], added}
        assert index_position(older.connection, "ana") == position
        with here.recall.indexes.borrow(older, ITEMS, "ana", model) as borrowed:
            assert borrowed is user_index
    assert {hit.id for hit in ana.search("tea", status="any", limit=50)} == {*ids[1:], added}


@pytest.mark.slow
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


OTHER_PROCESS = """
import sys
from ricordo.testing import WordEmbedder
from ricordo.wiring import open_memory

with open_memory(sys.argv[1], run_jobs=False, embedder=WordEmbedder(384)) as memory:
    ana = memory.user("ana")
    for line in sys.stdin:
        exec(line)
        print("done", flush=True)
"""


def contents(user: UserMemory, query: str, **wanted: object) -> list[str]:
    return sorted(hit.content_snippet for hit in user.search(query, **wanted))


@pytest.mark.slow
@pytest.mark.requirement("recall.cache")
def test_another_process_is_seen(backend_url: str, open_store: Callable[..., Memory]) -> None:
    engines = [Searching(backend_url, engine, open_store) for engine in ENGINES]
    ana, by_database = (engine.open().user("ana") for engine in engines)
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, backend_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def there(line: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    def seen(*expected: str, status: str = "active") -> None:
        for user in (ana, by_database):
            assert contents(user, "tea", status=status) == list(expected)

    seen()
    there("ana.add('Tea one', key='k')")
    seen("Tea one")
    there("ana.add('Tea two', key='k')")
    seen("Tea two")
    there("ana.observe([{'role': 'user', 'content': 'I like tea'}], thread='t')")
    assert len(ana.search_turns("tea")) == len(by_database.search_turns("tea")) == 1
    ana.add("Tea three")
    there("assert len(ana.search('tea')) == 2")
    there("ana.forget(key='k'); ana.purge(before_time=True)")
    seen("Tea three", status="any")
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0


@pytest.mark.requirement("recall.cache")
def test_a_forked_child_searches_on(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("Tea before")
    ana.search("tea")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ana.add("Tea in the child")
            os.write(writer, json.dumps(contents(ana, "tea")).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert json.loads(pipe.read()) == ["Tea before", "Tea in the child"]
    assert os.waitpid(child, 0)[1] == 0
    assert contents(ana, "tea") == ["Tea before", "Tea in the child"]
