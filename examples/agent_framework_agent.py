"""An agent of Microsoft Agent Framework that remembers, for the user of each session.

Run it with: python examples/agent_framework_agent.py
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    FunctionInvocationLayer,
    Message,
)

import ricordo
from ricordo.integrations.agent_framework import RicordoContextProvider, user_of_session


class ScriptedClient(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Says what it was told to say, so that this runs without a key."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)

    def _inner_get_response(
        self, *, options: Mapping[str, Any], **_: Any
    ) -> Awaitable[ChatResponse]:
        async def answer() -> ChatResponse:
            known = "northern lights" in (options.get("instructions") or "")
            print(f"  (the model knows of the northern lights: {known})")
            return ChatResponse(messages=[Message("assistant", [self.answers.pop(0)])])

        return answer()


memory = ricordo.open(":memory:")
# For a real model change this line, e.g. to OpenAIChatClient(model="gpt-5").
client = ScriptedClient("How lovely.", "Tromsø, for the northern lights.", "I do not know you yet.")
# Whose memory it is says the state of each session, never the model.
agent = Agent(client=client, context_providers=[RicordoContextProvider(user_of_session(memory))])


async def main() -> None:
    """Two sessions of ana, and one of ben."""
    for user_id, text in (
        ("ana", "I want to see the northern lights this winter."),
        ("ana", "Where should I travel this winter?"),
        ("ben", "Where should I travel this winter?"),
    ):
        session = agent.create_session()
        session.state["user_id"] = user_id
        print(f"{user_id}: {text}")
        print("  ->", (await agent.run(text, session=session)).text)


asyncio.run(main())
for user_id in ("ana", "ben"):
    threads = len(memory.user(user_id).threads())
    print(f"conversations of {user_id}: {threads}")
memory.close()
