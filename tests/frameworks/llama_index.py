"""LlamaIndex: the memory of a real chat engine, with a scripted model."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import (
    ChatMessage,
    CompletionResponse,
    CompletionResponseGen,
    CustomLLM,
    LLMMetadata,
)
from llama_index.core.memory import Memory as Conversation
from pydantic import Field

from ricordo import AsyncMemory, InvalidValue, Memory
from ricordo.integrations.llama_index import RicordoMemoryBlock


class Scripted(CustomLLM):
    """Says what it was told to say, and keeps the prompts that it had."""

    answers: list[str]
    told: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        self.told.append(prompt)
        return CompletionResponse(text=self.answers.pop(0))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **_: Any
    ) -> CompletionResponseGen:
        raise NotImplementedError


def words(text: str) -> list[str]:
    return text.split()


def conversation(block: RicordoMemoryBlock, session: str, **options: Any) -> Conversation:
    return Conversation.from_defaults(
        session_id=session, memory_blocks=[block], tokenizer_fn=words, **options
    )


def talk(model: Scripted, memory: Conversation, *texts: str) -> None:
    async def run() -> None:
        engine = SimpleChatEngine.from_defaults(llm=model, memory=memory)
        for text in texts:
            await engine.achat(text)

    asyncio.run(run())


def test_a_chat_recalls_and_is_recorded(memory: Memory, said: Callable[..., Any]) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    model = Scripted(answers=["Green.", "I see.", "Which?", "Osaka."])
    talk(
        *(model, conversation(RicordoMemoryBlock(ana), "s")),
        *("Which tea do I like?", "I moved to Osaka."),
    )
    talk(model, conversation(RicordoMemoryBlock(ben), "s"), "Which tea do I like?")
    talk(model, conversation(RicordoMemoryBlock(ana), "later"), "Where did I move to?")
    assert "Ana likes green tea" in model.told[0]
    assert "green tea" not in model.told[2]
    assert "I moved to Osaka." in model.told[3]
    assert said(ana, "s") == [
        ("user", "Which tea do I like?"),
        ("assistant", "Green."),
        ("user", "I moved to Osaka."),
    ]
    assert said(ben, "s") == [("user", "Which tea do I like?")]


def numbered(count: int) -> Sequence[str]:
    return [f"This is what I say as number {number} of them" for number in range(count)]


def test_what_llama_index_moves_out_is_recorded_once(
    memory: Memory, said: Callable[..., Any]
) -> None:
    ana = memory.user("ana")
    short = {"token_limit": 60, "token_flush_size": 10, "chat_history_token_ratio": 0.5}
    model = Scripted(answers=["As you say."] * 12)
    talk(model, conversation(RicordoMemoryBlock(ana), "s", **short), *numbered(12))
    assert [text for role, text in said(ana, "s") if role == "user"] == numbered(12)
    assert [role for role, _ in said(ana, "s")][:4] == ["user", "assistant"] * 2

    async def put(session: str) -> None:
        moving = conversation(RicordoMemoryBlock(ana), session, **short)
        await moving.aput_messages([ChatMessage(role="user", content=one) for one in numbered(9)])

    asyncio.run(put("unasked"))
    recorded = [text for _, text in said(ana, "unasked")]
    assert recorded == numbered(9)[: len(recorded)] and len(recorded) > 3


def test_messages_can_be_put_by_hand(memory: Memory, said: Callable[..., Any]) -> None:
    later = AsyncMemory(memory)
    block = RicordoMemoryBlock(later.user("ana"), name="notes", priority=1)
    assert (block.name, block.priority) == ("notes", 1)

    async def run() -> None:
        messages = [
            ChatMessage(role=role, content=f"by {role}") for role in ("system", "user", "tool")
        ]
        await block.aput(messages, session_id="s")
        await block.aput([], session_id="s")
        with pytest.raises(InvalidValue, match="session_id: messages are recorded in the thread"):
            await block.aput([ChatMessage(role="user", content="of no session")])
        assert "green tea" in await block.aget(None)  # of the summary
        assert "green tea" in await block.aget([ChatMessage(role="user", content="green tea?")])

    asyncio.run(run())
    assert said(memory.user("ana"), "s") == [("user", "by user")]
    later._pool.close()


def test_a_chat_goes_on_without_memory(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    model = Scripted(answers=["I do not know."])
    block = RicordoMemoryBlock(memory.user("ana"))
    memory.close()
    talk(model, conversation(block, "s"), "Which tea do I like?")
    assert not model.answers
    assert "chats go on with less memory" in caplog.text


def test_wrong_objects_are_refused(memory: Memory, refused: Callable[..., None]) -> None:
    refused(RicordoMemoryBlock, "^user: expected the memory of one user", memory, "ana", None)
