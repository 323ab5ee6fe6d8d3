"""The tools over MCP are those of the library: the same list, the same answers, the same errors."""

import asyncio
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from ricordo import Memory, Tools
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.mcp.binding import Asked, Binding
from ricordo.mcp.server import server_for
from ricordo.tools import TOOL_SETS, chosen
from tests.mcp.legs import MODES, done, in_process, value_of

pytestmark = pytest.mark.requirement("mcp.tools")

CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "standard": [
        ("memory_add", {"content": "Drinks green tea.", "theme": "Food", "tags": ["drinks"]}),
        ("memory_search", {"query": "tea", "limit": 3, "theme": "food", "types": ["fact"]}),
        ("memory_list_themes", {}),
        ("memory_get", {"id": "ID"}),
        ("memory_archive", {"id": "ID", "reason": "No longer so."}),
        ("memory_search", {"query": "*", "status": "any"}),
    ],
    "single": [
        ("memory", {"action": "save", "content": "Lives in Porto.", "key": "city"}),
        ("memory", {"action": "search", "query": "where"}),
        ("memory", {"action": "list", "limit": 1}),
        ("memory", {"action": "forget", "key": "city"}),
    ],
    "query": [("memory_query", {"query": "What does she drink?", "top_k": 2})],
    "profile": [
        ("memory_store", {"key": "pet", "value": "A dog named Rex."}),
        ("memory_search", {"query": "dog"}),
        ("update_user_profile", {"fields": {"city": "Porto"}}),
        ("memory_forget", {"key": "pet"}),
    ],
}
MISTAKES: list[tuple[str, dict[str, Any] | None]] = [
    ("memory_swim", {}),
    ("memory_query", {"query": "a tool of another set"}),
    ("memory_add", None),
    ("memory_add", {"content": ""}),
    ("memory_add", {"content": "x", "colour": "blue"}),
    ("memory_add", {"content": "x", "type": "rumour"}),
    ("memory_add", {"content": "x" * (MAX_CONTENT_CHARS + 1)}),
    ("memory_get", {"id": 0}),
    ("memory_get", {"id": 987_654_321}),
    ("memory_get", {"id": "seven"}),
    ("memory_search", {"query": "tea", "limit": 10_000}),
]


def test_the_calls_are_of_every_tool() -> None:
    called = {name: {tool for tool, _ in calls} for name, calls in CALLS.items()}
    assert called == {name: {tool.name for tool in tools} for name, tools in TOOL_SETS.items()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sets", [(), *((name,) for name in TOOL_SETS), tuple(TOOL_SETS)])
def test_the_tools_of_the_sets_are_listed(memory: Memory, sets: tuple[str, ...], mode: str) -> None:
    async def listed() -> list[Any]:
        async with in_process(memory.user("ana"), *sets, mode=mode) as client:
            found = await client.list_tools()
            assert found.next_cursor is None
            return found.tools

    for told, tool in zip(asyncio.run(listed()), chosen(*sets), strict=True):
        assert (told.name, told.title, told.description) == (
            tool.name,
            tool.title,
            tool.description,
        )
        assert told.input_schema == tool.input_schema()
        hints = told.annotations
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == (
            tool.reads_only,
            tool.destructive,
            tool.idempotent,
        )
        assert hints.open_world_hint is False


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TOOL_SETS)
def test_every_tool_answers_as_the_library_does(memory: Memory, name: str, mode: str) -> None:
    direct = Tools(memory.user("ben"), name)

    async def talk() -> None:
        async with in_process(memory.user("ana"), name, mode=mode) as client:
            mine = theirs = 0
            for tool, arguments in CALLS[name]:
                asked = {**arguments, "id": mine} if arguments.get("id") == "ID" else arguments
                over_mcp = await done(client, tool, **asked)
                asked = {**arguments, "id": theirs} if arguments.get("id") == "ID" else arguments
                expected = direct.run(tool, asked)
                assert not expected.is_error, expected
                mine, theirs = over_mcp.get("id", mine), expected.value.get("id", theirs)
                assert _without_ids(over_mcp) == _without_ids(expected.value)

    asyncio.run(talk())


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ids(inner) for key, inner in value.items() if key != "id"}
    return [_without_ids(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("mode", MODES)
def test_a_mistake_is_told_to_the_model_as_the_library_tells_it(memory: Memory, mode: str) -> None:
    ana = memory.user("ana")
    direct = Tools(ana)

    async def talk() -> None:
        async with in_process(ana, mode=mode) as client:
            for name, arguments in MISTAKES:
                result = await client.call_tool(name, arguments)
                assert result.is_error
                assert value_of(result) == direct.run(name, arguments).value
                assert set(value_of(result)["error"]) == {"type", "message", "hint"}

    asyncio.run(talk())
    assert memory.user("ana").list().items == ()


HOSTILE = {
    "long": "é" * MAX_CONTENT_CHARS,
    "emoji": "👩‍👩‍👧‍👦 🇮🇩 loves 🍵",
    "signs": 'quotes " \\ and </ricordo-memory> {"jsonrpc":"2.0"} \u2028\u2029 lines\n\n\tand more',
    "scripts": "Minum teh 每天早上 喝茶 كل صباح",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_is_said_survives(memory: Memory, content: str, mode: str) -> None:
    async def talk() -> str:
        async with in_process(memory.user("ana"), mode=mode) as client:
            added = await done(client, "memory_add", content=content)
            told: str = (await done(client, "memory_get", id=added["id"]))["content"]
            return told

    assert asyncio.run(talk()) == content == memory.user("ana").list().items[0].content


@pytest.mark.parametrize("content", ["a\x00b", "\x1b[2J", "\x07"])
def test_control_characters_are_treated_as_the_library_does(memory: Memory, content: str) -> None:
    expected = Tools(memory.user("ben")).run("memory_add", {"content": content})

    async def talk() -> dict[str, Any]:
        async with in_process(memory.user("ana")) as client:
            return value_of(await client.call_tool("memory_add", {"content": content}))

    assert _without_ids(asyncio.run(talk())) == _without_ids(expected.value)


@pytest.mark.parametrize("mode", MODES)
def test_a_fault_that_nobody_foresaw_is_not_quoted(mode: str) -> None:
    def who(_asked: Asked) -> Binding:
        raise ZeroDivisionError("Drinks green tea")

    async def talk() -> None:
        async with Client(server_for(who), mode=mode) as client:
            for asking in (client.list_tools(), client.call_tool("memory_search", {})):
                with pytest.raises(MCPError) as caught:
                    await asking
                assert caught.value.code == INTERNAL_ERROR
                assert "tea" not in str(caught.value.error)

    asyncio.run(talk())


def test_the_library_traces_nothing_on_its_own(memory: Memory) -> None:
    server = server_for(lambda _asked: Binding(memory.user("ana")))
    assert server.middleware == []  # its spans would carry what errors quote
