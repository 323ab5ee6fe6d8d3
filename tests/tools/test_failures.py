"""What a model is told when a call fails: what was wrong and what to do, never an exception."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo import AsyncTools, Memory, RicordoError, Tools, UnknownField
from ricordo import errors as tree
from ricordo.tools import TOOL_SETS
from ricordo.tools.answers import HINT_OF, told

pytestmark = pytest.mark.requirement("tools.errors")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
ARGUMENT_NAMES = st.sampled_from(
    sorted({one.name for tools in TOOL_SETS.values() for tool in tools for one in tool.parameters})
)


NESTED: list[Any] = []
for _ in range(5_000):
    NESTED = [NESTED]


MISTAKES: list[tuple[str, Any, str, str]] = [
    ("memory_get", {"id": 99}, "MemoryNotFound", "no memory 99"),
    ("memory_get", {"id": "7"}, "InvalidValue", "id: '7' is not a whole number"),
    ("memory_get", {}, "InvalidValue", "id: is missing"),
    ("memory_get", {"id": 1, "x": 2}, "UnknownField", "unknown argument 'x'; allowed: id"),
    ("memory_add", {"content": " "}, "InvalidValue", "content"),
    ("memory_add", {"content": "x" * 8_001}, "InvalidValue", "8000"),
    ("memory_add", {"content": "x", "type": "idea"}, "InvalidValue", "preference"),
    ("memory_search", {"limit": 1_000}, "InvalidValue", "50"),
    ("memory_search", {"status": "deleted"}, "InvalidValue", "active, archived"),
    ("memory_add", "{not json", "InvalidValue", "arguments: are not JSON"),
    ("memory_add", "[1]", "InvalidValue", "arguments: expected an object, got list"),
    ("memory_find", {}, "UnknownField", "allowed: memory_add, memory_archive, memory_get"),
    ("memory_store", {}, "UnknownField", "unknown tool 'memory_store'"),
    ("memory_get", {"id": 10**5_000}, "InvalidValue", "id: this int is not a whole number"),
    ("memory_get", {"id": NESTED}, "InvalidValue", "id: this list is not a whole number"),
    ("memory_get", '{"id": 1' + "0" * 5_000 + "}", "InvalidValue", "arguments: have a number"),
    ("memory_get", "[" * 100_000, "InvalidValue", "or are too deep"),
]


def test_a_mistake_is_told_with_what_is_allowed(memory: Memory) -> None:
    ana = memory.user("ana")
    for name, arguments, kind, says in MISTAKES:
        result = Tools(ana).run(name, arguments)
        assert result.is_error
        error = json.loads(result.text)["error"]
        assert error["type"] == kind
        assert says in error["message"]
        assert error["hint"]
    for filters in (1, "food", ["food"], [{"tags": "x"}], True):
        asked = {"query": "tea", "filters": filters}
        answer = Tools(ana, "query").run("memory_query", asked).value["error"]["message"]
        assert answer.startswith("filters: expected an object, got ")
    assert len(ana.list()) == 0


def test_what_is_told_stays_short(memory: Memory) -> None:
    tools = Tools(memory.user("ana"))
    for name, arguments in (
        ("y" * 100_000, {}),
        ("memory_get", {"x" * 100_000: 1}),
        ("memory_get", {f"{one}{'x' * 1_000}": 1 for one in range(1_000)}),
    ):
        assert len(tools.call(name, arguments)) < 3_000


def every_kind(kind: type[RicordoError] = RicordoError) -> Iterator[type[RicordoError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == tree.__name__:
            yield from every_kind(below)


def test_every_error_has_something_to_do() -> None:
    for kind in every_kind():
        error = kind.__new__(kind)
        Exception.__init__(error, "why")
        answer = told(error, "/nowhere")["error"]
        assert answer["type"] == kind.__name__
        assert answer["hint"] in HINT_OF.values()
        gives_up = not issubclass(kind, (tree.InvalidInput, tree.NotFound, tree.Conflict))
        assert gives_up or kind is tree.InvalidPolicy or "do not try again" not in answer["hint"]


def test_a_fault_of_the_store_does_not_say_where_it_is(tmp_path: Path) -> None:
    with ricordo.open(tmp_path / "secret-place.db", run_jobs=False) as memory:
        tools = Tools(memory.user("ana"))
    answer = tools.run("memory_search", {"query": "tea"})
    assert answer.value["error"]["type"] == "StorageClosed"
    assert "Go on without it" in answer.value["error"]["hint"]
    assert "secret-place" not in answer.text


def test_functions_raise_what_the_library_raises(memory: Memory) -> None:
    functions = Tools(memory.user("ana")).functions()
    with pytest.raises(tree.MemoryNotFound):
        functions["memory_get"](id=99)
    with pytest.raises(UnknownField):
        functions["memory_get"](number=99)
    assert functions["memory_add"](content="Has a cat")["status"] == "active"


@pytest.mark.fuzz
def test_nothing_from_a_model_raises() -> None:
    with ricordo.open(":memory:", embedding_provider="none", run_jobs=False) as memory:
        tools = Tools(memory.user("ana"), *TOOL_SETS)

        @given(name=st.sampled_from(tools.names) | st.text(max_size=10), raw=st.text(max_size=30))
        def call_with_text(name: str, raw: str) -> None:
            json.loads(tools.call(name, raw))

        @given(
            name=st.sampled_from(tools.names),
            arguments=st.dictionaries(ARGUMENT_NAMES, JSON, max_size=4),
        )
        def call_with_arguments(name: str, arguments: dict[str, Any]) -> None:
            as_object = tools.run(name, arguments)
            assert isinstance(json.loads(as_object.text), dict)
            assert as_object.error is None or isinstance(as_object.error, RicordoError)

        call_with_text()
        call_with_arguments()


def test_asynchronous_tools_answer_the_same(backend_url: str) -> None:
    async def both() -> tuple[str, str, str]:
        async with await ricordo.open_async(backend_url, run_jobs=False) as memory:
            tools = AsyncTools(memory.user("ana"), "standard", "profile")
            added = await tools.call("memory_add", '{"content":"Has a cat"}')
            refused = await tools.run("memory_get", {"id": 99})
            assert refused.is_error
            assert "memory_store" in tools.names
            assert tools.openai()[0]["function"]["name"] == "memory_search"
            told = added, refused.text, await tools.guide()
        closed = json.loads(await tools.call("memory_search", {"query": "tea"}))
        assert closed["error"]["type"] == "StorageClosed"
        assert "unavailable" in await tools.guide()
        return told

    added, refused, guide = asyncio.run(both())
    with ricordo.open(backend_url, run_jobs=False) as memory:
        tools = Tools(memory.user("ana"), "standard", "profile")
        again = json.loads(tools.call("memory_add", {"content": "Has a cat"}))
        assert again == {**json.loads(added), "duplicate": True}
        assert tools.call("memory_get", {"id": 99}) == refused
        assert tools.guide() == guide
