"""Many processes on one store, and processes that die."""

import contextlib
import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ricordo import (
    AlreadyDecided,
    Item,
    Memory,
    OfferRefused,
    ProposalNotFound,
    StorageBusy,
    StorageClosed,
    UserMemory,
)
from ricordo.model.thread import NewTurn
from ricordo.storage.threads import append_turns
from ricordo.wiring import open_memory
from tests.support import postgres, processes
from tests.support.sharing import share
from tests.support.soundness import problems_of

OpenStore = Callable[..., Memory]


def finish(*running: "processes.subprocess.Popen[str]") -> None:
    for process in running:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Do it in so many threads at once; the first error of any is raised."""
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))


def every_item(user: UserMemory) -> list[Item]:
    found: list[Item] = []
    cursor = None
    while True:
        page = user.list(limit=1_000, cursor=cursor, status="any")
        found += page
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.chaos
@pytest.mark.requirement("storage.processes")
def test_four_processes_add_a_thousand_each(backend_url: str, open_store: OpenStore) -> None:
    finish(*(processes.start("add_own", backend_url, worker, 1_000) for worker in range(4)))
    memory = open_store(backend_url)
    ana = memory.user("ana")
    assert ana.revision() == 4_000
    found = [item.content for item in every_item(ana)]
    expected = {f"Worker {worker} says {number}" for worker in range(4) for number in range(1_000)}
    assert len(found) == len(expected) == 4_000
    assert set(found) == expected
    assert problems_of(memory) == []


@pytest.mark.chaos
@pytest.mark.requirement("items.duplicate")
def test_processes_that_say_the_same_leave_one_row_each(
    backend_url: str, open_store: OpenStore
) -> None:
    finish(*(processes.start("add_same", backend_url, worker, 100) for worker in range(4)))
    memory = open_store(backend_url)
    ana = memory.user("ana")
    contents = [item.content for item in ana.list(limit=1_000, status="any")]
    assert sorted(contents) == sorted(
        [f"Everybody says {number}" for number in range(100)]
        + [f"Value {number}" for number in range(100)]
    )
    assert ana.revision() == 200
    assert problems_of(memory) == []


@pytest.mark.chaos
@pytest.mark.requirement("storage.kill")
def test_acknowledged_writes_survive_many_kills(backend_url: str, open_store: OpenStore) -> None:
    """kill -9 at random moments; what was printed is there, and all agrees."""
    chance = random.Random(20260101)
    acknowledged: list[list[str]] = []
    for attempt in range(30):
        acknowledged += processes.killed_writer(
            backend_url, first=attempt * 100_000, lines=chance.randrange(1, 60)
        )
    memory = open_store(backend_url)
    ana = memory.user("ana")
    archived = {int(line[1]) for line in acknowledged if line[0] == "archived"}
    for line in acknowledged:
        if line[0] == "added":
            item = ana.get(int(line[1]))
            assert item.content == f"Statement {line[2]}"
        elif line[0] == "batch":
            batch = range(int(line[1]), int(line[2]) + 1)
            assert len({ana.get(item_id).content for item_id in batch}) == 20
        elif line[0] == "replaced":
            assert len(ana.list(contains=f"Replacement {line[1]}")) >= 1
    assert all(ana.get(item_id).status == "archived" for item_id in archived)
    last_value = max(int(line[1]) for line in acknowledged if line[0] == "valued")
    (changing,) = ana.list(key="changing")
    assert int(changing.content.split()[1]) >= last_value
    assert len(acknowledged) > 300
    assert problems_of(memory) == []


@pytest.mark.chaos
@pytest.mark.requirement("storage.kill")
def test_another_process_that_closes_takes_nothing_away(
    sqlite_url: str, open_store: OpenStore
) -> None:
    """The log of a file in use must stay, or what is written afterwards is written into nowhere."""
    memory = open_store(sqlite_url)
    ana = memory.user("ana")
    ana.add("Before")
    ana.list()
    finish(processes.start("add_own", sqlite_url, 1, 1))
    assert Path(f"{sqlite_url}-wal").exists()
    writer = processes.killed_writer(sqlite_url, first=0, lines=5)
    ana.add("Afterwards")
    other = open_store(sqlite_url)
    seen = {item.content for item in other.user("ana").list(limit=1_000, status="any")}
    assert {"Before", "Worker 1 says 0", "Afterwards"} <= seen
    assert len(writer) >= 5
    assert problems_of(other) == []


@pytest.mark.requirement("storage.open-race")
def test_threads_that_open_different_new_stores_at_once(tmp_path: Path) -> None:
    def open_one(number: int) -> None:
        path = tmp_path / f"{number}.db"
        with open_memory(path, run_jobs=False, embedding_provider="none") as memory:
            memory.user("ana").add(f"In store {number}")

    in_threads(open_one, 2)


@pytest.mark.chaos
@pytest.mark.requirement("storage.open-race")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_processes_that_open_a_new_store_at_once(
    tmp_path: Path, worker_id: str, database: str
) -> None:
    with contextlib.ExitStack() as stack:
        url = str(tmp_path / "new" / "ricordo.db")
        if database == "postgresql":
            url = stack.enter_context(postgres.database(f"ricordo_race_{worker_id}"))
        finish(*(processes.start("open_new", url) for _ in range(5)))


@pytest.mark.both_databases
@pytest.mark.requirement("storage.threads")
def test_threads_share_one_memory(memory: Memory) -> None:
    def work(worker: int) -> None:
        user = memory.user(f"user-{worker % 3}")
        for number in range(3):
            added = user.add(f"Worker {worker} says {number}")
            assert user.get(added.id).content == f"Worker {worker} says {number}"
            user.list(limit=5)

    in_threads(work, 6)
    assert [memory.user(f"user-{number}").revision() for number in range(3)] == [6, 6, 6]
    assert problems_of(memory) == []


@pytest.mark.both_databases
@pytest.mark.requirement("storage.deadlock")
def test_users_who_share_with_each_other_do_not_deadlock(memory: Memory) -> None:
    names = ("ana", "ben", "cleo")
    shared = {}
    for name in names:
        user = memory.user(name)
        shared[name] = user.add(f"From {name}").id
        for viewer in names:
            if viewer != name:
                share(user, shared[name], viewer)

    def work(place: int) -> None:
        for number in range(12):
            memory.user(names[place]).pin(shared[names[place]], number % 2 == 0)

    in_threads(work, 3)
    assert problems_of(memory) == []
    assert {memory.user(name).revision() for name in names} == {1 + 3 * 2 + 12 * 3}


@pytest.mark.both_databases
@pytest.mark.requirement("storage.deadlock")
def test_offers_and_blocks_at_once_do_not_deadlock(memory: Memory) -> None:
    names = ("ana", "ben", "cleo")

    def work(place: int) -> None:
        user, other = memory.user(names[place]), names[place - 1]
        for number in range(6):
            with contextlib.suppress(OfferRefused):
                user.link(user.add(f"{number} of {names[place]}").id, other)
            for proposal in user.proposals():
                with contextlib.suppress(AlreadyDecided, ProposalNotFound):
                    (user.reject if number % 3 else user.approve)(proposal.id)
            if number == 3:
                user.block_sender(names[(place + 1) % 3])

    in_threads(work, 3)
    assert problems_of(memory) == []
    for name in names:
        assert memory.user(name).proposals().items == ()
        assert {item.user_id for item in memory.user(name).list()} == {name}


@pytest.mark.both_databases
@pytest.mark.requirement("storage.threads")
def test_first_writes_and_purges_of_one_user_do_not_undo_each_other(memory: Memory) -> None:
    def work(number: int) -> None:
        for turn in range(10):
            if number % 2:
                memory.user(f"new-{turn}").purge()
                continue
            with memory.database.write(f"new-{turn}") as writing:
                append_turns(writing, f"t{number}", None, [NewTurn(role="user", content="Hi")])

    in_threads(work, 6)
    assert memory.users() == tuple(f"new-{turn}" for turn in range(10))


@pytest.mark.requirement("storage.fork")
def test_a_forked_child_can_go_on(memory: Memory) -> None:
    memory.user("ana").add("Before the fork")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            memory.user("ana").add("In the child")
            seen = sorted(item.content for item in memory.user("ana").list())
            os.write(writer, ";".join(seen).encode())
        finally:
            os._exit(0)
    os.close(writer)
    memory.user("ana").add("In the parent")
    with os.fdopen(reader) as pipe:
        assert "Before the fork" in pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    contents = sorted(item.content for item in memory.user("ana").list())
    assert contents == ["Before the fork", "In the child", "In the parent"]
    assert problems_of(memory) == []


@pytest.mark.requirement("storage.fork")
def test_a_fork_waits_for_a_transaction_of_another_thread(memory: Memory) -> None:
    inside, may_end = threading.Event(), threading.Event()

    def write() -> None:
        with memory.database.write("ben"):
            inside.set()
            assert may_end.wait(20)

    thread = threading.Thread(target=write)
    thread.start()
    assert inside.wait(20)
    os.register_at_fork(before=may_end.set)  # runs before what was registered earlier
    child = os.fork()
    if child == 0:
        code = 1
        try:
            memory.user("ana").add("In the child")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    memory.user("ana").add("In the parent")
    assert len(memory.user("ana").list()) == 2


@pytest.mark.requirement("storage.fork")
def test_a_fork_inside_a_transaction_does_not_wait_for_itself(memory: Memory) -> None:
    with memory.database.write("ana"):
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    memory.user("ana").add("In the parent")
    assert len(memory.user("ana").list()) == 1


@pytest.mark.requirement("storage.fork")
def test_a_child_does_not_remove_its_parents_temporary_store() -> None:
    with open_memory(":memory:", run_jobs=False, embedding_provider="none") as memory:
        memory.user("ana").add("In the parent")
        child = os.fork()
        if child == 0:
            memory.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert [item.content for item in memory.user("ana").list()] == ["In the parent"]


@pytest.mark.chaos
@pytest.mark.requirement("storage.busy")
def test_a_locked_file_is_a_clear_error(sqlite_url: str, open_store: OpenStore) -> None:
    memory = open_store(sqlite_url, busy_timeout_seconds=0.2)
    ana = memory.user("ana")
    ana.add("Before")
    holder = processes.start("hold_lock", sqlite_url)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    try:
        with pytest.raises(StorageBusy, match="locked by another process; try again"):
            ana.add("Meanwhile")
        assert [item.content for item in ana.list()] == ["Before"]
    finally:
        holder.kill()
        holder.communicate()
    ana.add("Afterwards")
    assert [item.content for item in ana.list()] == ["Afterwards", "Before"]


@pytest.mark.requirement("storage.closed")
def test_a_closed_memory_says_so(memory: Memory) -> None:
    ana = memory.user("ana")
    memory.close()
    memory.close()
    with pytest.raises(StorageClosed):
        ana.add("Too late")
    with pytest.raises(StorageClosed):
        ana.list()
