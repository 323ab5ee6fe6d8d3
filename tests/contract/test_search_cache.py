"""What search keeps in memory is never older than the store, and never too much."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from ricordo import Memory, UserMemory
from ricordo.indexing.shelves import Shelves
from ricordo.storage.search_index import ITEMS
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from tests.support.searching import ENGINES, Searching

OTHER_PROCESS = """
import sys
from ricordo.testing.embedder import WordEmbedder
from ricordo.wiring import open_memory

with open_memory(sys.argv[1], run_jobs=False, embedder=WordEmbedder(384)) as memory:
    ana = memory.user("ana")
    for line in sys.stdin:
        exec(line)
        print("done", flush=True)
"""


def contents(user: UserMemory, query: str, **wanted: object) -> list[str]:
    return sorted(hit.content_snippet for hit in user.search(query, **wanted))


@pytest.mark.requirement("recall.cache")
def test_own_writes_are_seen_at_the_next_search(
    searching_store: Memory, clock: ManualClock
) -> None:
    ana = searching_store.user("ana")
    first = ana.add("Tea one").id
    assert contents(ana, "tea") == ["Tea one"]
    ana.add("Tea two")
    assert contents(ana, "tea") == ["Tea one", "Tea two"]
    keyed = ana.add("Tea three", key="k").id
    ana.add("Coffee three", key="k")
    assert {hit.id: hit.signals.fts for hit in ana.search("tea")}[keyed] is None
    assert ana.search("coffee")[0].id == keyed
    ana.undo(keyed)
    assert ana.search("three")[0].content_snippet == "Tea three"
    ana.archive(first)
    assert "Tea one" not in contents(ana, "tea")
    ana.restore(first)
    ana.forget(first)
    assert "Tea one" not in contents(ana, "tea", status="any")
    ana.purge(before_time=True)
    assert "Tea one" not in contents(ana, "tea", status="any")
    ana.add("Tea one")
    assert "Tea one" in contents(ana, "tea")


@pytest.mark.requirement("recall.cache")
def test_another_memory_object_is_seen(searching: Searching, clock: ManualClock) -> None:
    here, there = searching.open(), searching.open()
    ana, other = here.user("ana"), there.user("ana")
    assert contents(ana, "tea") == []
    first = other.add("Tea one").id
    assert contents(ana, "tea") == ["Tea one"]
    other.add("Tea two", key="k")
    assert contents(ana, "tea") == ["Tea one", "Tea two"]
    other.add("Tea new", key="k")
    assert contents(ana, "tea") == ["Tea new", "Tea one"]
    other.forget(first)
    other.purge(before_time=True)
    assert contents(ana, "tea", status="any") == ["Tea new", "Tea two"]
    clock.advance(seconds=1)  # a user who begins again begins at another time
    there.erase_user("ana")
    assert contents(ana, "tea", status="any") == []
    other.add("Tea again")
    assert contents(ana, "tea") == ["Tea again"]


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
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.requirement("recall.cache")
def test_a_warm_store_ranks_like_a_fresh_one(searching: Searching) -> None:
    """What was replaced leaves nothing behind: no word, no length, no place."""
    memory = searching.open()
    ana = memory.user("ana")
    for number in range(12):
        ana.add(f"{'Long ' * 9}tea text number {number} about gardens", key=f"k{number % 4}")
        ana.search("tea")
        ana.forget(ana.add(f"Gone {number}").id)
    ana.purge(before_time=True)
    for number in range(4):
        ana.add(f"Short coffee {number}", key=f"k{number}")
    ana.add("Gardens and tea")
    fresh = searching.open().user("ana")
    for query in ("tea gardens", "coffee", "gardns", "text", "long short tea"):
        warm = ana.search(query, status="any", limit=50, explain=True)
        assert warm.results == fresh.search(query, status="any", limit=50, explain=True).results


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


@pytest.mark.requirement("recall.cache")
def test_the_least_recently_used_are_dropped(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, embedder=WordEmbedder(384), global_until=0)
    for name in ("ana", "ben", "cleo"):
        memory.user(name).add_many([f"Tea of {name} number {number}" for number in range(60)])
    shelves = Shelves(max_bytes=250_000)  # enough for two of them
    model = memory.recall.embedders.chosen
    with memory.database.read_all() as view:
        made_by = model(view.connection, "ana").model
        kept = {}
        for name in ("ana", "ben", "ana", "cleo", "ana", "ben"):
            with shelves.borrow(view.connection, ITEMS, name, made_by) as shelf:
                assert shelf is not None
                assert shelf.size == 60
                kept.setdefault(name, []).append(shelf)
                assert shelves.nbytes <= 250_000
    assert kept["ana"][0] is kept["ana"][1] is kept["ana"][2]
    assert kept["ben"][0] is not kept["ben"][1]
    shelves.forget("ana")
    shelves.forget("ben")
    assert shelves.nbytes == 0


@pytest.mark.requirement("recall.cache")
def test_an_index_that_outgrows_the_cache_leaves_it(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, index_cache_mb=1, global_until=0)
    ana = memory.user("ana")
    ana.add("Tea 0")
    assert len(ana.search("tea")) == 1
    assert memory.recall.shelves.nbytes > 0
    ana.add_many([f"Tea {number} and more" for number in range(1, 520)])
    assert len(ana.search("tea", limit=50)) == 50
    assert memory.recall.shelves.nbytes == 0


@pytest.mark.requirement("recall.cache")
def test_with_no_cache_nobody_is_kept(backend_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(backend_url, index_cache_mb=0, global_until=0)
    ana = memory.user("ana")
    ana.observe([{"role": "user", "content": "Hello"}], thread="t")
    ana.search("tea")  # nothing is indexed yet of her memories
    ana.add_many(["Tea one", "Tea two"])
    assert len(ana.search("tea")) == 2
    assert len(ana.search_turns("hello")) == 1
    assert memory.recall.shelves.nbytes == 0
