"""Memory as tools of LangChain: what models are told, whose memory it is, and what goes wrong."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ricordo import InvalidValue, Memory
from ricordo.integrations.langchain import memory_tools, user_of_config
from ricordo.testing.model_server import ModelServer
from ricordo.tools import TOOL_SETS, Tools
from tests.integrations.chat_model import ServedChatModel
from tests.integrations.slow_embedder import HeldEmbedder

pytestmark = pytest.mark.requirement("integrations.langchain")


@pytest.fixture
def tea(sqlite_url: str, open_store: Callable[..., Memory]) -> Memory:
    """A store in which ana likes tea, and ben has nothing."""
    memory = open_store(sqlite_url)
    memory.user("ana").add("Ana likes green tea", theme="drinks")
    return memory


def of(user_id: str) -> RunnableConfig:
    return {"configurable": {"user_id": user_id}}


def named(tools: list[BaseTool], name: str) -> BaseTool:
    return next(tool for tool in tools if tool.name == name)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "call_7", "name": name, "args": arguments}


def contents(answer: str) -> list[str]:
    return [one["content"] for one in json.loads(answer)["results"]]


@pytest.mark.parametrize("sets", [(), *((name,) for name in TOOL_SETS), tuple(TOOL_SETS)])
def test_models_are_told_of_our_very_schemas(sets: tuple[str, ...], tea: Memory) -> None:
    ours = Tools(tea.user("ana"), *sets)
    tools = memory_tools(tea.user("ana"), *sets)
    assert [convert_to_openai_tool(tool) for tool in tools] == ours.openai()
    assert [tool.args for tool in tools] == [one.input_schema()["properties"] for one in ours.tools]


def test_a_model_uses_them_over_the_wire(memory: Memory) -> None:
    """The whole loop on both databases: a real client, a real server, and a second run."""
    tools = memory_tools(memory.user("ana"))
    with ModelServer() as server:
        server.answer_calling("memory_add", {"content": "Ana plays the cello", "theme": "music"})
        server.answer_calling("memory_search", {"query": "cello", "limit": 3})
        server.answer("The cello.")
        model = ServedChatModel(base_url=server.base_url).bind_tools(tools)
        messages: list[BaseMessage] = [HumanMessage("What do I play?")]
        while True:
            answer = model.invoke(messages)
            messages.append(answer)
            if not answer.tool_calls:
                break
            messages += [
                named(tools, one["name"]).invoke({**one, "type": "tool_call"})
                for one in answer.tool_calls
            ]
        assert server.requests[0].body["tools"] == Tools(memory.user("ana")).openai()
        told = [one["content"] for one in server.asked[-1] if one["role"] == "tool"]
    assert answer.text == "The cello."
    (kept,) = memory.user("ana").list()
    assert (kept.content, kept.theme) == ("Ana plays the cello", "music")
    assert json.loads(told[0]) == {"id": kept.id, "status": "active"}
    assert contents(told[1]) == ["Ana plays the cello"]


def test_answers_are_compact_json_and_the_same_asynchronously(tea: Memory) -> None:
    search = named(memory_tools(tea.user("ana")), "memory_search")
    whole = search.invoke(call("memory_search", query="green tea"))
    assert isinstance(whole, ToolMessage)
    assert (whole.status, whole.tool_call_id, whole.name) == ("success", "call_7", "memory_search")
    assert whole.content == Tools(tea.user("ana")).call("memory_search", {"query": "green tea"})
    again = asyncio.run(search.ainvoke(call("memory_search", query="green tea")))
    assert again.content == whole.content
    assert search.invoke({"query": "green tea"}) == whole.content


def test_the_config_says_whose_memory_it_is(tea: Memory) -> None:
    search = named(memory_tools(user_of_config(tea)), "memory_search")
    assert contents(search.invoke({"query": "tea"}, of("ana"))) == ["Ana likes green tea"]
    assert contents(search.invoke({"query": "tea"}, of("ben"))) == []
    assert contents(asyncio.run(search.ainvoke({"query": "tea"}, of("ben")))) == []
    by_account = memory_tools(user_of_config(tea, key="account"))
    answer = named(by_account, "memory_search").invoke(
        {"query": "tea"}, {"configurable": {"account": "ana"}}
    )
    assert contents(answer) == ["Ana likes green tea"]


@pytest.mark.parametrize(
    "made_up",
    [
        {"user_id": "ana"},
        {"user": "ana"},
        {"configurable": {"user_id": "ana"}},
        {"config": {"configurable": {"user_id": "ana"}}},
        {"self": "ana"},
        {"func": "ana"},
        {"run_manager": "ana"},
        {"callbacks": ["ana"]},
    ],
)
def test_a_model_can_never_choose_the_user(made_up: dict[str, Any], tea: Memory) -> None:
    search = named(memory_tools(user_of_config(tea)), "memory_search")
    asked = call("memory_search", query="tea", **made_up)
    for answer in (search.invoke(asked, of("ben")), asyncio.run(search.ainvoke(asked, of("ben")))):
        assert "green tea" not in answer.content
        told = json.loads(answer.content)
        if "config" in made_up:  # LangChain puts its own in this place
            assert told["results"] == []
        else:
            assert told["error"]["type"] == "UnknownField"


@pytest.mark.parametrize("config", [None, {}, {"configurable": {}}, of(7)])  # type: ignore[arg-type]
def test_a_call_that_names_no_user_reaches_nobody(config: Any, tea: Memory) -> None:
    search = named(memory_tools(user_of_config(tea)), "memory_search")
    with pytest.raises(InvalidValue, match=r"configurable.user_id: names no user; call with conf"):
        search.invoke(call("memory_search", query="tea"), config)
    with pytest.raises(InvalidValue, match="names no user"):
        search.run({"query": "tea"}, config=config)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "message"),
    [
        ("memory_get", {"id": 99}, "MemoryNotFound", "no memory 99"),
        ("memory_get", {"id": "first"}, "InvalidValue", "id: 'first' is not a whole number"),
        ("memory_get", {}, "InvalidValue", "id: is missing"),
        ("memory_add", {"content": "x", "type": "rumour"}, "InvalidValue", "type: 'rumour'"),
        ("memory_add", {"content": "x", "colour": "red"}, "UnknownField", "'colour'; allowed"),
    ],
)
def test_errors_are_told_to_the_model(
    name: str, arguments: dict[str, Any], kind: str, message: str, tea: Memory
) -> None:
    tool = named(memory_tools(tea.user("ana")), name)
    answer = tool.invoke(call(name, **arguments))
    assert answer.status == "error"
    told = json.loads(answer.content)["error"]
    assert told["type"] == kind
    assert message in told["message"]
    assert told["hint"]
    assert asyncio.run(tool.ainvoke(call(name, **arguments))) == answer
    assert tool.invoke(arguments) == answer.content


def test_a_store_that_is_closed_is_told_too(tea: Memory) -> None:
    search = named(memory_tools(tea.user("ana")), "memory_search")
    tea.close()
    answer = search.invoke(call("memory_search", query="tea"))
    assert answer.status == "error"
    assert json.loads(answer.content)["error"]["type"] == "StorageClosed"


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


def test_unknown_sets_are_refused(tea: Memory) -> None:
    with pytest.raises(InvalidValue, match="there is no set 'all'; allowed: standard, single"):
        memory_tools(tea.user("ana"), "all")
