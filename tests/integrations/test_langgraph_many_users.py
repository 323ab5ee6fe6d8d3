"""One checkpointer and one store for many users: the config of each run says whose they are."""

import asyncio
from typing import Any, Literal

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command

from ricordo import InvalidValue, Memory
from ricordo.integrations.langchain import user_of_config
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from tests.integrations.graphs import asking_graph

pytestmark = pytest.mark.requirement("integrations.langgraph-users")

NAMES_NO_USER = r"configurable\.user_id: names no user; call with"


def of(user_id: str, thread: str = "t") -> RunnableConfig:
    return {"configurable": {"user_id": user_id, "thread_id": thread}}


def threads(saver: RicordoSaver, user_id: str) -> set[str]:
    found = saver.list({"configurable": {"user_id": user_id}})
    return {one.config["configurable"]["thread_id"] for one in found}


@pytest.mark.both_databases
def test_threads_of_one_name_never_meet(memory: Memory) -> None:
    saver = RicordoSaver(user_of_config(memory))
    graph = asking_graph(saver)
    for user_id in ("ana", "ben"):
        graph.invoke({"said": [f"I am {user_id}"], "approved": ""}, of(user_id))
    assert graph.invoke(Command(resume="yes"), of("ben"))["said"][-1] == "sent: yes"
    assert graph.get_state(of("ana")).values["said"] == ["I am ana", "draft of 1"]
    assert graph.get_state(of("ana")).next == ("ask",)
    assert graph.get_state(of("cleo")).values == {}
    assert threads(saver, "ana") == {"t"}
    assert threads(saver, "cleo") == set()
    # The same rows as those of the user's own saver.
    RicordoSaver(memory.user("ben")).delete_thread("t")
    assert graph.get_state(of("ben")).values == {}
    assert graph.get_state(of("ana")).values["said"][0] == "I am ana"


def test_configs_that_come_back_say_whose_they_are(memory: Memory) -> None:
    graph = asking_graph(RicordoSaver(user_of_config(memory)))
    graph.invoke({"said": ["hello"], "approved": ""}, of("ana"))
    asked = graph.get_state(of("ana")).config
    edited = graph.update_state(asked, {"said": ["edited"]})
    graph.invoke(None, edited)
    assert graph.invoke(Command(resume="no"), edited)["said"][-2:] == ["edited", "sent: no"]
    for one in graph.get_state_history(of("ana")):
        for config in (one.config, one.parent_config):
            assert config is None or config["configurable"]["user_id"] == "ana"


def test_it_runs_asynchronously(memory: Memory) -> None:
    async def run(user_id: str) -> list[str]:
        graph = asking_graph(RicordoSaver(user_of_config(memory)))
        await graph.ainvoke({"said": [user_id], "approved": ""}, of(user_id))
        done = await graph.ainvoke(Command(resume="ok"), of(user_id))
        assert len([one async for one in graph.aget_state_history(of(user_id))]) == 5
        return list(done["said"])

    async def both() -> list[list[str]]:
        return await asyncio.gather(run("ana"), run("ben"))

    assert asyncio.run(both()) == [
        [user_id, "draft of 1", "sent: ok"] for user_id in ("ana", "ben")
    ]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_run_that_names_no_user_is_refused(
    durability: Literal["sync", "async", "exit"], memory: Memory
) -> None:
    graph = asking_graph(RicordoSaver(user_of_config(memory)))
    nobody: list[RunnableConfig] = [
        {"configurable": {"thread_id": "t"}},
        {"configurable": {"thread_id": "t", "user_id": 7}},
    ]
    for config in nobody:
        with pytest.raises(InvalidValue, match=NAMES_NO_USER):
            graph.invoke({"said": ["hi"], "approved": ""}, config, durability=durability)
    assert memory.users() == ()


def test_what_has_no_config_is_of_the_run_under_way(memory: Memory) -> None:
    saver = RicordoSaver(user_of_config(memory))
    graph = asking_graph(saver)
    for user_id in ("ana", "ben"):
        graph.invoke({"said": ["hi"], "approved": ""}, of(user_id))

    def forget(_state: MessagesState) -> dict[str, Any]:
        saver.delete_thread("t")
        return {}

    cleaning = StateGraph(MessagesState).add_node("forget", forget).add_edge(START, "forget")
    cleaning.compile().invoke({"messages": []}, of("ana"))
    assert (threads(saver, "ana"), threads(saver, "ben")) == (set(), {"t"})
    for call in (
        lambda: saver.delete_thread("t"),
        lambda: saver.copy_thread("t", "u"),
        lambda: saver.prune(["t"]),
        lambda: list(saver.list(None)),
    ):
        with pytest.raises(InvalidValue, match=r"outside of runs use RicordoSaver\(memory\.user"):
            call()


@pytest.mark.both_databases
def test_one_store_keeps_users_apart(memory: Memory) -> None:
    store = RicordoStore(user_of_config(memory))

    def note(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        store.put(("facts",), "drink", {"text": state["messages"][-1].content})
        found = store.search(("facts",), query="what to drink?")
        return {"messages": [("ai", one.value["text"]) for one in found]}

    async def note_later(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        found = await store.asearch(("facts",))
        return {"messages": [("ai", one.value["text"]) for one in found]}

    builder = StateGraph(MessagesState).add_node("note", note).add_edge(START, "note")
    graph = builder.compile(store=store)
    later = StateGraph(MessagesState).add_node("note", note_later).add_edge(START, "note")
    for user_id, drink in (("ana", "green tea"), ("ben", "black coffee")):
        done = graph.invoke({"messages": [("user", drink)]}, of(user_id))
        assert [one.content for one in done["messages"][1:]] == [drink]
        read = later.compile(store=store).ainvoke({"messages": []}, of(user_id))
        assert [one.content for one in asyncio.run(read)["messages"]] == [drink]
        assert [item.content for item in memory.user(user_id).list()] == [drink]
    with pytest.raises(InvalidValue, match="names no user"):
        graph.invoke({"messages": [("user", "tea")]}, {"configurable": {"thread_id": "t"}})
    with pytest.raises(InvalidValue, match=r"outside of runs use RicordoStore\(memory\.user"):
        store.get(("facts",), "drink")
