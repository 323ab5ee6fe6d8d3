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
from ricordo.testing.model_server import ModelServer
from ricordo.tools import TOOL_SETS, Tools
from tests.integrations.slow_embedder import HeldEmbedder

pytestmark = pytest.mark.requirement("integrations.pydantic-ai")


@pytest.fixture
def tea(sqlite_url: str, open_store: Callable[..., Memory]) -> Memory:
    """A store in which ana likes tea, and ben has nothing."""
    memory = open_store(sqlite_url)
    memory.user("ana").add("Ana likes green tea", theme="drinks")
    return memory


def run(
    server: ModelServer, toolset: MemoryToolset[Any], deps: object = None, **options: Any
) -> str:
    """One run of an agent; what it says in the end."""

    async def talk() -> str:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            model = OpenAIChatModel(server.model, provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, toolsets=[toolset], deps_type=object, **options)
            return (await agent.run("Hello", deps=deps)).output

    return asyncio.run(talk())


def told(server: ModelServer) -> list[str]:
    """What the tools said to the model in the latest run."""
    return [one["content"] for one in server.asked[-1] if one["role"] == "tool"]


def seen_by_the_model(toolset: MemoryToolset[Any]) -> AgentInfo:
    """What an agent gives its model."""
    seen: list[AgentInfo] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse(parts=[TextPart("Hi.")])

    asyncio.run(Agent(FunctionModel(answer), toolsets=[toolset]).run("Hello"))
    return seen[0]


@pytest.mark.parametrize("sets", [(), *((name,) for name in TOOL_SETS), tuple(TOOL_SETS)])
def test_models_are_told_of_our_very_schemas(sets: tuple[str, ...], tea: Memory) -> None:
    ours = Tools(tea.user("ana"), *sets).tools
    theirs = seen_by_the_model(MemoryToolset(tea.user("ana"), *sets)).function_tools
    assert [(one.name, one.description, one.parameters_json_schema) for one in theirs] == [
        (one.name, one.description, one.input_schema()) for one in ours
    ]
    hints = {one.name: one.metadata for one in theirs}
    assert hints == {
        one.name: {
            "read_only": one.reads_only,
            "destructive": one.destructive,
            "idempotent": one.idempotent,
        }
        for one in ours
    }


def test_an_agent_uses_them_over_the_wire(memory: Memory) -> None:
    with ModelServer() as server:
        server.answer_calling("memory_add", {"content": "Ana plays the cello", "theme": "music"})
        server.answer_calling("memory_search", {"query": "cello", "limit": 3})
        server.answer("The cello.")
        assert run(server, MemoryToolset(memory.user("ana"))) == "The cello."
        assert server.requests[0].body["tools"] == Tools(memory.user("ana")).openai()
        added, found = told(server)
    (kept,) = memory.user("ana").list()
    assert (kept.content, kept.theme) == ("Ana plays the cello", "music")
    assert json.loads(added) == {"id": kept.id, "status": "active"}
    assert found == Tools(memory.user("ana")).call("memory_search", {"query": "cello", "limit": 3})


def test_the_deps_say_whose_memory_it_is(memory: Memory) -> None:
    toolset: MemoryToolset[Any] = MemoryToolset(
        lambda ctx: memory.user(ctx.deps), "standard", "profile"
    )
    with ModelServer() as server:

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
        for made_up in ("user_id", "deps", "ctx", "self", "user"):
            answer = turn("ben", "memory_search", query="tea", **{made_up: "ana"})
            assert f"unknown argument of memory_search '{made_up}'" in answer
        found = json.loads(turn("ana", "memory_search", query="tea"))
        assert [one["content"] for one in found["results"]] == ["Drink: Green tea"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"id": "first"}, "id: 'first' is not a whole number", "Mend the call"),
        ({}, "id: is missing; memory_get needs it", "Mend the call"),
        ({"id": 99}, "no memory 99", "Look it up again"),
    ],
)
def test_what_a_model_can_mend_it_is_asked_to(
    arguments: dict[str, Any], message: str, hint: str, tea: Memory
) -> None:
    with ModelServer() as server:
        server.answer_calling("memory_get", arguments)
        server.answer_calling("memory_get", {"id": 1})
        server.answer("Green tea.")
        assert run(server, MemoryToolset(tea.user("ana"))) == "Green tea."
        retry, found = told(server)
    assert message in retry
    assert hint in retry
    assert json.loads(found)["content"] == "Ana likes green tea"


