"""Memory as tools of LangChain: what models are told, whose memory it is, and what goes wrong."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ricordo import InvalidValue, Memory
from ricordo.integrations.langchain import memory_tools, user_of_config
from ricordo.tools import TOOL_SETS, Tools
from tests.integrations.slow_embedder import HeldEmbedder

pytestmark = pytest.mark.requirement("integrations.langchain")


def of(user_id: str) -> RunnableConfig:
    return {"configurable": {"user_id": user_id}}


def named(tools: list[BaseTool], name: str) -> BaseTool:
    return next(tool for tool in tools if tool.name == name)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "call_7", "name": name, "args": arguments}


def contents(answer: str) -> list[str]:
    return [one["content"] for one in json.loads(answer)["results"]]


def test_models_are_told_of_our_very_schemas(tea: Memory) -> None:
    ours = Tools(tea.user("ana"), *TOOL_SETS)
    tools = memory_tools(tea.user("ana"), *TOOL_SETS)
    assert [convert_to_openai_tool(tool) for tool in tools] == ours.openai()
    assert [tool.args for tool in tools] == [one.input_schema()["properties"] for one in ours.tools]
    assert [tool.name for tool in memory_tools(tea.user("ana"))] == [
        one.name for one in Tools(tea.user("ana")).tools
    ]
    with pytest.raises(InvalidValue, match="there is no set 'all'; allowed: standard, single"):
        memory_tools(tea.user("ana"), "all")


def test_the_config_says_whose_memory_it_is(tea: Memory) -> None:
    search = named(memory_tools(user_of_config(tea)), "memory_search")
    whole = search.invoke(call("memory_search", query="green tea"), of("ana"))
    assert isinstance(whole, ToolMessage)
    assert (whole.status, whole.tool_call_id, whole.name) == ("success", "call_7", "memory_search")
    assert whole.content == Tools(tea.user("ana")).call("memory_search", {"query": "green tea"})
    assert asyncio.run(search.ainvoke({"query": "green tea"}, of("ana"))) == whole.content
    assert contents(search.invoke({"query": "tea"}, of("ben"))) == []
    assert contents(asyncio.run(search.ainvoke({"query": "tea"}, of("ben")))) == []
    by_account = named(memory_tools(user_of_config(tea, key="account")), "memory_search")
    answer = by_account.invoke({"query": "tea"}, {"configurable": {"account": "ana"}})
    assert contents(answer) == ["Ana likes green tea"]


def test_a_model_can_never_choose_the_user(tea: Memory) -> None:
    search = named(memory_tools(user_of_config(tea)), "memory_search")
    made_up: list[dict[str, Any]] = [
        {"user_id": "ana"},
        {"user": "ana"},
        {"configurable": {"user_id": "ana"}},
        {"config": {"configurable": {"user_id": "ana"}}},
        {"self": "ana"},
        {"func": "ana"},
        {"run_manager": "ana"},
        {"callbacks": ["ana"]},
    ]
    for made in made_up:
        asked = call("memory_search", query="tea", **made)
        later = asyncio.run(search.ainvoke(asked, of("ben")))
        for answer in (search.invoke(asked, of("ben")), later):
            assert "green tea" not in answer.content
            told = json.loads(answer.content)
            if "config" in made:  # LangChain puts its own in this place
                assert told["results"] == []
            else:
                assert told["error"]["type"] == "UnknownField"


def test_a_call_that_names_no_user_reaches_nobody(tea: Memory) -> None:
    search = named(memory_tools(user_of_config(tea)), "memory_search")
    configs: list[Any] = [None, {}, {"configurable": {}}, {"configurable": {"user_id": 7}}]
    for config in configs:
        with pytest.raises(InvalidValue, match=r"configurable.user_id: names no user; call with"):
            search.invoke(call("memory_search", query="tea"), config)
        with pytest.raises(InvalidValue, match="names no user"):
            search.run({"query": "tea"}, config=config)


def test_errors_are_told_to_the_model(tea: Memory) -> None:
    tool = named(memory_tools(tea.user("ana")), "memory_get")

    def error(**arguments: Any) -> tuple[str, str]:
        answer = tool.invoke(call("memory_get", **arguments))
        assert answer.status == "error"
        assert asyncio.run(tool.ainvoke(call("memory_get", **arguments))) == answer
        assert tool.invoke(arguments) == answer.content
        told = json.loads(answer.content)["error"]
        assert told["hint"]
        return told["type"], told["message"]

    assert error(id=99) == ("MemoryNotFound", "no memory 99")
    kind, message = error(id="first")
    assert kind == "InvalidValue" and "id: 'first' is not a whole number" in message
    kind, message = error(id=1, colour="red")
    assert kind == "UnknownField" and "'colour'; allowed" in message
    tea.close()
    assert error(id=1)[0] == "StorageClosed"


def test_a_slow_call_does_not_hold_up_the_loop(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = HeldEmbedder()
    memory = open_store(sqlite_url, embedder=embedder)
    search = named(memory_tools(memory.user("ana")), "memory_search")

    async def run() -> str:
        searching = asyncio.create_task(search.ainvoke({"query": "tea"}))
        await asyncio.to_thread(embedder.begun.wait)
        embedder.may_end.set()  # only a loop that goes on gets here
        return str(await searching)

    assert contents(asyncio.run(run())) == []
    assert embedder.was_let_go
