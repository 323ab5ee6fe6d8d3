"""Memory as a toolset of Pydantic AI: real agents, the real client, and a scripted server."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from ricordo import InvalidValue, Memory, UserMemory
from ricordo.integrations.pydantic_ai import MemoryToolset
from ricordo.tools import TOOL_SETS, Tools
from tests.integrations.slow_embedder import HeldEmbedder
from tests.support.endpoints import FaultyModel
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("integrations.pydantic-ai")


def run(
    server: FaultyModel, toolset: MemoryToolset[Any], deps: object = None, **options: Any
) -> str:
    """One run of an agent; what it says in the end."""

    async def talk() -> str:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            model = OpenAIChatModel(server.model, provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, toolsets=[toolset], deps_type=object, **options)
            return (await agent.run("Hello", deps=deps)).output

    return asyncio.run(talk())


def told(server: FaultyModel) -> list[str]:
    """What the tools said to the model in the latest run."""
    return [one["content"] for one in server.prompts[-1] if one["role"] == "tool"]


def seen_by_the_model(toolset: MemoryToolset[Any]) -> AgentInfo:
    """What an agent gives its model."""
    seen: list[AgentInfo] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse(parts=[TextPart("Hi.")])

    asyncio.run(Agent(FunctionModel(answer), toolsets=[toolset]).run("Hello"))
    return seen[0]


def test_models_are_told_of_our_very_schemas_and_of_the_guide(tea: Memory) -> None:
    ana = tea.user("ana")
    ours = Tools(ana, *TOOL_SETS).tools
    theirs = seen_by_the_model(MemoryToolset(ana, *TOOL_SETS)).function_tools
    assert [(one.name, one.description, one.parameters_json_schema) for one in theirs] == [
        (one.name, one.description, one.input_schema()) for one in ours
    ]
    assert [one.metadata for one in theirs] == [
        {
            "read_only": one.reads_only,
            "destructive": one.destructive,
            "idempotent": one.idempotent,
        }
        for one in ours
    ]
    guide = Tools(ana, "profile").guide()
    assert "drinks" in guide
    assert seen_by_the_model(MemoryToolset(ana, "profile")).instructions == guide
    without = MemoryToolset[object](ana, "profile", instructions=False)
    assert seen_by_the_model(without).instructions is None
    with pytest.raises(InvalidValue, match="there is no set 'all'; allowed: standard, single"):
        MemoryToolset[object](ana, "all")


def test_the_deps_say_whose_memory_it_is(memory: Memory) -> None:
    toolset: MemoryToolset[Any] = MemoryToolset(
        lambda ctx: memory.user(ctx.deps), "standard", "profile"
    )
    with FaultyModel() as server:

        def turn(user_id: str, name: str, /, **arguments: Any) -> str:
            server.answer_calling(name, arguments)
            server.answer("done")
            run(server, toolset, deps=user_id)
            return told(server)[-1]

        kept = json.loads(turn("ana", "memory_store", key="drink", value="Green tea"))
        assert json.loads(turn("ben", "memory_search", query="tea"))["results"] == []
        assert "no memory" in turn("ben", "memory_get", id=kept["id"])
        assert "no memory" in turn("ben", "memory_archive", id=kept["id"])
        assert "no memory" in turn("ben", "memory_forget", key="drink")
        for made_up in ("user_id", "ctx"):
            answer = turn("ben", "memory_search", query="tea", **{made_up: "ana"})
            assert f"unknown argument '{made_up}'" in answer
        found = json.loads(turn("ana", "memory_search", query="tea"))
        assert [one["content"] for one in found["results"]] == ["Drink: Green tea"]


def test_what_a_model_can_mend_it_is_asked_to(tea: Memory) -> None:
    with FaultyModel() as server:
        for arguments in ({"id": "first"}, {"id": 99}, {"id": 1}):
            server.answer_calling("memory_get", arguments)
        server.answer("Green tea.")
        assert run(server, MemoryToolset(tea.user("ana")), retries=5) == "Green tea."
        wrong, unknown, found = told(server)
    assert "id: 'first' is not a whole number" in wrong and "Fix the call" in wrong
    assert "no memory 99" in unknown and "Look it up again" in unknown
    assert json.loads(found)["content"] == "Ana likes green tea"


@pytest.mark.parametrize("retries", [0, 2])
def test_what_a_model_cannot_mend_does_not_end_the_run(retries: int, tea: Memory) -> None:
    with FaultyModel() as server:
        server.answer_calling("memory_get", {"id": 99}, times=retries + 1)
        server.answer("I do not know.")
        assert run(server, MemoryToolset(tea.user("ana")), retries=retries) == "I do not know."
        answers = told(server)
    assert len(answers) == retries + 1
    assert json.loads(answers[-1])["error"]["type"] == "MemoryNotFound"


@pytest.mark.parametrize(
    ("fault", "name", "arguments"),
    [
        ("StorageClosed", "memory_search", {"query": "tea"}),
        ("InvalidPolicy", "memory_query", {"query": "tea"}),
        ("NotOwner", "memory_archive", {"id": 1}),
    ],
)
def test_what_is_no_fault_of_the_model_is_not_tried_again(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    tmp_path: Path,
    fault: str,
    name: str,
    arguments: dict[str, Any],
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("allowlists: {}\n", encoding="utf-8")
    memory = open_store(sqlite_url, policy_file=policy)
    share(memory.user("ana"), memory.user("ana").add("Ana likes green tea").id, "ben")
    policy.write_text("no policy", encoding="utf-8")
    if fault == "StorageClosed":
        memory.close()
    with FaultyModel() as server:
        server.answer_calling(name, arguments)
        server.answer("I cannot.")
        toolset: MemoryToolset[Any] = MemoryToolset(memory.user("ben"), "standard", "query")
        assert run(server, toolset, retries=5) == "I cannot."
        (answer,) = told(server)
    assert json.loads(answer)["error"]["type"] == fault


def test_neither_a_slow_call_nor_finding_out_the_user_holds_up_the_loop(tea: Memory) -> None:
    held = HeldEmbedder()

    def looked_up(ctx: object) -> UserMemory:
        held.embed(["who?"])
        return tea.user("ana")

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("Hi.")])

    async def talk() -> str:
        agent = Agent(FunctionModel(answer), toolsets=[MemoryToolset(looked_up)])
        talking = asyncio.create_task(agent.run("Hi"))
        await asyncio.to_thread(held.begun.wait)
        held.may_end.set()  # only a loop that goes on gets here
        return (await talking).output

    assert asyncio.run(talk()) == "Hi."
    assert held.was_let_go