@pytest.mark.parametrize("retries", [0, 2])
def test_a_model_that_cannot_mend_it_does_not_end_the_run(retries: int, tea: Memory) -> None:
    with ModelServer() as server:
        server.answer_calling("memory_get", {"id": 99}, times=retries + 1)
        server.answer("I do not know.")
        assert run(server, MemoryToolset(tea.user("ana")), retries=retries) == "I do not know."
        answers = told(server)
    assert len(answers) == retries + 1
    assert json.loads(answers[-1])["error"]["type"] == "MemoryNotFound"


def test_what_is_not_allowed_is_not_tried_again(tea: Memory) -> None:
    tea.user("ana").link(1, "ben")
    with ModelServer() as server:
        server.answer_calling("memory_archive", {"id": 1})
        server.answer("It is not mine to change.")
        run(server, MemoryToolset(tea.user("ben")), retries=5)
        (answer,) = told(server)
    assert json.loads(answer)["error"]["type"] == "NotOwner"


def test_a_mistake_of_the_operator_is_not_for_the_model_to_mend(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("agents: {}\n", encoding="utf-8")
    memory = open_store(sqlite_url, policy_file=policy)
    policy.write_text("no policy", encoding="utf-8")
    with ModelServer() as server:
        server.answer_calling("memory_query", {"query": "tea"})
        server.answer("I cannot look it up.")
        run(server, MemoryToolset(memory.user("ana"), "query"), retries=5)
        (answer,) = told(server)
    assert json.loads(answer)["error"]["type"] == "InvalidPolicy"


def test_a_store_that_is_closed_does_not_end_the_run(tea: Memory) -> None:
    toolset: MemoryToolset[Any] = MemoryToolset(tea.user("ana"))
    tea.close()
    with ModelServer() as server:
        server.answer_calling("memory_search", {"query": "tea"})
        server.answer("I cannot look it up.")
        assert run(server, toolset, retries=5) == "I cannot look it up."
        (answer,) = told(server)
    assert json.loads(answer)["error"]["type"] == "StorageClosed"


def test_the_guide_is_among_the_instructions_unless_it_is_not_wanted(tea: Memory) -> None:
    ana = tea.user("ana")
    guide = Tools(ana, "profile").guide()
    assert "drinks" in guide
    assert seen_by_the_model(MemoryToolset(ana, "profile")).instructions == guide
    without = MemoryToolset[object](ana, "profile", instructions=False)
    assert seen_by_the_model(without).instructions is None


def test_a_slow_call_does_not_hold_up_the_loop(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = HeldEmbedder()
    user = open_store(sqlite_url, embedder=embedder).user("ana")

    async def talk(server: ModelServer) -> str:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            model = OpenAIChatModel(server.model, provider=OpenAIProvider(openai_client=client))
            talking = asyncio.create_task(Agent(model, toolsets=[MemoryToolset(user)]).run("Hi"))
            await asyncio.to_thread(embedder.begun.wait)
            embedder.may_end.set()  # only a loop that goes on gets here
            return (await talking).output

    with ModelServer() as server:
        server.answer_calling("memory_search", {"query": "tea"})
        server.answer("Nothing.")
        assert asyncio.run(talk(server)) == "Nothing."
    assert embedder.was_let_go


def test_finding_out_the_user_does_not_hold_up_the_loop(tea: Memory) -> None:
    """A program may have to look them up."""
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
        held.may_end.set()
        return (await talking).output

    assert asyncio.run(talk()) == "Hi."
    assert held.was_let_go


def test_toolsets_of_one_agent_can_be_named_apart(tea: Memory) -> None:
    ana, ben = tea.user("ana"), tea.user("ben")
    named = [
        MemoryToolset[object](ana, id="mine").prefixed("mine"),
        MemoryToolset[object](ben, id="theirs").prefixed("theirs"),
    ]
    assert MemoryToolset[object](ana).id == "ricordo"
    with ModelServer() as server:
        server.answer_calling("theirs_memory_search", {"query": "tea"})
        server.answer_calling("mine_memory_search", {"query": "tea"})
        server.answer("Tea.")

        async def talk() -> str:
            async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
                model = OpenAIChatModel(server.model, provider=OpenAIProvider(openai_client=client))
                return (await Agent(model, toolsets=named).run("Hi")).output

        assert asyncio.run(talk()) == "Tea."
        theirs, mine = (json.loads(one)["results"] for one in told(server))
    assert theirs == []
    assert [one["content"] for one in mine] == ["Ana likes green tea"]


def test_unknown_sets_are_refused(tea: Memory) -> None:
    with pytest.raises(InvalidValue, match="there is no set 'all'; allowed: standard, single"):
        MemoryToolset[object](tea.user("ana"), "all")
