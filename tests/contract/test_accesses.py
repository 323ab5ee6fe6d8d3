"""What is recalled is counted: in batches, in time, and without being a change."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from ricordo import Decision, Memory, StorageBusy, UserMemory
from ricordo.formation.conflicts import IDENTICAL, REDUNDANT
from ricordo.recall.accesses import TIMER_NAME, AccessCounter
from ricordo.storage.tables import items
from ricordo.testing import ManualClock
from tests.endpoints.forking import succeeds_in_child
from tests.support.sharing import share
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("recall.access-counts")


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


def test_what_is_shared_or_global_counts_for_its_owner(memory: Memory, clock: ManualClock) -> None:
    ana, ben, everybody = memory.user("ana"), memory.user("ben"), memory.global_memories()
    shared, private, unlinked = (ana.add(text).id for text in ("Tea recipe", "Tea of ana", "Tea"))
    share(ana, shared, "ben")
    share(ana, unlinked, "ben")
    ana.unlink(unlinked, "ben")
    tip, gone = everybody.add("Tea tip").id, ben.add("Tea of ben").id
    before = [ana.get(shared), everybody.get(tip)]
    clock.advance(hours=1)
    assert {hit.id for hit in ben.search("tea")} == {shared, tip, gone}
    ben.search("*")
    assert {bullet.id for bullet in ben.query(None, "tea").bullets} == {shared, tip, gone}
    ben.forget(gone)
    ben.purge(before_time=True)
    revisions = [owner.revision() for owner in (ana, ben, everybody)]
    feeds = [owner.changes() for owner in (ana, ben, everybody)]
    assert memory.recall.accesses.flush() == 3
    assert [ana.get(shared), everybody.get(tip)] == [
        replace(one, access_count=3, last_accessed_at=clock()) for one in before
    ]
    assert ana.get(private).access_count == ana.get(unlinked).access_count == 0
    assert [owner.revision() for owner in (ana, ben, everybody)] == revisions
    assert [owner.changes() for owner in (ana, ben, everybody)] == feeds


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
    share(ben, shared, "ana")
    assert [one.target_id for one in say("I love jazz music")] == [shared]
    assert [one.target_id for one in say("I hate olives")] == [tip]
    assert memory.recall.accesses.flush() == 0


PATIENCE = 30.0
NEVER = 100_000.0
AT_ONCE = 0.01


def timers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == TIMER_NAME}


@pytest.fixture
def others() -> set[threading.Thread]:
    """What other tests left running."""
    return timers()


@contextlib.contextmanager
def locked(memory: Memory) -> Iterator[None]:
    """Nobody else can count anything meanwhile."""
    with memory.database.transaction() as connection:
        connection.execute(sa.update(items).values(importance=items.c.importance))
        yield


def test_what_was_recalled_is_written_by_itself(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    counter = AccessCounter(memory.database, AT_ONCE)
    counter.note("ana", [tea], clock())
    wait_until(lambda: ana.get(tea).access_count == 1)
    counter.note("ana", [tea], clock())  # after the first timer has ended, another starts
    wait_until(lambda: ana.get(tea).access_count == 2)
    assert counter.flush() == 0


def test_there_is_one_timer_and_only_while_something_waits(
    memory: Memory, ana: UserMemory, others: set[threading.Thread]
) -> None:
    ana.add("Likes tea")
    ana.list()
    assert timers() == others
    ana.search("tea")
    (timer,) = timers() - others
    assert timer.daemon
    ana.search("tea")
    ana.add("Likes tea")
    assert timers() - others == {timer}
    memory.recall.accesses.flush()
    timer.join(PATIENCE)
    assert not timer.is_alive()
    assert timers() <= others
    ana.search("tea")
    assert len(timers() - others) == 1


def test_closing_writes_and_ends_the_timer(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    others: set[threading.Thread],
) -> None:
    memory = open_store(backend_url)
    tea = memory.user("ana").add("Likes tea").id
    memory.user("ana").search("tea")
    (timer,) = timers() - others
    memory.close()
    timer.join(PATIENCE)
    assert not timer.is_alive()
    counter = AccessCounter(memory.database, NEVER)
    counter.note("ana", [tea], clock())  # a search that was under way
    (timer,) = timers() - others
    counter.flush_or_log()  # what the timer calls
    timer.join(PATIENCE)
    assert timers() <= others
    assert caplog.records == []
    assert open_store(backend_url).user("ana").get(tea).access_count == 1


def test_closing_while_the_timer_writes_loses_nothing(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    others: set[threading.Thread],
) -> None:
    memory, holder = open_store(backend_url), open_store(backend_url)
    tea = memory.user("ana").add("Likes tea").id
    counter = memory.recall.accesses
    counter.note("ana", [tea], clock())
    writing = threading.Thread(target=counter.flush_or_log)
    closing = threading.Thread(target=memory.close)
    with locked(holder):
        writing.start()
        wait_until(lambda: timers() <= others)  # it has taken what waits
        closing.start()
    for thread in (writing, closing):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert holder.user("ana").get(tea).access_count == 1


def test_a_failure_is_told_once_and_tried_again(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    others: set[threading.Thread],
) -> None:
    holder = open_store(backend_url)
    memory = open_store(backend_url, busy_timeout_seconds=0.05)
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    counter = AccessCounter(memory.database, NEVER)
    for round_ in (1, 2):  # once each time that it begins to fail
        counter.note("ana", [tea], clock())
        with locked(holder):
            for _ in range(3):
                counter.flush_or_log()
            with pytest.raises(StorageBusy):
                counter.flush()
            wait_until(lambda: len(timers() - others) == 1)  # the next one is set
        assert len(caplog.records) == round_
        assert "not counted yet" in caplog.text
        assert counter.flush() == 1
        assert ana.get(tea).access_count == round_


def test_a_forked_child_has_no_timer_until_it_recalls(
    memory: Memory, ana: UserMemory, clock: ManualClock, others: set[threading.Thread]
) -> None:
    tea = ana.add("Likes tea").id
    counter = AccessCounter(memory.database, NEVER)
    counter.note("ana", [tea], clock())
    assert len(timers() - others) == 1

    def starts_afresh() -> bool:
        nothing_waits = counter.flush() == 0 and not timers()
        counter.note("ana", [tea], clock())
        return nothing_waits and len(timers()) == 1 and counter.flush() == 1

    assert succeeds_in_child(starts_afresh)
    assert ana.get(tea).access_count == 1  # the child's
    assert len(timers() - others) == 1
    assert counter.flush() == 1
    assert ana.get(tea).access_count == 2


def test_threads_that_count_while_it_is_written_lose_nothing(
    memory: Memory, ana: UserMemory, clock: ManualClock
) -> None:
    tea = ana.add("Likes tea").id
    counter = AccessCounter(memory.database, 0.0)

    def count() -> None:
        for _ in range(200):
            counter.note("ana", [tea], clock())

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    wait_until(lambda: ana.get(tea).access_count == 800)
