"""The checkpointer with real graphs, several users, several processes, and faults."""

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES, Capability
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from ricordo import Conflict, InvalidValue, Memory, ScopeWidened
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from ricordo.storage import checkpoints
from tests.integrations.graphs import asking_graph, config, put_state, start

pytestmark = pytest.mark.requirement("checkpoints.langgraph")


@dataclasses.dataclass
class OfOurOwn:
    """A type that nobody has allowed."""

    name: str


@pytest.fixture
def saver(memory: Memory) -> RicordoSaver:
    return RicordoSaver(memory.user("ana"))


def stored_values(memory: Memory, thread: str) -> int:
    with memory.database.read_all() as view:
        return len(checkpoints.value_names(view.connection, "ana", thread, ""))


def test_a_graph_runs_asynchronously(memory: Memory) -> None:
    async def run() -> list[str]:
        graph = asking_graph(RicordoSaver(memory.user("ana")))
        await graph.ainvoke({"said": ["hi"], "approved": ""}, config("t"))
        done = await graph.ainvoke(Command(resume="ok"), config("t"))
        steps = [one async for one in graph.aget_state_history(config("t"))]
        assert len(steps) == 5
        return list(done["said"])

    assert asyncio.run(run()) == ["hi", "draft of 1", "sent: ok"]


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


@pytest.mark.both_databases
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


def test_a_copy_never_mixes_with_what_is_there(saver: RicordoSaver) -> None:
    put_state(saver, "a", 1)
    put_state(saver, "b", 2)
    with pytest.raises(Conflict, match="thread 'b' has states of its own"):
        saver.copy_thread("a", "b")
    saver.copy_thread("a", "c")
    copied = saver.get_tuple(config("c"))
    assert copied is not None
    assert copied.checkpoint["channel_values"]["right"] == {"number": 1}


def test_unknown_types_come_back_as_plain_data(saver: RicordoSaver, memory: Memory) -> None:
    put_value(saver, OfOurOwn("x"))
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["a"] == {"name": "x"}
    allowed = JsonPlusSerializer(allowed_msgpack_modules=[(OfOurOwn.__module__, "OfOurOwn")])
    trusting = RicordoSaver(memory.user("ana"), serde=allowed).get_tuple(config("t"))
    assert trusting is not None
    assert trusting.checkpoint["channel_values"]["a"] == OfOurOwn("x")


def put_value(saver: RicordoSaver, value: object) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_versions"] = {"a": "1"}
    checkpoint["channel_values"] = {"a": value}
    saver.put(config("t"), checkpoint, {}, {"a": "1"})


def test_nothing_is_pickled(saver: RicordoSaver) -> None:
    with pytest.raises(TypeError):
        put_value(saver, threading.Lock())
    assert saver.get_tuple(config("t")) is None


UNSTORABLE: list[tuple[dict[str, str], str]] = [
    ({"thread_id": "a\x00b"}, "NUL"),
    ({"checkpoint_ns": "n" * 2_001}, "2001 characters"),
    ({"checkpoint_ns": "語" * 1_000}, "bytes with all that belongs"),
    ({"checkpoint_ns": "\ud800"}, "lone surrogates"),
    ({"thread_id": ""}, "must not be empty"),
    ({"checkpoint_id": "p" * 201}, "201 characters"),
    ({"checkpoint_id": "\ud800"}, "lone surrogates"),
    ({"checkpoint_id": "a\x00b"}, "NUL"),
]


def test_names_that_can_neither_be_stored_nor_asked_for(saver: RicordoSaver) -> None:
    for given, message in UNSTORABLE:
        place: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "", **given}}
        with pytest.raises(InvalidValue, match=message):
            saver.put(place, empty_checkpoint(), {}, {})
        if message in ("NUL", "lone surrogates"):
            with pytest.raises(InvalidValue):
                saver.get_tuple(place)
            with pytest.raises(InvalidValue):
                list(saver.list(place))
    for bad in ("\ud800", "a\x00b"):
        with pytest.raises(InvalidValue, match="before"):
            list(saver.list(None, before=config("t", bad)))
        with pytest.raises(InvalidValue, match="run_id"):
            saver.delete_for_runs([bad])


def test_what_is_too_large(saver: RicordoSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_GRAPH_VALUE_BYTES", 2_000)
    monkeypatch.setattr("ricordo.limits.MAX_GRAPH_WRITES", 3)
    with pytest.raises(InvalidValue, match=r"channel 'a': 300\d bytes; allowed: at most 2000"):
        put_value(saver, "x" * 3_000)
    with pytest.raises(InvalidValue, match="4 at once; allowed: at most 3"):
        saver.put_writes(config("t", "c1"), [("a", 1)] * 4, "task")
    with pytest.raises(InvalidValue, match="write to 'a'"):
        saver.put_writes(config("t", "c1"), [("a", "x" * 3_000)], "task")
    assert list(saver.list(None)) == []


@pytest.mark.both_databases
def test_threads_of_one_process_write_at_once(saver: RicordoSaver) -> None:
    def work(worker: int) -> None:
        parent = None
        for number in range(15):
            parent = put_state(saver, f"t{worker}", number, parent)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert len(list(saver.list(None))) == 60


@pytest.mark.chaos
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


@pytest.mark.parametrize(
    "capabilities",
    [
        pytest.param({Capability.PUT.value, Capability.GET_TUPLE.value}, id="smoke"),
        pytest.param(
            {capability.value for capability in ALL_CAPABILITIES}, id="all", marks=pytest.mark.slow
        ),
    ],
)
def test_every_capability_is_there_and_conforms(memory: Memory, capabilities: set[str]) -> None:
    """The published conformance suite."""

    @checkpointer_test(name="RicordoSaver")
    async def saver() -> AsyncIterator[BaseCheckpointSaver[str]]:
        yield RicordoSaver(memory.user("ana"))

    report = asyncio.run(validate(saver, capabilities=capabilities))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    passed = {name for name, result in report.results.items() if result.passed}
    assert passed >= capabilities
    least = 70 if len(capabilities) > 2 else 5
    assert sum(result.tests_passed for result in report.results.values()) >= least
