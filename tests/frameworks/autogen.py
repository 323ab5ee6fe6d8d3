"""AutoGen: a real assistant agent with a scripted model."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    SystemMessage,
)

from ricordo import AsyncMemory, InvalidValue, Memory, UnknownField
from ricordo.integrations.autogen import RicordoMemory
from ricordo.limits import MAX_PAGE_ITEMS


class Scripted(ChatCompletionClient):
    """Says what it was told to say, and keeps the messages that it had."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.told: list[Sequence[LLMMessage]] = []

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        self.told.append(list(messages))
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(
            finish_reason="stop", content=self.answers.pop(0), usage=usage, cached=False
        )

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=False,
            json_output=False,
            family="unknown",
            structured_output=False,
        )

    capabilities = model_info

    def create_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage

    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 0

    def remaining_tokens(self, *_: Any, **__: Any) -> int:
        return 1_000


def talk(model: Scripted, memory: RicordoMemory, *texts: str) -> None:
    async def run() -> None:
        agent = AssistantAgent("clerk", model_client=model, memory=[memory])
        for text in texts:
            await agent.run(task=text)

    asyncio.run(run())


def recalled(messages: Sequence[LLMMessage]) -> str:
    return "\n".join(one.content for one in messages if isinstance(one, SystemMessage))


def test_an_agent_recalls_and_what_is_said_is_recorded(
    memory: Memory, said: Callable[..., Any]
) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    model = Scripted("Green.", "I see.", "Which?")
    talk(model, RicordoMemory(ana, thread="t"), "Which tea do I like?", "I moved to Osaka.")
    talk(model, RicordoMemory(ben, thread="t"), "Which tea do I like?")
    assert "Ana likes green tea" in recalled(model.told[0])
    assert "green tea" not in recalled(model.told[2])
    assert said(ana, "t") == [
        ("user", "Which tea do I like?"),
        ("assistant", "Green."),
        ("user", "I moved to Osaka."),
    ]
    assert said(ben, "t") == [("user", "Which tea do I like?")]
    later = Scripted("Osaka.")
    talk(later, RicordoMemory(ana), "Where did I move to?")
    assert "I moved to Osaka." in recalled(later.told[0])
    assert len(ana.threads()) == 1


def test_texts_are_added_found_and_cleared(memory: Memory) -> None:
    ana = memory.user("ana")
    later = AsyncMemory(memory)

    async def run() -> None:
        kept = RicordoMemory(later.user("ana"))
        for mime in ("text/plain", "text/markdown"):
            await kept.add(
                MemoryContent(
                    content=f"Drinks milk {mime}", mime_type=mime, metadata={"theme": "milk"}
                )
            )
        found = await kept.query("milk", theme="milk", limit=1)
        (hit,) = found.results
        assert hit.metadata is not None and hit.metadata["theme"] == "milk"
        assert (await kept.query(MemoryContent(content="tea", mime_type="text/plain"))).results
        with pytest.raises(UnknownField):
            await kept.query("milk", colour="white")
        with pytest.raises(UnknownField):
            await kept.add(MemoryContent(content="x", mime_type="text/plain", metadata={"ttl": 1}))
        for wrong in ("image/*", "application/json"):
            with pytest.raises(InvalidValue, match="is no text; allowed: text/plain"):
                await kept.add(MemoryContent(content={"a": 1}, mime_type=wrong))
        memory.user("ben").add("Ben drinks coffee")
        memory.global_memories().add("The shop is open")
        ana.add_many([f"Number {number}" for number in range(MAX_PAGE_ITEMS)])
        await kept.clear()
        await kept.close()
        with pytest.raises(NotImplementedError):
            kept.dump_component()

    asyncio.run(run())
    later._pool.close()
    assert [item.content for item in ana.list()] == ["The shop is open"]
    assert len(memory.user("ben").list()) == 2
    assert ana.restore(1).content == "Ana likes green tea"


def test_a_run_goes_on_without_memory(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    model = Scripted("I do not know.")
    kept = RicordoMemory(memory.user("ana"), thread="t")
    memory.close()
    talk(model, kept, "Which tea do I like?")
    assert not model.answers
    assert "chats go on with less memory" in caplog.text


def test_wrong_objects_are_refused(memory: Memory, refused: Callable[..., None]) -> None:
    refused(RicordoMemory, "^user: expected the memory of one user", memory, "ana", None)
    with pytest.raises(InvalidValue, match="thread"):
        RicordoMemory(memory.user("ana"), thread=" ")
