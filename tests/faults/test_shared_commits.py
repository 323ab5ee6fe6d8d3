"""Writes of one process that wait together are committed together, and fail each for itself."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import InvalidValue, Memory, StorageError
from ricordo.model.thread import NewTurn
from ricordo.storage.sql import driver_of
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.threads import append_turns
from ricordo.wiring import open_memory
from tests.faults.test_disk_full import text
from tests.faults.test_processes import every_item, in_threads
from tests.support import processes
from tests.support.disks import Disk
from tests.support.soundness import problems_of
from tests.support.waiting import wait_until

OpenStore = Callable[..., Memory]
pytestmark = pytest.mark.requirement("storage.shared-commits")


@pytest.fixture
def memory(sqlite_url: str, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A store in a file, where a commit waits for all that are there, however slow."""
    monkeypatch.setattr("ricordo.storage.sqlite.connection._LONGEST_SHARING_SECONDS", 60)
    return open_store(sqlite_url)


def at_once(memory: Memory, works: Sequence[Callable[[], object]]) -> list[Future[object]]:
    """Let all of these wait while somebody else writes, and then write."""
    backend = memory.database.backend
    assert isinstance(backend, SqliteBackend)
    with ThreadPoolExecutor(len(works)) as pool, memory.database.transaction():
        running = [pool.submit(work) for work in works]
        wait_until(lambda: backend._turns._waiting_to_share == len(works))
    return running


@contextmanager
def statements(memory: Memory) -> Iterator[Counter[str]]:
    """Counts the statements of the connection that writes, by their text."""
    with memory.database.transaction() as connection:
        driver = driver_of(connection)
    seen: Counter[str] = Counter()
    driver.set_trace_callback(lambda sql: seen.update([sql]))
    yield seen
    driver.set_trace_callback(None)


def refused(memory: Memory, user: str) -> None:
    """A write that has written much when something is wrong with it."""
    with memory.database.write(user, shared=True) as writing:
        append_turns(writing, "refused", None, [NewTurn(role="user", content="Half")])
        raise InvalidValue("it", "is refused")


def unstorable(memory: Memory) -> None:
    """A write with which the commit itself fails."""
    with memory.database.write("eve", shared=True) as writing:
        append_turns(writing, "t", None, [NewTurn(role="user", content="Hi")])
        driver = driver_of(writing.connection)
        driver.execute("PRAGMA defer_foreign_keys = ON")
        driver.execute("UPDATE turns SET thread_id = 'of nothing' WHERE user_id = 'eve'")


def test_those_that_wait_share_a_commit(memory: Memory) -> None:
    with statements(memory) as seen:
        adds = [lambda n=number: memory.user("ana").add(f"Number {n}") for number in range(6)]
        added = [one.result() for one in at_once(memory, adds)]
    assert seen["COMMIT"] == 2  # of the one that they waited for, and theirs
    changes = memory.user("ana").changes().changes
    assert [change.revision for change in changes] == [1, 2, 3, 4, 5, 6]
    assert {change.item_id for change in changes} == {one.id for one in added}  # type: ignore[attr-defined]
    assert problems_of(memory) == []


