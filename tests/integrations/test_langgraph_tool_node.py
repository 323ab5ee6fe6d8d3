"""The tool node in whole graphs: interrupted, resumed elsewhere, and shared by several users."""

import asyncio
import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition

from ricordo import InvalidValue, Memory
from ricordo.integrations.langchain import user_of_config
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore, memory_tool_node
from ricordo.testing.model_server import ModelServer
from ricordo.tools import Tools
from tests.integrations.chat_model import ServedChatModel
from tests.integrations.slow_embedder import HeldEmbedder

pytestmark = pytest.mark.requirement("integrations.langgraph-tools")


def agent(server: ModelServer, node: ToolNode, **compiled: Any) -> Any:
    """Model and tools in turn, until the model calls none."""
    model = ServedChatModel(base_url=server.base_url).bind_tools(list(node.tools_by_name.values()))

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", node)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile(**compiled)


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def told(state: dict[str, Any]) -> list[Any]:
    """What the tools answered."""
    messages = [one for one in state["messages"] if isinstance(one, ToolMessage)]
    return [json.loads(str(one.content)) for one in messages]


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    call = {"name": name, "args": arguments, "id": "call_1", "type": "tool_call"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def test_a_graph_waits_for_consent_and_goes_on_in_another_store(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "t"}}
    with ModelServer() as server:
        server.answer_calling("memory_add", {"content": "Ana plays the cello", "theme": "music"})
        server.answer_calling("memory_search", {"query": "cello"})
        server.answer("The cello.")

        def opened() -> tuple[Memory, Any]:
            memory = open_store(backend_url)
            user = memory.user("ana")
            saver, store = RicordoSaver(user), RicordoStore(user)
            options = {"checkpointer": saver, "store": store, "interrupt_before": ["tools"]}
            return memory, agent(server, memory_tool_node(user), **options)

        first, graph = opened()
        graph.invoke(said("I play the cello"), thread)
        assert graph.get_state(thread).next == ("tools",)
        assert list(first.user("ana").list()) == []
        first.close()

        second, graph = opened()
        graph.invoke(None, thread)
        (kept,) = second.user("ana").list()
        assert kept.content == "Ana plays the cello"
        second.close()

        third, graph = opened()
        done = graph.invoke(None, thread)
        assert server.requests[0].body["tools"] == Tools(third.user("ana")).openai()
    assert done["messages"][-1].content == "The cello."
    added, found = told(done)
    assert added == {"id": kept.id, "status": "active"}
    assert [one["id"] for one in found["results"]] == [kept.id]


def test_two_users_of_one_graph_never_meet(memory: Memory) -> None:
    node = memory_tool_node(user_of_config(memory), "standard", "profile")
    with ModelServer() as server:
        graph = agent(server, node)

        def turn(user_id: str, name: str, /, **arguments: Any) -> list[Any]:
            server.answer_calling(name, arguments)
            server.answer("done")
            return told(graph.invoke(said("hello"), {"configurable": {"user_id": user_id}}))

        (kept,) = turn("ana", "memory_store", key="drink", value="Green tea")
        assert turn("ben", "memory_search", query="tea")[0]["results"] == []
        for name, arguments in (
            ("memory_get", {"id": kept["id"]}),
            ("memory_archive", {"id": kept["id"]}),
            ("memory_forget", {"key": "drink"}),
            ("memory_search", {"query": "tea", "user_id": "ana"}),
        ):
            (answer,) = turn("ben", name, **arguments)
            assert answer["error"]["type"] in {"MemoryNotFound", "UnknownField"}
        (found,) = turn("ana", "memory_search", query="tea")
        assert [one["content"] for one in found["results"]] == ["Drink: Green tea"]


def test_the_node_answers_several_calls_each_with_its_own_status(memory: Memory) -> None:
    node = memory_tool_node(memory.user("ana"))
    calls = [
        {"name": "memory_add", "args": {"content": "Ana likes tea"}, "id": "a"},
        {"name": "memory_get", "args": {"id": "x"}, "id": "b"},
        {"name": "memory_get", "args": {"id": 99}, "id": "c"},
        {"name": "no_such_tool", "args": {}, "id": "d"},
    ]
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    asked: Any = {"messages": [AIMessage("", tool_calls=calls)]}
    for done in (graph.invoke(asked), asyncio.run(graph.ainvoke(asked))):
        answers = done["messages"][1:]
        by_call = {one.tool_call_id: one.status for one in answers}
        assert by_call == {"a": "success", "b": "error", "c": "error", "d": "error"}
        assert json.loads(answers[1].content)["error"]["type"] == "InvalidValue"
        assert json.loads(answers[2].content)["error"]["type"] == "MemoryNotFound"
    assert len(memory.user("ana").list()) == 1


def test_ready_made_agents_take_it(memory: Memory) -> None:
    node = memory_tool_node(memory.user("ana"))
    with ModelServer() as server:
        server.answer_calling("memory_add", {"content": "Ana plays the cello"})
        server.answer("Noted.")
        with warnings.catch_warnings():  # it moved to the package langchain, as create_agent
            warnings.simplefilter("ignore")
            graph = create_react_agent(ServedChatModel(base_url=server.base_url), node)
        done = graph.invoke(said("I play the cello"))
    assert done["messages"][-1].content == "Noted."
    assert [one.content for one in memory.user("ana").list()] == ["Ana plays the cello"]


def test_a_run_that_names_no_user_ends(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(sqlite_url)
    node = memory_tool_node(user_of_config(memory))
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    with pytest.raises(InvalidValue, match="configurable.user_id: names no user"):
        graph.invoke(calling("memory_list_themes"))  # type: ignore[arg-type]


def test_a_closed_store_does_not_end_the_run(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url)
    with ModelServer() as server:
        graph = agent(server, memory_tool_node(memory.user("ana")))
        memory.close()
        server.answer_calling("memory_search", {"query": "tea"})
        server.answer("I cannot look it up.")
        done = graph.invoke(said("What do I drink?"))
    assert told(done)[0]["error"]["type"] == "StorageClosed"
    assert done["messages"][-1].content == "I cannot look it up."


def test_a_slow_call_does_not_hold_up_the_loop(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = HeldEmbedder()
    memory = open_store(sqlite_url, embedder=embedder)
    node = memory_tool_node(memory.user("ana"))
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()

    async def run() -> Any:
        asked: Any = calling("memory_search", query="tea")
        searching = asyncio.create_task(graph.ainvoke(asked))
        await asyncio.to_thread(embedder.begun.wait)
        embedder.may_end.set()  # only a loop that goes on gets here
        return await searching

    assert told(asyncio.run(run()))[0]["results"] == []
    assert embedder.was_let_go


def test_names_and_the_place_of_messages_can_be_chosen(memory: Memory) -> None:
    node = memory_tool_node(memory.user("ana"), "single", name="memory", messages_key="log")
    assert (node.name, list(node.tools_by_name)) == ("memory", ["memory"])
    graph: Any = StateGraph(dict).add_node("memory", node).add_edge(START, "memory").compile()
    asked = calling("memory", action="save", content="Ana likes tea")["messages"]
    assert graph.invoke({"log": asked})["log"][-1].status == "success"
    assert [one.content for one in memory.user("ana").list()] == ["Ana likes tea"]
