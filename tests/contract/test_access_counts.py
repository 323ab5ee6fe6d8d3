"""What is recalled is counted, in batches, without being a change."""

import threading
from collections.abc import Callable

import pytest

from ricordo import Memory
from ricordo.recall.accesses import AccessCounter
from ricordo.testing.clock import ManualClock
from ricordo.wiring import open_memory
from tests.support import processes


@pytest.mark.requirement("recall.access-counts")
def test_recalls_are_counted_when_flushed(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    tea, boat = ana.add("Likes tea").id, ana.add("Owns a boat").id
    before = ana.get(tea)
    clock.advance(hours=1)
    ana.search("tea", limit=1)
    clock.advance(hours=1)
    ana.search("tea", limit=1)
    ana.query(None, "tea", top_k=1)
    ana.search("*", limit=1)
    assert ana.get(tea) == before
    revision = ana.revision()
    assert memory.recall.accesses.flush() == 2
    after = ana.get(tea)
    assert (after.access_count, after.last_accessed_at) == (3, clock())
    assert after.updated_at == before.updated_at
    assert ana.get(boat).access_count == 1
    assert ana.revision() == revision
    assert [change.event for change in ana.history(tea)] == ["ADD"]
    assert memory.recall.accesses.flush() == 0


@pytest.mark.requirement("recall.access-counts")
def test_counts_are_written_on_close_and_by_the_runner(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    first = open_store(backend_url)
    tea = first.user("ana").add("Likes tea").id
    first.user("ana").search("tea")
    first.close()
    second = open_store(backend_url)
    assert second.user("ana").get(tea).access_count == 1
    flushed = threading.Event()
    with open_memory(backend_url, job_poll_seconds=0.05) as running:
        counter = running.recall.accesses
        running.user("ana").search("*")
        for _ in range(200):
            if second.user("ana").get(tea).access_count == 2:
                flushed.set()
                break
            threading.Event().wait(0.05)
        assert counter.flush() == 0
    assert flushed.is_set()


@pytest.mark.requirement("recall.access-counts")
def test_what_is_gone_or_anothers_is_not_counted(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    shared = ana.add("Tea recipe").id
    ana.link(shared, "ben")
    tip = memory.global_memories().add("Tea tip").id
    assert {hit.id for hit in ben.search("tea")} == {shared, tip}
    gone = ben.add("Tea of ben").id
    ben.search("tea")
    ben.forget(gone)
    ben.purge(before_time=True)
    memory.recall.accesses.flush()
    assert ana.get(shared).access_count == 0
    assert memory.global_memories().get(tip).access_count == 0


@pytest.mark.requirement("recall.access-counts")
def test_a_late_count_does_not_turn_back_the_time(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    slow, quick = AccessCounter(memory.database), AccessCounter(memory.database)
    slow.note("ana", [tea], clock())
    clock.advance(hours=1)
    quick.note("ana", [tea], clock())
    quick.flush()
    slow.flush()
    item = ana.get(tea)
    assert (item.access_count, item.last_accessed_at) == (2, clock())


@pytest.mark.requirement("recall.access-counts")
def test_a_store_that_is_locked_does_not_fail_a_search(
    sqlite_url: str, open_store: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.recall.accesses.MAX_WAITING", 0)
    memory = open_store(sqlite_url, busy_timeout_seconds=0.1)
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    holder = processes.start("hold_lock", sqlite_url)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    try:
        assert [hit.id for hit in ana.search("tea")] == [tea]
    finally:
        holder.kill()
        holder.communicate()
    assert memory.recall.accesses.flush() == 1
    assert ana.get(tea).access_count == 1


@pytest.mark.requirement("recall.access-counts")
def test_threads_lose_no_count(memory: Memory) -> None:
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id

    def search() -> None:
        for _ in range(20):
            ana.search("tea")
            memory.recall.accesses.flush()

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory.recall.accesses.flush()
    assert ana.get(tea).access_count == 80
