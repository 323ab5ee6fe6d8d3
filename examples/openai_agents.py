"""The OpenAI Agents SDK: a session that is kept, memory as tools, one agent for many users.

Run it with: python examples/openai_agents.py
"""

import asyncio

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunContextWrapper,
    Runner,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

import ricordo
from ricordo.integrations.openai_agents import MemorySession, memory_tools
from ricordo.testing import ModelServer

memory = ricordo.open(":memory:")
set_tracing_disabled(True)  # or the SDK sends what is said here to OpenAI


def who(context: RunContextWrapper[str]) -> ricordo.UserMemory:
    """Whose memory a run is for. The program says so in its context; the model cannot choose."""
    return memory.user(context.context)


async def chat(agent: Agent[str], user_id: str, text: str) -> None:
    """One run. The session brings what was said before, also after a restart."""
    session = MemorySession(memory.user(user_id), "kitchen")
    done = await Runner.run(agent, text, context=user_id, session=session)
    print(f"{user_id}: {text}\n  -> {done.final_output}")


async def main() -> None:
    """Start a model that says what it was told to say, and talk to it."""
    with ModelServer() as server:
        server.answer_calling("memory_add", {"content": "Ana eats no meat.", "type": "preference"})
        server.answer("Good to know.")
        server.answer("Lentil soup.")
        server.answer_calling("memory_search", {"query": "What does the user eat?"})
        server.answer("What do you like to eat?")
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            # For a real model change this line, e.g. to model = "gpt-5".
            model = OpenAIChatCompletionsModel(server.model, client)
            agent = Agent[str](name="cook", model=model, tools=[*memory_tools(who)])
            await chat(agent, "ana", "I eat no meat.")
            await chat(agent, "ana", "What shall I cook?")
            await chat(agent, "ben", "What shall I cook?")
        print(f"the model was told {len(server.prompts[2])} messages of the session of ana")


asyncio.run(main())
for user_id in ("ana", "ben"):
    user = memory.user(user_id)
    print(f"{user_id} said: {[turn.content for turn in user.turns('kitchen')][::2]}")
    print(f"remembered of {user_id}: {[item.content for item in user.list()]}")
memory.close()
