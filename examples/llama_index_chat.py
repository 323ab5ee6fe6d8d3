"""A chat of LlamaIndex that remembers what was said in others.

Run it with: python examples/llama_index_chat.py
"""

import asyncio
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import (
    CompletionResponse,
    CompletionResponseGen,
    CustomLLM,
    LLMMetadata,
)
from llama_index.core.memory import Memory

import ricordo
from ricordo.integrations.llama_index import RicordoMemoryBlock


class ScriptedModel(CustomLLM):
    """Says what it was told to say, so that this runs without a key."""

    answers: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex asks of a model."""
        return LLMMetadata()

    def complete(self, prompt: str, **_: Any) -> CompletionResponse:
        """The next answer."""
        print(f"  (the model knows of the northern lights: {'northern lights' in prompt})")
        return CompletionResponse(text=self.answers.pop(0))

    def stream_complete(self, prompt: str, **_: Any) -> CompletionResponseGen:
        """Not needed here."""
        raise NotImplementedError


store = ricordo.open(":memory:")
# For a real model change this line, e.g. to OpenAI(model="gpt-5").
model = ScriptedModel(
    answers=["How lovely.", "Tromsø, for the northern lights.", "I do not know you yet."]
)


async def main() -> None:
    """Two conversations of ana, and one of ben."""
    for user_id, session, text in (
        ("ana", "monday", "I want to see the northern lights this winter."),
        ("ana", "tuesday", "Where should I travel this winter?"),
        ("ben", "monday", "Where should I travel this winter?"),
    ):
        block = RicordoMemoryBlock(store.user(user_id))
        memory = Memory.from_defaults(
            session_id=session, memory_blocks=[block], tokenizer_fn=str.split
        )
        engine = SimpleChatEngine.from_defaults(llm=model, memory=memory)
        print(f"{user_id}: {text}")
        print("  ->", await engine.achat(text))


asyncio.run(main())
for user_id in ("ana", "ben"):
    print(f"conversations of {user_id}: {[one.thread_id for one in store.user(user_id).threads()]}")
store.close()
