"""The tool node in whole graphs: interrupted, resumed elsewhere, and shared by several users."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from ricordo import InvalidValue, Memory
from ricordo.integrations.langchain import user_of_config
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore, memory_tool_node

pytestmark = pytest.mark.requirement("integrations.langgraph-tools")


def agent(script: list[AIMessage], node: ToolNode, **compiled: Any) -> Any:
    """Model and tools in turn, until the model calls none."""

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [script.pop(0)]}

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


def call(name: str, /, **arguments: Any) -> AIMessage:
    asked = {"name": name, "args": arguments, "id": "call_1", "type": "tool_call"}
    return AIMessage("", tool_calls=[asked])


def calling(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"messages": [call(name, **arguments)]}


def alone(node: ToolNode) -> Any:
    return StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()


def test_a_graph_waits_for_consent_and_goes_on_in_another_store(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    thread: RunnableConfig = {"configurable": {"thread_id": "t"}}
    script = [
        call("memory_add", content="Ana plays the cello", theme="music"),
        call("memory_search", query="cello"),
        AIMessage("The cello."),
    ]

    def opened() -> tuple[Memory, Any]:
        memory = open_store(backend_url)
        user = memory.user("ana")
        saver, store = RicordoSaver(user), RicordoStore(user)
        options = {"checkpointer": saver, "store": store, "interrupt_before": ["tools"]}
        return memory, agent(script, memory_tool_node(user), **options)

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

    _, graph = opened()
    done = graph.invoke(None, thread)
    assert done["messages"][-1].content == "The cello."
    added, found = told(done)
    assert added == {"id": kept.id, "status": "active"}
    assert [one["id"] for one in found["results"]] == [kept.id]


def test_two_users_of_one_graph_never_meet(memory: Memory) -> None:
    node = memory_tool_node(user_of_config(memory), "standard", "profile")

    def turn(user_id: str, name: str, /, **arguments: Any) -> Any:
        graph = agent([call(name, **arguments), AIMessage("done")], node)
        return told(graph.invoke(said("hello"), {"configurable": {"user_id": user_id}}))[0]

    kept = turn("ana", "memory_store", key="drink", value="Green tea")
    assert turn("ben", "memory_search", query="tea")["results"] == []
    for name, arguments in (
        ("memory_get", {"id": kept["id"]}),
        ("memory_archive", {"id": kept["id"]}),
        ("memory_forget", {"key": "drink"}),
        ("memory_search", {"query": "tea", "user_id": "ana"}),
    ):
        answer = turn("ben", name, **arguments)
        assert answer["error"]["type"] in {"MemoryNotFound", "UnknownField"}
    found = turn("ana", "memory_search", query="tea")
    assert [one["content"] for one in found["results"]] == ["Drink: Green tea"]


def test_the_node_answers_several_calls_each_with_its_own_status(memory: Memory) -> None:
    node = memory_tool_node(memory.user("ana"))
    calls = [
        {"name": "memory_add", "args": {"content": "Ana likes tea"}, "id": "a"},
        {"name": "memory_get", "args": {"id": "x"}, "id": "b"},
        {"name": "no_such_tool", "args": {}, "id": "c"},
    ]
    asked: Any = {"messages": [AIMessage("", tool_calls=calls)]}
    for done in (alone(node).invoke(asked), asyncio.run(alone(node).ainvoke(asked))):
        answers = done["messages"][1:]
        by_call = {one.tool_call_id: one.status for one in answers}
        assert by_call == {"a": "success", "b": "error", "c": "error"}
        assert json.loads(answers[1].content)["error"]["type"] == "InvalidValue"
    assert len(memory.user("ana").list()) == 1
    with pytest.raises(InvalidValue, match="configurable.user_id: names no user"):
        alone(memory_tool_node(user_of_config(memory))).invoke(calling("memory_list_themes"))
    memory.close()
    done = alone(node).invoke(calling("memory_search", query="tea"))
    assert told(done)[0]["error"]["type"] == "StorageClosed"


def test_names_and_the_place_of_messages_can_be_chosen(memory: Memory) -> None:
    node = memory_tool_node(memory.user("ana"), "single", name="memory", messages_key="log")
    assert (node.name, list(node.tools_by_name)) == ("memory", ["memory"])
    graph: Any = StateGraph(dict).add_node("memory", node).add_edge(START, "memory").compile()
    asked = calling("memory", action="save", content="Ana likes tea")["messages"]
    assert graph.invoke({"log": asked})["log"][-1].status == "success"
    assert [one.content for one in memory.user("ana").list()] == ["Ana likes tea"]
