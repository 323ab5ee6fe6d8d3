"""What is recalled is counted, in batches, without being a change."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from ricordo import Decision, InvalidValue, Memory
from ricordo.formation.comparing.resolving import IDENTICAL, REDUNDANT
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
def test_what_is_shared_or_global_counts_for_its_owner(memory: Memory, clock: ManualClock) -> None:
    ana, ben, everybody = memory.user("ana"), memory.user("ben"), memory.global_memories()
    shared, private = ana.add("Tea recipe").id, ana.add("Tea of ana").id
    ana.link(shared, "ben")
    tip = everybody.add("Tea tip").id
    before = [ana.get(shared), everybody.get(tip)]
    revisions = [owner.revision() for owner in (ana, ben, everybody)]
    feeds = [owner.changes() for owner in (ana, ben, everybody)]
    clock.advance(hours=1)
    assert {hit.id for hit in ben.search("tea")} == {shared, tip}
    ben.search("*")
    assert {bullet.id for bullet in ben.query(None, "tea").bullets} == {shared, tip}
    assert memory.recall.accesses.flush() == 2
    assert [ana.get(shared), everybody.get(tip)] == [
        replace(one, access_count=3, last_accessed_at=clock()) for one in before
    ]
    assert ana.get(private).access_count == 0
    assert [owner.revision() for owner in (ana, ben, everybody)] == revisions
    assert [owner.changes() for owner in (ana, ben, everybody)] == feeds


@pytest.mark.requirement("recall.access-counts")
def test_what_is_no_longer_seen_or_gone_is_not_counted(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    shared = ana.add("Tea recipe").id
    ana.link(shared, "ben")
    ana.unlink(shared, "ben")
    gone = ben.add("Tea of ben").id
    assert [hit.id for hit in ben.search("tea")] == [gone]
    ben.forget(gone)
    ben.purge(before_time=True)
    assert memory.recall.accesses.flush() == 1
    assert ana.get(shared).access_count == 0


@pytest.mark.requirement("recall.access-counts")
def test_what_is_added_again_counts_as_used(memory: Memory, clock: ManualClock) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    tea = ana.add("Likes tea")
    home = ana.add("Lives in Turin", key="home")
    of_ben = ben.add("Likes tea")
    assert memory.recall.accesses.flush() == 0
    revision = ana.revision()
    clock.advance(hours=1)
    assert ana.add("likes  TEA").duplicate
    assert ana.add("Likes tea", supersedes=tea.id).duplicate
    again = ana.add_many(["Likes tea", "Owns a boat", "Owns a boat"])
    assert [one.duplicate for one in again] == [True, False, True]
    assert ana.add("Lives in Turin", key="home").duplicate
    assert ana.revision() == revision + 1  # the boat
    assert memory.recall.accesses.flush() == 3
    counts = [ana.get(one.id).access_count for one in (tea, again[1], home)]
    assert counts == [3, 1, 1]
    assert ana.get(tea.id).last_accessed_at == clock()
    assert ben.get(of_ben.id).access_count == 0
    assert ana.add("Lives in Lisbon", key="home").updated
    assert memory.recall.accesses.flush() == 0


@pytest.mark.requirement("recall.access-counts")
def test_batches_that_were_written_count_though_a_later_one_fails(
    memory: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.WRITE_BATCH_ITEMS", 1)
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    ana.add("Lives in Turin", key="home")
    earlier = clock() - timedelta(days=1)
    with pytest.raises(InvalidValue, match="valid_from"):
        ana.add_many(
            ["Likes tea", {"content": "Lives in Rome", "key": "home", "valid_from": earlier}]
        )
    memory.recall.accesses.flush()
    assert ana.get(tea).access_count == 1


@pytest.mark.requirement("recall.access-counts")
def test_what_is_said_again_counts_as_used(memory: Memory, clock: ManualClock) -> None:
    ana, ben, everybody = memory.user("ana"), memory.user("ben"), memory.global_memories()

    def say(text: str) -> list[Decision]:
        clock.advance(minutes=1)
        ana.observe([{"role": "user", "content": text, "at": clock()}], thread="monday")
        return list(ana.form("monday").decisions)

    jazz = say("I love jazz music")[0].memory_id
    assert jazz is not None
    wording = ana.get(jazz).content
    assert memory.recall.accesses.flush() == 0
    assert [(one.reason, one.target_id) for one in say("i love jazz music!")] == [(IDENTICAL, jazz)]
    assert memory.recall.accesses.flush() == 1
    assert (ana.get(jazz).access_count, ana.get(jazz).last_accessed_at) == (1, clock())
    assert [one.reason for one in say("I love music")] == [REDUNDANT]
    memory.recall.accesses.flush()
    assert ana.get(jazz).access_count == 2
    # What ana says tells nothing of how much ben, or everybody, needs theirs.
    ana.forget(jazz)
    shared, tip = ben.add(wording).id, everybody.add("User hates olives.").id
    ben.link(shared, "ana")
    assert [one.target_id for one in say("I love jazz music")] == [shared]
    assert [one.target_id for one in say("I hate olives")] == [tip]
    assert memory.recall.accesses.flush() == 0


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
