"""An adapter that is given the wrong object says what it wants, each with the same sentence."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from ricordo import AsyncMemory, InvalidValue, Memory
from ricordo.integrations import anthropic, langchain, langgraph, openai_agents, pydantic_ai

pytestmark = pytest.mark.requirement("integrations.wrong-object")

SYNC = "with memory = ricordo.open(…), got an object of type "
EITHER = "with memory = ricordo.open(…) or ricordo.open_async(…), got an object of type "
USER = "expected the memory of one user, memory.user('ana') "
USER_OR_FUNCTION = (
    "expected the memory of one user, memory.user('ana') (or a function that returns it) "
)
STORE = "expected a whole store "

GIVEN = {
    "UserMemory": lambda store, later: store.user("ana"),
    "Memory": lambda store, later: store,
    "AsyncUserMemory": lambda store, later: later.user("ana"),
    "AsyncMemory": lambda store, later: later,
    "str": lambda store, later: "ana",
    "NoneType": lambda store, later: None,
}


@pytest.fixture
def objects(memory: Memory) -> Iterator[dict[str, Any]]:
    later = AsyncMemory(memory)
    yield {name: make(memory, later) for name, make in GIVEN.items()}
    later._pool.close()


# What each is given, the sentence, and what it takes.
ADAPTERS: dict[str, tuple[Callable[[Any], object], str, set[str]]] = {
    "user_of_config": (langchain.user_of_config, "memory: " + STORE + SYNC, {"Memory"}),
    **{
        name: (adapter, f"{field}: " + USER_OR_FUNCTION + SYNC, {"UserMemory"})
        for name, field, adapter in (
            ("langchain.memory_tools", "who", langchain.memory_tools),
            ("RicordoSaver", "user", langgraph.RicordoSaver),
            ("RicordoStore", "user", langgraph.RicordoStore),
            ("memory_tool_node", "who", langgraph.memory_tool_node),
            ("MemoryToolset", "who", pydantic_ai.MemoryToolset),
        )
    },
    "anthropic.MemoryTool": (anthropic.MemoryTool, "user: " + USER + SYNC, {"UserMemory"}),
    "AsyncMemoryTool": (
        *(anthropic.AsyncMemoryTool, "user: " + USER + EITHER),
        {"UserMemory", "AsyncUserMemory"},
    ),
    "MemorySession": (
        *(lambda given: openai_agents.MemorySession(given, "s"), "user: " + USER + EITHER),
        {"UserMemory", "AsyncUserMemory"},
    ),
    "openai_agents.memory_tools": (
        *(openai_agents.memory_tools, "who: " + USER_OR_FUNCTION + EITHER),
        {"UserMemory", "AsyncUserMemory"},
    ),
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_it_is_refused_at_once(name: str, objects: dict[str, Any]) -> None:
    adapter, sentence, taken = ADAPTERS[name]
    for kind, given in objects.items():
        if kind in taken:
            adapter(given)
            continue
        with pytest.raises(InvalidValue) as refused:
            adapter(given)
        assert str(refused.value) == sentence + kind


def test_so_is_what_a_function_returns(objects: dict[str, Any]) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    for kind in ("Memory", "AsyncUserMemory", "str", "NoneType"):

        def returned(_asked: object, given: Any = objects[kind]) -> Any:
            return given

        search = langchain.memory_tools(returned)[0]
        with pytest.raises(InvalidValue) as refused:
            search.run({"query": "tea"}, config=config)
        assert str(refused.value) == "who: " + USER + SYNC + kind
        with pytest.raises(InvalidValue) as refused:
            langgraph.RicordoSaver(returned).get_tuple(config)
        assert str(refused.value) == "user: " + USER + SYNC + kind
