"""Every connection is in use: told in time, no deadlock, and over as soon as one is given back."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory, StorageBusy, UserMemory
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.pool")
OpenStore = Callable[..., Memory]


@contextlib.contextmanager
def all_in_use(memory: Memory, count: int) -> Iterator[None]:
    """Others read, and do not come to an end."""
    inside, may_end = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        with memory.database.read("ana"):
            inside.release()
            may_end.wait(60)

    holders = [threading.Thread(target=hold) for _ in range(count)]
    for holder in holders:
        holder.start()
    try:
        for _ in holders:
            assert inside.acquire(timeout=60)
        yield
    finally:
        may_end.set()
        for holder in holders:
            holder.join()


def test_who_waits_too_long_is_told(backend_url: str, open_store: OpenStore) -> None:
    memory = open_store(backend_url, port=0, pool_size=2, busy_timeout_seconds=0.3)
    ana = memory.user("ana")
    ana.add("Has a cat")
    with running(memory) as service:
        client = service.client("ana")
        with all_in_use(memory, 2):
            with pytest.raises(StorageBusy, match="is in use; try again"):
                ana.list()
            refused = client.get("/v1/memories")
            assert problem(refused) == (503, "StorageBusy")
            assert refused.headers["retry-after"] == "1"
            assert client.get("/healthz").status_code == 200
            assert problem(client.get("/readyz")) == (503, "StorageBusy")
        assert [one["content"] for one in client.get("/v1/memories").json()["items"]] == [
            "Has a cat"
        ]
        assert client.get("/readyz").status_code == 200
    assert memory.database.backend.connections_in_use() == 0


def everything(user: UserMemory, folder: Path) -> None:
    """One operation of each kind: none may hold one connection and ask for another."""
    item = user.add("Lives in Rome", key="home")
    user.add_many(["Rows", "Sings"])
    user.add("Lives in Oslo", key="home")
    user.observe([{"role": "user", "content": "I love green tea."}], thread="t")
    user.form("t")
    user.search("tea")
    user.search_turns("tea")
    user.query(None, "tea")
    user.context("tea", thread="t")
    user.window("t")
    user.compact("t")
    user.save_checkpoint("t", {"step": 1})
    user.load_checkpoint("t")
    user.themes()
    user.changes()
    user.audit()
    user.history(item.id)
    user.undo(item.id)
    user.archive(item.id)
    user.restore(item.id)
    user.pin(item.id)
    user.relation_graph()
    user.upkeep()
    user.consolidate()
    user.embedding_status()
    user.counters()
    name = user.scope.user_id
    user.export(folder / f"{name}.jsonl")
    user.purge()


def test_one_connection_is_enough_for_everything(
    owner_url: str, open_store: OpenStore, tmp_path: Path
) -> None:
    memory = open_store(owner_url, pool_size=1, busy_timeout_seconds=5)
    everything(memory.user("ana"), tmp_path)
    memory.run_jobs()
    memory.reindex(everything=True)
    memory.user("ben").import_file(tmp_path / "ana.jsonl")
    memory.create_key("phone", user="ana")
    assert memory.erase_user("ana")
    assert problems_of(memory) == []
