"""An agent of Google's ADK that remembers between sessions.

The runner's memory service is a ricordo store; ADK's own tool puts what matters for a message
before the model. Run it with: python examples/google_adk_agent.py
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part

import ricordo
from ricordo.integrations.google_adk import RicordoMemoryService


class ScriptedModel(BaseLlm):
    """Says what it was told to say, so that this runs without a key."""

    answers: list[str]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - ADK names it
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next answer."""
        known = (
            "northern lights" in f"{llm_request.config.system_instruction}{llm_request.contents}"
        )
        print(f"  (the model knows of the northern lights: {known})")
        used = GenerateContentResponseUsageMetadata(
            prompt_token_count=1, candidates_token_count=1, total_token_count=2
        )
        content = Content(role="model", parts=[Part(text=self.answers.pop(0))])
        yield LlmResponse(content=content, usage_metadata=used)


async def remember(callback_context: Any) -> None:
    """After each answer: only what is new is recorded."""
    await callback_context.add_session_to_memory()


memory = ricordo.open(":memory:")
answers = ["How lovely.", "Tromsø, for the northern lights.", "I do not know you yet."]
agent = LlmAgent(
    name="assistant",
    model=ScriptedModel(model="scripted", answers=answers),  # a real one: model="gemini-3-flash"
    tools=[PreloadMemoryTool()],
    after_agent_callback=remember,
)


async def main() -> None:
    """Two sessions of ana, and one of ben."""
    sessions = InMemorySessionService()
    runner = Runner(
        app_name="travel",
        agent=agent,
        session_service=sessions,
        memory_service=RicordoMemoryService(memory),
    )
    for user_id, session_id, text in (
        ("ana", "monday", "I want to see the northern lights this winter."),
        ("ana", "tuesday", "Where should I travel this winter?"),
        ("ben", "monday", "Where should I travel this winter?"),
    ):
        await sessions.create_session(app_name="travel", user_id=user_id, session_id=session_id)
        print(f"{user_id}: {text}")
        asked = Content(role="user", parts=[Part(text=text)])
        async for event in runner.run_async(
            user_id=user_id, session_id=session_id, new_message=asked
        ):
            if event.is_final_response() and event.content and event.content.parts:
                print("  ->", event.content.parts[0].text)


asyncio.run(main())
for user_id in ("ana", "ben"):
    print(
        f"conversations of {user_id}: {[one.thread_id for one in memory.user(user_id).threads()]}"
    )
memory.close()
