"""Agents of the OpenAI Agents SDK with sessions and tools on a store, and a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    RunContextWrapper,
    Runner,
)
from openai import AsyncOpenAI

from ricordo import AsyncMemory, InvalidValue, Memory, UserMemory
from ricordo.integrations.openai_agents import MemorySession, Who, memory_tools
from ricordo.tools import TOOL_SETS
from tests.integrations.slow_embedder import HeldEmbedder
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("integrations.openai-agents")

Speaks = type[OpenAIResponsesModel] | type[OpenAIChatCompletionsModel]
UNTRACED = RunConfig(tracing_disabled=True)


@pytest.fixture
def model() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        yield server


@asynccontextmanager
async def agent_with(
    server: FaultyModel, who: Who, *sets: str, speaks: Speaks = OpenAIResponsesModel
) -> AsyncIterator[Agent[Any]]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:
        chosen = speaks(model="test-model", openai_client=client)
        yield Agent(name="helper", model=chosen, tools=[*memory_tools(who, *sets)])


def turns(user: UserMemory, thread: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in user.turns(thread)]


@pytest.mark.parametrize("streams", [pytest.param(False, marks=pytest.mark.matrix), True])
def test_two_runs_remember_through_the_session(
    model: FaultyModel, ana: UserMemory, streams: bool
) -> None:
    model.answer_calling("memory_add", {"content": "Ana drinks green tea.", "theme": "drinks"})
    model.answer("Noted.")
    model.answer("Green tea.")

    async def ask(agent: Agent[Any], question: str) -> str:
        session = MemorySession(ana, "breakfast")
        if not streams:
            done = await Runner.run(agent, question, session=session, run_config=UNTRACED)
            return str(done.final_output)
        streamed = Runner.run_streamed(agent, question, session=session, run_config=UNTRACED)
        async for _ in streamed.stream_events():
            pass
        return str(streamed.final_output)

    async def run() -> list[str]:
        async with agent_with(model, ana) as agent:
            return [await ask(agent, "I drink green tea."), await ask(agent, "What do I drink?")]

    assert asyncio.run(run()) == ["Noted.", "Green tea."]
    sent = model.bodies[-1]["input"]
    kinds = ["user", "function_call", "function_call_output", "assistant", "user"]
    assert [item.get("role", item.get("type")) for item in sent] == kinds
    assert json.loads(sent[2]["output"])["status"] == "active"
    (item,) = ana.list()
    assert (item.content, item.theme) == ("Ana drinks green tea.", "drinks")
    said = ["I drink green tea.", "Noted.", "What do I drink?", "Green tea."]
    assert [text for _, text in turns(ana, "breakfast")] == said


def test_chat_completions_give_every_message_the_same_id(ana: UserMemory) -> None:
    """The SDK does, and none of them may be taken for one that is known already."""
    with FaultyModel() as server:
        server.answer("One.")
        server.answer("Two.")

        async def run() -> None:
            async with agent_with(server, ana, speaks=OpenAIChatCompletionsModel) as agent:
                for question in ("First?", "Second?"):
                    session = MemorySession(ana, "s")
                    await Runner.run(agent, question, session=session, run_config=UNTRACED)

        asyncio.run(run())
    assert turns(ana, "s") == [
        ("user", "First?"),
        ("assistant", "One."),
        ("user", "Second?"),
        ("assistant", "Two."),
    ]


def test_one_agent_serves_many_users(model: FaultyModel, memory: Memory) -> None:
    """Who is meant stands in the context of the run; whatever a model says, it cannot choose."""
    for name in ("ana", "ben"):
        memory.user(name).add(f"{name} drinks tea", theme="drinks")
    later = AsyncMemory(memory)

    def who(context: RunContextWrapper[Any]) -> UserMemory:
        return memory.user(context.context["user"])

    async def who_later(context: RunContextWrapper[Any]) -> Any:
        return later.user(context.context["user"])

    model.answer_with(lambda body: str(body["input"][-1]["output"]))

    async def ask(asked_by: Who, name: str, **more: str) -> str:
        model.answer_calling("memory_search", {"query": "tea", **more})
        async with agent_with(model, asked_by) as agent:
            context = {"user": name}
            done = await Runner.run(agent, "What?", context=context, run_config=UNTRACED)
            return str(done.final_output)

    for whose in (who, who_later):
        first = asyncio.run(ask(whose, "ana"))
        assert "ana drinks tea" in first and "ben" not in first
        refused = asyncio.run(ask(whose, "ben", user="ana", user_id="ana"))
        assert json.loads(refused)["error"]["type"] == "UnknownField"
        second = asyncio.run(ask(whose, "ben"))
        assert "ben drinks tea" in second and "ana" not in second


def test_tools_as_the_model_is_told_of_them(model: FaultyModel, ana: UserMemory) -> None:
    model.answer_calling("memory_query", {"query": 7})
    model.answer("I do not know.")

    async def run(who: Who) -> None:
        async with agent_with(model, who, "profile", "query") as agent:
            await Runner.run(agent, "Hello", run_config=UNTRACED)

    asyncio.run(run(ana))
    sent = {tool["name"]: tool for tool in model.bodies[0]["tools"]}
    expected = [*TOOL_SETS["profile"], *TOOL_SETS["query"]]
    assert list(sent) == [tool.name for tool in expected]
    for tool in expected:
        assert sent[tool.name]["parameters"] == tool.input_schema()
        assert sent[tool.name]["description"] == tool.description
        assert sent[tool.name]["strict"] is False
    assert json.loads(model.bodies[-1]["input"][-1]["output"])["error"]["type"] == "InvalidValue"
    with pytest.raises(InvalidValue, match="there is no set 'all'"):
        memory_tools(ana, "all")
    model.answer_calling("memory_query", {"query": "tea"})
    with pytest.raises(Exception, match="who: expected the memory of one user.*type str"):
        asyncio.run(run(lambda _context: "ana"))  # type: ignore[arg-type,return-value]


def test_a_slow_call_does_not_hold_up_the_loop(
    model: FaultyModel, sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = HeldEmbedder()
    user = open_store(sqlite_url, embedder=embedder).user("ana")
    model.answer_calling("memory_search", {"query": "tea"})
    model.answer("Nothing.")

    async def run() -> str:
        async with agent_with(model, user) as agent:
            talking = asyncio.create_task(Runner.run(agent, "What?", run_config=UNTRACED))
            await asyncio.to_thread(embedder.begun.wait)
            embedder.may_end.set()  # only a loop that goes on gets here
            return str((await talking).final_output)

    assert asyncio.run(run()) == "Nothing."
    assert embedder.was_let_go