def test_one_that_is_refused_harms_no_other(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    works: list[Callable[[], Any]] = [
        lambda: refused(memory, "ana"),
        lambda: ana.add("Has a cat"),
        lambda: refused(memory, "ben"),
        lambda: ben.add("Has a dog"),
        lambda: refused(memory, "new"),
        lambda: ana.observe([{"role": "user", "content": "Hello"}], thread="t"),
    ]
    for order in (works, works[::-1]):
        running = dict(zip(order, at_once(memory, order), strict=True))
        for work in works:
            is_refused = works.index(work) in (0, 2, 4)
            assert isinstance(running[work].exception(), InvalidValue) is is_refused
    assert [item.content for item in (*ana.list(), *ben.list())] == ["Has a cat", "Has a dog"]
    assert [one.thread_id for one in ana.threads()] == ["t"]
    assert (ana.revision(), ben.revision(), memory.users()) == (1, 1, ("ana", "ben"))
    assert problems_of(memory) == []


def test_a_commit_that_fails_is_told_to_each_of_them(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("Before")
    works: list[Callable[[], Any]] = [
        lambda: ana.add("Never stored"),
        lambda: unstorable(memory),
        lambda: memory.user("ben").add("Nor is this"),
    ]
    faults = [one.exception() for one in at_once(memory, works)]
    assert [type(fault) for fault in faults] == [StorageError] * 3
    assert len({id(fault) for fault in faults}) == 3  # each with its own trace
    assert all("FOREIGN KEY" in str(fault) for fault in faults)
    ana.add("Afterwards")
    assert [item.content for item in ana.list()] == ["Afterwards", "Before"]
    assert [change.revision for change in ana.changes().changes] == [1, 2]
    assert memory.users() == ("ana",)
    assert problems_of(memory) == []


def test_closing_waits_for_those_that_are_at_it(sqlite_url: str) -> None:
    memory = open_memory(sqlite_url, run_jobs=False, upkeep=False, embedding_provider="none")
    done: list[int] = []

    def work(number: int) -> None:
        try:
            for turn in range(1_000):
                done.append(memory.user("ana").add(f"{turn} of {number}").id)
        except StorageError:
            return

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for one in threads:
        one.start()
    wait_until(lambda: len(done) > 20)
    memory.close()
    for one in threads:
        one.join()
    with open_memory(sqlite_url, run_jobs=False, upkeep=False) as again:
        assert {item.id for item in every_item(again.user("ana"))} == set(done)


def test_a_disk_that_is_full_loses_nothing_that_was_acknowledged(
    disk: Disk, open_store: OpenStore
) -> None:
    memory = open_store(str(disk.folder / "ricordo.db"))
    memory.user("ana").add("Loads everything")
    disk.fill()
    stored: list[int] = []

    def work(worker: int) -> None:
        with pytest.raises(disk.error):
            for number in range(1_000):
                stored.append(memory.user("ana").add(text(worker * 1_000 + number)).id)

    in_threads(work, 4)
    ana = memory.user("ana")
    assert len(every_item(ana)) - 1 == len(set(stored)) == ana.revision() - 1
    assert problems_of(memory) == []
    disk.free()
    ana.add("Goes on")


@pytest.mark.chaos
@pytest.mark.parametrize("attempt", range(3))
def test_a_kill_loses_nothing_that_was_acknowledged(
    sqlite_url: str, open_store: OpenStore, attempt: int
) -> None:
    lines = random.Random(attempt).randrange(20, 200)
    acknowledged = processes.killed_writer(sqlite_url, 0, lines, threads=6)
    memory = open_store(sqlite_url)
    ana = memory.user("ana")
    assert len(acknowledged) >= lines
    for _, item_id, number in acknowledged:
        assert ana.get(int(item_id)).content == f"Statement {number}"
    assert ana.revision() == len(every_item(ana))
    assert problems_of(memory) == []


WRITES = st.lists(
    st.tuples(st.sampled_from(["ana", "ben", "new"]), st.sampled_from(["add", "said", "refused"])),
    min_size=2,
    max_size=24,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WRITES, st.data())
def test_any_mixture_ends_as_one_after_the_other_would(
    memory: Memory, writes: list[tuple[str, str]], data: st.DataObject
) -> None:
    texts = [data.draw(st.sampled_from(["Same", "Other", f"Own {place}"])) for place in range(24)]

    def work(place: int) -> Callable[[], object]:
        user, kind = writes[place]
        if kind == "add":
            return lambda: memory.user(user).add(texts[place])
        if kind == "said":
            said = [{"role": "user", "content": texts[place], "id": f"{place}"}]
            return lambda: memory.user(user).observe(said, thread="t")
        return lambda: refused(memory, user)

    for user in memory.users():
        memory.erase_user(user)
    faults = [one.exception() for one in at_once(memory, list(map(work, range(len(writes)))))]
    assert [isinstance(fault, InvalidValue) for fault in faults] == [
        kind == "refused" for _, kind in writes
    ]
    for user in ("ana", "ben", "new"):
        mine = [place for place, (who, _) in enumerate(writes) if who == user]
        expected = {texts[place] for place in mine if writes[place][1] == "add"}
        found = memory.user(user)
        assert sorted(item.content for item in found.list(limit=100)) == sorted(expected)
        assert [one.revision for one in found.changes().changes] == list(
            range(1, len(expected) + 1)
        )
        said = sum(writes[place][1] == "said" for place in mine)
        assert sum(thread.turn_count for thread in found.threads()) == said
    assert problems_of(memory) == []
