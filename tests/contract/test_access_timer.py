"""Every open store writes what was recalled in time, by itself."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from ricordo import Memory, StorageBusy
from ricordo.recall.accesses import TIMER_NAME, AccessCounter
from ricordo.storage.tables import items
from ricordo.testing.clock import ManualClock
from tests.endpoints.forking import succeeds_in_child
from tests.support.waiting import wait_until

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


@pytest.mark.requirement("recall.access-counts")
def test_what_was_recalled_is_written_by_itself(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    counter = AccessCounter(memory.database, AT_ONCE)
    counter.note("ana", [tea], clock())
    wait_until(lambda: ana.get(tea).access_count == 1)
    counter.note("ana", [tea], clock())  # after the first timer has ended, another starts
    wait_until(lambda: ana.get(tea).access_count == 2)
    assert counter.flush() == 0


@pytest.mark.requirement("recall.access-counts")
def test_there_is_one_timer_and_only_while_something_waits(
    memory: Memory, others: set[threading.Thread]
) -> None:
    ana = memory.user("ana")
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


@pytest.mark.requirement("recall.access-counts")
def test_closing_writes_and_ends_the_timer(
    backend_url: str, open_store: Callable[..., Memory], others: set[threading.Thread]
) -> None:
    memory = open_store(backend_url)
    tea = memory.user("ana").add("Likes tea").id
    memory.user("ana").search("tea")
    (timer,) = timers() - others
    memory.close()
    timer.join(PATIENCE)
    assert not timer.is_alive()
    assert timers() <= others
    assert open_store(backend_url).user("ana").get(tea).access_count == 1


@pytest.mark.requirement("recall.access-counts")
def test_a_timer_that_meets_a_closed_store_just_ends(
    memory: Memory,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    others: set[threading.Thread],
) -> None:
    memory.user("ana").add("Likes tea")
    memory.close()
    counter = AccessCounter(memory.database, NEVER)
    counter.note("ana", [1], clock())  # a search that was under way
    (timer,) = timers() - others
    counter.flush_or_tell()  # what the timer calls
    timer.join(PATIENCE)
    assert timers() <= others
    assert caplog.records == []


@pytest.mark.requirement("recall.access-counts")
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
    writing = threading.Thread(target=counter.flush_or_tell)
    closing = threading.Thread(target=memory.close)
    with locked(holder):
        writing.start()
        wait_until(lambda: timers() <= others)  # it has taken what waits
        closing.start()
    for thread in (writing, closing):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert holder.user("ana").get(tea).access_count == 1


@pytest.mark.requirement("recall.access-counts")
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
                counter.flush_or_tell()
            with pytest.raises(StorageBusy):
                counter.flush()
            wait_until(lambda: len(timers() - others) == 1)  # the next one is set
        assert len(caplog.records) == round_
        assert "not counted yet" in caplog.text
        assert counter.flush() == 1
        assert ana.get(tea).access_count == round_


@pytest.mark.requirement("recall.access-counts")
def test_the_next_timer_tries_again(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    holder = open_store(backend_url)
    memory = open_store(backend_url, busy_timeout_seconds=0.05)
    ana = memory.user("ana")
    tea = ana.add("Likes tea").id
    counter = AccessCounter(memory.database, AT_ONCE)
    with locked(holder):
        counter.note("ana", [tea], clock())
        wait_until(lambda: caplog.records)
    wait_until(lambda: ana.get(tea).access_count == 1)
    assert len(caplog.records) == 1


@pytest.mark.requirement("recall.access-counts")
def test_a_forked_child_has_no_timer_until_it_recalls(
    memory: Memory, clock: ManualClock, others: set[threading.Thread]
) -> None:
    ana = memory.user("ana")
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


@pytest.mark.requirement("recall.access-counts")
def test_threads_that_count_while_it_is_written_lose_nothing(
    memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
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
