"""An AutoGen assistant that remembers between runs.

Run it with: python examples/autogen_agent.py
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)

import ricordo
from ricordo.integrations.autogen import RicordoMemory


class ScriptedClient(ChatCompletionClient):
    """Says what it was told to say, so that this runs without a key."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """The next answer."""
        known = any("northern lights" in str(one.content) for one in messages[:-1])
        known = known or "northern lights" in str(messages[-1].content)
        print(f"  (the model knows of the northern lights: {known})")
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(
            finish_reason="stop", content=self.answers.pop(0), usage=usage, cached=False
        )

    async def close(self) -> None:
        """Nothing to close."""

    @property
    def model_info(self) -> ModelInfo:
        """It can do nothing but talk."""
        return ModelInfo(
            vision=False,
            function_calling=False,
            json_output=False,
            structured_output=False,
            family="unknown",
        )

    capabilities = model_info

    def create_stream(self, *_: Any, **__: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError

    def count_tokens(self, *_: Any, **__: Any) -> int:
        """Not needed here; nor are the others."""
        return 0

    remaining_tokens = count_tokens

    def actual_usage(self) -> RequestUsage:
        """Nothing was used."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage


memory = ricordo.open(":memory:")
# For a real model change this line, e.g. to OpenAIChatCompletionClient(model="gpt-5").
client = ScriptedClient("How lovely.", "Tromsø, for the northern lights.", "I do not know you yet.")


async def main() -> None:
    """Two conversations of ana, and one of ben."""
    for user_id, thread, text in (
        ("ana", "monday", "I want to see the northern lights this winter."),
        ("ana", "tuesday", "Where should I travel this winter?"),
        ("ben", "monday", "Where should I travel this winter?"),
    ):
        kept = RicordoMemory(memory.user(user_id), thread=thread)
        agent = AssistantAgent("assistant", model_client=client, memory=[kept])
        print(f"{user_id}: {text}")
        print("  ->", (await agent.run(task=text)).messages[-1].content)


asyncio.run(main())
for user_id in ("ana", "ben"):
    print(
        f"conversations of {user_id}: {[one.thread_id for one in memory.user(user_id).threads()]}"
    )
memory.close()
