"""The checkpointer with real graphs, several users, several processes, and faults."""

import asyncio
import dataclasses
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from ricordo import Conflict, InvalidValue, Memory, ScopeWidened
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from ricordo.storage import graph_states
from tests.integrations.graphs import asking_graph, config, put_state, start


@dataclasses.dataclass
class OfOurOwn:
    """A type that nobody has allowed."""

    name: str


@pytest.fixture
def saver(memory: Memory) -> RicordoSaver:
    return RicordoSaver(memory.user("ana"))


def finished(process: "subprocess.Popen[str]") -> str:
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return out


def stored_values(memory: Memory, thread: str) -> int:
    with memory.database.read_all() as view:
        return len(graph_states.value_names(view.connection, "ana", thread, ""))


@pytest.mark.requirement("checkpoints.langgraph")
def test_a_graph_goes_on_where_another_process_asked(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    open_store(backend_url)
    finished(start("ask_in_a_process", backend_url, "t"))
    graph = asking_graph(RicordoSaver(open_store(backend_url).user("ana")))
    waiting = graph.get_state(config("t"))
    assert waiting.next == ("ask",)
    assert waiting.interrupts[0].value["draft"] == "draft of 1"
    done = graph.invoke(Command(resume="yes"), config("t"))
    assert done == {"said": ["hello", "draft of 1", "sent: yes"], "approved": "yes"}


@pytest.mark.requirement("checkpoints.langgraph")
def test_a_graph_runs_asynchronously(memory: Memory) -> None:
    async def run() -> list[str]:
        graph = asking_graph(RicordoSaver(memory.user("ana")))
        await graph.ainvoke({"said": ["hi"], "approved": ""}, config("t"))
        done = await graph.ainvoke(Command(resume="ok"), config("t"))
        steps = [one async for one in graph.aget_state_history(config("t"))]
        assert len(steps) == 5
        return list(done["said"])

    assert asyncio.run(run()) == ["hi", "draft of 1", "sent: ok"]


@pytest.mark.requirement("checkpoints.langgraph")
def test_time_travel_leaves_both_futures(saver: RicordoSaver) -> None:
    graph = asking_graph(saver)
    graph.invoke({"said": ["hello"], "approved": ""}, config("t"))
    asked = graph.get_state(config("t")).config
    graph.invoke(Command(resume="yes"), config("t"))
    first = graph.get_state(config("t")).config
    edited = graph.update_state(asked, {"said": ["edited"]})
    graph.invoke(None, edited)
    again = graph.invoke(Command(resume="no"), edited)
    assert again["said"] == ["hello", "draft of 1", "edited", "sent: no"]
    assert graph.get_state(config("t")).values["said"][-1] == "sent: no"
    assert graph.get_state(first).values["said"] == ["hello", "draft of 1", "sent: yes"]


@pytest.mark.requirement("checkpoints.langgraph")
def test_two_users_with_one_thread_never_meet(memory: Memory) -> None:
    ana, ben = (RicordoSaver(memory.user(name)) for name in ("ana", "ben"))
    put_state(ana, "t", 1)
    assert ben.get_tuple(config("t")) is None
    assert list(ben.list(None)) == []
    put_state(ben, "t", 2)
    ben.delete_thread("t")
    ben.prune(["t"], strategy="delete")
    ben.copy_thread("t", "other")
    assert ben.get_tuple(config("other")) is None
    found = ana.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["right"] == {"number": 1}


@pytest.mark.requirement("checkpoints.langgraph")
def test_a_scope_bound_to_a_thread_refuses_others(memory: Memory) -> None:
    put_state(RicordoSaver(memory.user("ana")), "other", 1)
    bound = RicordoSaver(memory.user("ana", thread="own"))
    put_state(bound, "own", 2)
    for call in (
        lambda: bound.get_tuple(config("other")),
        lambda: put_state(bound, "other", 3),
        lambda: list(bound.list(config("other"))),
        lambda: bound.delete_thread("other"),
        lambda: bound.copy_thread("own", "third"),
        lambda: bound.prune(["other"]),
    ):
        with pytest.raises(ScopeWidened):
            call()
    assert [one.config["configurable"]["thread_id"] for one in bound.list(None)] == ["own"]


@pytest.mark.requirement("checkpoints.langgraph")
def test_lists_go_through_many_pages(saver: RicordoSaver) -> None:
    ids = []
    for number in range(55):
        ids.append(put_state(saver, f"t{number % 2}", number))
    found = [one.checkpoint["id"] for one in saver.list(None)]
    assert found == sorted(ids, reverse=True)
    before = config("t0", found[10])
    assert [one.checkpoint["id"] for one in saver.list(None, before=before)] == found[11:]
    even = saver.list(None, filter={"step": 54})
    assert [one.metadata["step"] for one in even] == [54]
    assert len(list(saver.list(None, limit=30))) == 30
    assert list(saver.list(None, limit=0)) == []


@pytest.mark.requirement("checkpoints.langgraph")
def test_values_are_stored_once_per_version(saver: RicordoSaver, memory: Memory) -> None:
    first = empty_checkpoint()
    first["channel_versions"] = {"a": "1.x", "b": "1.y"}
    first["channel_values"] = {"a": "one", "b": "kept"}
    saver.put(config("t"), first, {}, first["channel_versions"])
    second = empty_checkpoint()
    second["channel_versions"] = {"a": "2.x", "b": "1.y"}
    second["channel_values"] = {"a": "two", "b": "kept"}
    saver.put(config("t", first["id"]), second, {}, {"a": "2.x"})
    assert stored_values(memory, "t") == 3
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": "two", "b": "kept"}


@pytest.mark.requirement("checkpoints.langgraph")
def test_what_nobody_names_any_more_is_removed(saver: RicordoSaver, memory: Memory) -> None:
    parent = None
    for number in range(5):
        parent = put_state(saver, "t", number, parent)
    assert stored_values(memory, "t") == 10
    saver.prune(["t"])
    assert stored_values(memory, "t") == 2
    latest = saver.get_tuple(config("t"))
    assert latest is not None
    assert latest.checkpoint["channel_values"]["right"] == {"number": 4}
    with pytest.raises(InvalidValue, match="'all' is not one of: keep_latest, delete"):
        saver.prune(["t"], strategy="all")
    run: RunnableConfig = {**config("t", parent), "metadata": {"run_id": "r9"}}
    checkpoint = empty_checkpoint()
    checkpoint["channel_versions"] = {"left": "9"}
    checkpoint["channel_values"] = {"left": 9}
    saver.put(run, checkpoint, {}, {"left": "9"})
    saver.delete_for_runs(["r9"])
    assert stored_values(memory, "t") == 2


@pytest.mark.requirement("checkpoints.langgraph")
def test_pruning_keeps_what_delta_channels_are_read_from(saver: RicordoSaver) -> None:
    parent = None
    for number in range(6):
        checkpoint = empty_checkpoint()
        checkpoint["channel_versions"] = {"log": str(number)}
        has_value = number == 2
        checkpoint["channel_values"] = {"log": ["up to 2"]} if has_value else {}
        noted: Any = {"counters_since_delta_snapshot": {"log": [number, number]}}
        saver.put(config("t", parent), checkpoint, noted, {"log": str(number)})
        saver.put_writes(config("t", checkpoint["id"]), [("log", number)], f"task-{number}")
        parent = checkpoint["id"]
    before = saver.get_delta_channel_history(config=config("t"), channels=["log"])
    assert before["log"]["seed"] == ["up to 2"]
    saver.prune(["t"])
    assert len(list(saver.list(config("t")))) == 4
    assert saver.get_delta_channel_history(config=config("t"), channels=["log"]) == before


@pytest.mark.requirement("checkpoints.langgraph")
def test_a_copy_never_mixes_with_what_is_there(saver: RicordoSaver) -> None:
    put_state(saver, "a", 1)
    put_state(saver, "b", 2)
    with pytest.raises(Conflict, match="thread 'b' has states of its own"):
        saver.copy_thread("a", "b")
    saver.copy_thread("a", "c")
    copied = saver.get_tuple(config("c"))
    assert copied is not None
    assert copied.checkpoint["channel_values"]["right"] == {"number": 1}


@pytest.mark.requirement("checkpoints.langgraph")
def test_versions_grow_and_no_two_branches_share_one(saver: RicordoSaver) -> None:
    first = saver.get_next_version(None, None)
    one, other = (saver.get_next_version(first, None) for _ in range(2))
    assert first < one
    assert first < other
    assert one != other
    many = [first]
    for _ in range(12):
        many.append(saver.get_next_version(many[-1], None))
    assert many == sorted(many)


@pytest.mark.requirement("checkpoints.langgraph")
def test_unknown_types_come_back_as_plain_data(saver: RicordoSaver, memory: Memory) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_versions"] = {"a": "1"}
    checkpoint["channel_values"] = {"a": OfOurOwn("x")}
    saver.put(config("t"), checkpoint, {}, {"a": "1"})
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["a"] == {"name": "x"}
    allowed = JsonPlusSerializer(allowed_msgpack_modules=[(OfOurOwn.__module__, "OfOurOwn")])
    trusting = RicordoSaver(memory.user("ana"), serde=allowed).get_tuple(config("t"))
    assert trusting is not None
    assert trusting.checkpoint["channel_values"]["a"] == OfOurOwn("x")


@pytest.mark.requirement("checkpoints.langgraph")
def test_nothing_is_pickled(saver: RicordoSaver) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_versions"] = {"a": "1"}
    checkpoint["channel_values"] = {"a": threading.Lock()}
    with pytest.raises(TypeError):
        saver.put(config("t"), checkpoint, {}, {"a": "1"})
    assert saver.get_tuple(config("t")) is None


@pytest.mark.requirement("checkpoints.langgraph")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"thread_id": "a\x00b", "checkpoint_ns": ""}, "NUL"),
        ({"thread_id": "t", "checkpoint_ns": "n" * 2_001}, "2001 characters"),
        ({"thread_id": "t", "checkpoint_ns": "語" * 1_000}, "bytes with all that belongs"),
        ({"thread_id": "t", "checkpoint_ns": "\ud800"}, "lone surrogates"),
        ({"thread_id": "", "checkpoint_ns": ""}, "must not be empty"),
        ({"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "p" * 201}, "201 characters"),
        ({"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "\ud800"}, "lone surrogates"),
        ({"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "a\x00b"}, "NUL"),
    ],
)
def test_names_that_cannot_be_stored(
    saver: RicordoSaver, given: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        saver.put({"configurable": given}, empty_checkpoint(), {}, {})


@pytest.mark.requirement("checkpoints.langgraph")
@pytest.mark.parametrize("bad", ["\ud800", "a\x00b"])
def test_names_that_cannot_be_asked_for(saver: RicordoSaver, bad: str) -> None:
    for given in (
        {"thread_id": bad},
        {"thread_id": "t", "checkpoint_ns": bad},
        {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": bad},
    ):
        with pytest.raises(InvalidValue):
            saver.get_tuple({"configurable": given})
        with pytest.raises(InvalidValue):
            list(saver.list({"configurable": given}))
    with pytest.raises(InvalidValue, match="before"):
        list(saver.list(None, before=config("t", bad)))
    with pytest.raises(InvalidValue, match="run_id"):
        saver.delete_for_runs([bad])


@pytest.mark.requirement("checkpoints.langgraph")
def test_what_is_too_large(saver: RicordoSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_GRAPH_VALUE_BYTES", 2_000)
    monkeypatch.setattr("ricordo.limits.MAX_GRAPH_WRITES", 3)
    checkpoint = empty_checkpoint()
    checkpoint["channel_versions"] = {"a": "1"}
    checkpoint["channel_values"] = {"a": "x" * 3_000}
    with pytest.raises(InvalidValue, match=r"channel 'a': 300\d bytes; allowed: at most 2000"):
        saver.put(config("t"), checkpoint, {}, {"a": "1"})
    with pytest.raises(InvalidValue, match="4 at once; allowed: at most 3"):
        saver.put_writes(config("t", "c1"), [("a", 1)] * 4, "task")
    with pytest.raises(InvalidValue, match="write to 'a'"):
        saver.put_writes(config("t", "c1"), [("a", "x" * 3_000)], "task")
    assert list(saver.list(None)) == []


@pytest.mark.requirement("checkpoints.langgraph")
def test_threads_of_one_process_write_at_once(saver: RicordoSaver) -> None:
    failed: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            parent = None
            for number in range(15):
                parent = put_state(saver, f"t{worker}", number, parent)
        except BaseException as problem:
            failed.append(problem)

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    assert len(list(saver.list(None))) == 60


@pytest.mark.requirement("checkpoints.langgraph")
def test_processes_write_at_once(backend_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(backend_url)
    running = [start("put_many", backend_url, worker, 20) for worker in range(3)]
    for process in running:
        finished(process)
    saver = RicordoSaver(memory.user("ana"))
    for worker in range(3):
        steps = [one.metadata["step"] for one in saver.list(config(f"worker-{worker}"))]
        assert steps == list(range(19, -1, -1))
    shared = "1ef4f797-8335-6428-8001-8a1503f9b875"
    put_state(saver, "elsewhere", 1)
    with memory.database.read_all() as view:
        found = graph_states.writes_of(view.connection, "ana", "shared", "", [shared])
    assert len(found[shared]) == 60


@pytest.mark.requirement("checkpoints.langgraph")
def test_a_killed_put_leaves_nothing_half_written(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url)
    user = memory.user("ana")
    saver, store = RicordoSaver(user), RicordoStore(user)
    put_state(saver, "t", 1)
    store.put(("notes",), "a", {"text": "first"})
    for at_command in range(1, 200, 9):
        process = start("die_putting", backend_url, at_command)
        out, errors = process.communicate(timeout=240)
        assert process.returncode in (0, -9), errors
        for found in saver.list(config("t")):
            values = found.checkpoint["channel_values"]
            assert values["left"] == [values["right"]["number"]] * 100
            writes = found.pending_writes or []
            assert len(writes) in (0, 2)
        entry = store.get(("notes",), "a")
        assert entry is not None
        (remembered,) = user.list(tags=["langgraph"])
        assert entry.value == {"text": remembered.content}
        if "done" in out:
            assert entry.value == {"text": "second"}
            break
    else:
        pytest.fail("it never came to its end")


@pytest.mark.requirement("checkpoints.langgraph")
def test_without_the_package_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['langgraph.checkpoint.base'] = None\n"
        "try:\n    import ricordo.integrations.langgraph\n"
        "except ImportError as problem:\n    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pip install 'ricordo[langgraph]'" in done.stdout
