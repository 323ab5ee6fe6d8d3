"""Microsoft Agent Framework on a ricordo store: a context provider.

``pip install 'ricordo[agent-framework]'``.
"""

from collections.abc import Callable
from typing import Any

from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import (
    AnyMemory,
    AnyUserMemory,
    Chats,
    any_store,
    any_user,
    in_thread,
    said,
)
from ricordo.proxy.wire import ASSISTANT, USER

try:
    from agent_framework import (
        AgentSession,
        ContextProvider,
        Message,
        SessionContext,
        SupportsAgentRun,
    )
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(
        needs_extra("ricordo.integrations.agent_framework", "agent-framework")
    ) from missing

__all__ = ["RicordoContextProvider", "user_of_session"]

UserOfSession = Callable[[AgentSession], AnyUserMemory]
"""Returns the user of a session."""


class RicordoContextProvider(ContextProvider):
    """Tells an agent what matters for each message, and records what user and agent say.

    ``who`` is one user's memory, or takes the session of a run and returns one, so that one agent
    serves many users: ``user_of_session(memory)``. The thread has the name of the session. A run
    goes on where memory fails, and the log says why.

    Raises:
        InvalidValue: this is no user's memory.
    """

    def __init__(
        self,
        who: AnyUserMemory | UserOfSession,
        *,
        source_id: str = "ricordo",
        observe: bool = True,
    ) -> None:
        super().__init__(source_id)
        if not callable(who):
            any_user(who, "who", or_function=True)
        self._who = who
        self._observes = observe
        self._chats = Chats()

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002 - this and the others are the framework's
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Add what is known to the instructions."""
        message = "\n".join(one.text for one in context.input_messages if one.role == USER)
        text = await in_thread(
            self._user(session),
            lambda user: self._chats.recall(user, message, session.session_id),
        )
        if text is not None:
            context.extend_instructions(self.source_id, text)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Record the new messages and the answer."""
        if not self._observes:
            return
        answers = [] if context.response is None else context.response.messages
        turns = [_turn(one) for one in (*context.input_messages, *answers)]
        new = [turn for turn in turns if turn is not None]
        await in_thread(
            self._user(session), lambda user: self._chats.record(user, session.session_id, new)
        )

    def _user(self, session: AgentSession) -> AnyUserMemory:
        return any_user(self._who(session) if callable(self._who) else self._who, "who")


def _turn(message: Message) -> Any:
    if message.role not in (USER, ASSISTANT):
        return None
    return said(message.role, message.text, message_id=message.message_id)


def user_of_session(memory: AnyMemory, *, key: str = "user_id") -> UserOfSession:
    """Take the user from ``session.state[key]``, for programs that serve many users.

    Raises ``InvalidValue`` when called with a session that names none.
    """
    store = any_store(memory)

    def user_of(session: AgentSession) -> AnyUserMemory:
        user_id = session.state.get(key)
        if not isinstance(user_id, str):
            example = f'session.state["{key}"] = "ana"'
            raise InvalidValue(f"session.state.{key}", f"names no user; set {example}")
        return store.user(user_id)

    return user_of
