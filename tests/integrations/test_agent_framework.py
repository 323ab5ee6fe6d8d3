"""Memory in Microsoft Agent Framework: real agents with a scripted model."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Message

from ricordo import AsyncMemory, InvalidValue, Memory, UserMemory
from ricordo.integrations.agent_framework import RicordoContextProvider, user_of_session

pytestmark = pytest.mark.requirement("integrations.frameworks")


class ScriptedClient(BaseChatClient[Any]):
    """Answers with what it was told to, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[list[Message]] = []
        self.instructions: list[str] = []

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Awaitable[ChatResponse]:
        self.asked.append(list(messages))
        self.instructions.append(options.get("instructions") or "")

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", [self.answers.pop(0)])])

        return answer()


def session_of(user_id: str | None, session_id: str) -> AgentSession:
    session = AgentSession(session_id=session_id)
    if user_id is not None:
        session.state["user_id"] = user_id
    return session


def talk(client: ScriptedClient, provider: Any, session: AgentSession, *texts: str) -> None:
    async def run() -> None:
        agent = Agent(client=client, context_providers=[provider])
        for text in texts:
            await agent.run(text, session=session)

    asyncio.run(run())


def said(user: UserMemory, thread: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in user.turns(thread)]


def test_one_agent_remembers_for_each_user(tea: Memory) -> None:
    client = ScriptedClient("Green tea!", "Which?", "Sencha, as always.")
    provider = RicordoContextProvider(user_of_session(tea))
    talk(client, provider, session_of("ana", "s"), "Which tea do I like?")
    talk(client, provider, session_of("ben", "s"), "Which tea do I like?")
    talk(client, provider, session_of("ana", "s"), "Which tea do I like?")
    first, other, again = client.instructions
    assert "Ana likes green tea" in first and "Ana likes green tea" in again
    assert "green tea" not in other
    assert said(tea.user("ana"), "s") == [
        ("user", "Which tea do I like?"),
        ("assistant", "Green tea!"),
        ("user", "Which tea do I like?"),
        ("assistant", "Sencha, as always."),
    ]
    assert said(tea.user("ben"), "s")[1:] == [("assistant", "Which?")]
    # What was recalled is an instruction, and never a message of the conversation.
    assert [one.text for one in client.asked[0]] == ["Which tea do I like?"]


def test_it_is_for_one_user_too_and_may_only_recall(tea: Memory) -> None:
    later = AsyncMemory(tea)
    client = ScriptedClient("Green tea.", "Yes.")
    provider = RicordoContextProvider(later.user("ana"), observe=False)
    talk(client, provider, session_of(None, "s"), "Which tea do I like?")
    assert "Ana likes green tea" in client.instructions[0]
    assert tea.user("ana").threads().items == ()
    many = RicordoContextProvider(user_of_session(later, key="account"))
    session = session_of("ben", "s")
    session.state["account"] = "ana"
    talk(client, many, session, "Do I like tea?")
    assert said(tea.user("ana"), "s")[1] == ("assistant", "Yes.")
    later._pool.close()


def test_a_run_goes_on_without_memory(tea: Memory, caplog: pytest.LogCaptureFixture) -> None:
    client = ScriptedClient("I do not know.")
    provider = RicordoContextProvider(tea.user("ana"))
    tea.close()
    talk(client, provider, session_of(None, "s"), "Which tea do I like?")
    assert not client.answers
    assert "chats go on with less memory" in caplog.text


@pytest.mark.requirement("integrations.wrong-object")
def test_nobody_and_wrong_objects_are_refused(tea: Memory) -> None:
    client = ScriptedClient()
    provider = RicordoContextProvider(user_of_session(tea))
    with pytest.raises(InvalidValue, match=r"session\.state\.user_id: names no user; set session"):
        talk(client, provider, session_of(None, "s"), "Hello")
    wrong: list[Callable[[], object]] = [
        lambda: RicordoContextProvider(tea),  # type: ignore[arg-type]
        lambda: RicordoContextProvider("ana"),  # type: ignore[arg-type]
    ]
    for make in wrong:
        with pytest.raises(InvalidValue, match="who: expected the memory of one user"):
            make()
    with pytest.raises(InvalidValue, match="memory: expected a whole store .* UserMemory"):
        user_of_session(tea.user("ana"))  # type: ignore[arg-type]
    returned = RicordoContextProvider(lambda _session: tea)  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidValue, match="who: expected the memory of one user"):
        talk(client, returned, session_of("ana", "s"), "Hello")
