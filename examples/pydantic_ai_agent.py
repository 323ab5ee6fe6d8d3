"""A Pydantic AI agent that remembers between runs, for the user of each run.

Run it with: python examples/pydantic_ai_agent.py
"""

import asyncio

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import ricordo
from ricordo.integrations.pydantic_ai import MemoryToolset
from ricordo.testing import ModelServer

memory = ricordo.open(":memory:")
# Whose memory it is comes from the deps of the run, never from the model. The toolset also adds
# its guide to the instructions of the agent.
toolset: MemoryToolset[str] = MemoryToolset(lambda ctx: memory.user(ctx.deps), "profile")


async def chat(model: OpenAIChatModel) -> None:
    """Two runs for ana that share no messages, and one for ben."""
    agent = Agent(model, deps_type=str, toolsets=[toolset])
    for user_id, text in (
        ("ana", "Call me Ana, and keep your answers short."),
        ("ana", "How should you answer me?"),
        ("ben", "How should you answer me?"),
    ):
        answer = await agent.run(text, deps=user_id)
        print(f"{user_id}: {text}\n  -> {answer.output}")


async def main() -> None:
    """Start a model that says what it was told to say, and talk to it."""
    with ModelServer() as server:
        server.answer_calling("memory_store", {"key": "answers", "value": "Short answers"})
        server.answer("Will do, Ana.")
        server.answer_calling("memory_search", {"query": "how to answer"})
        server.answer("Briefly.")
        server.answer_calling("memory_search", {"query": "how to answer"})
        server.answer("As you like; you have not told me.")
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            # For a real model change this line, e.g. to await chat(OpenAIChatModel("gpt-5")).
            await chat(OpenAIChatModel(server.model, provider=OpenAIProvider(openai_client=client)))


asyncio.run(main())
for user_id in ("ana", "ben"):
    print(f"remembered of {user_id}: {[item.content for item in memory.user(user_id).list()]}")
memory.close()
