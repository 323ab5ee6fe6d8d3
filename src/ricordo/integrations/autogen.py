"""AutoGen on a ricordo store: a memory for ``AssistantAgent(memory=[...])``.

``pip install 'ricordo[autogen]'``.
"""

from typing import Any, Final

from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import (
    AnyUserMemory,
    Chats,
    any_user,
    every,
    in_thread,
    last_of_user,
    said,
)
from ricordo.limits import MAX_PAGE_ITEMS
from ricordo.model import checks
from ricordo.model.thread import NewTurn
from ricordo.proxy.wire import ASSISTANT, USER
from ricordo.recall.search import question_in
from ricordo.user_memory import UserMemory

try:
    from autogen_core import CancellationToken
    from autogen_core.memory import (
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        UpdateContextResult,
    )
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.autogen", "autogen")) from missing

__all__ = ["RicordoMemory"]

_TEXTS: Final = ("text/plain", "text/markdown")


class RicordoMemory(Memory):
    """One user's memory for an agent.

    Before an agent answers, what matters for the user's last message is added to its context. With
    a ``thread`` what the user and the agent said so far is recorded in it, so that it can be
    searched and memories are formed; an answer is recorded with the message after it. A run goes on
    where memory fails, and the log says why.

    Raises:
        InvalidValue: this is no user's memory, or the thread's name is not allowed.
    """

    def __init__(self, user: AnyUserMemory, *, thread: str | None = None) -> None:
        self._user = any_user(user)
        self._thread = checks.optional_reference("thread", thread)
        self._chats = Chats()

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add what matters as a system message, and record what was said."""
        every_turn = [_turn(one) for one in await model_context.get_messages()]
        turns = [turn for turn in every_turn if turn is not None]

        def work(user: UserMemory) -> str | None:
            known = self._chats.recall(user, last_of_user(turns), self._thread)
            if self._thread is not None:
                self._chats.record_whole(user, self._thread, turns)
            return known

        text = await in_thread(self._user, work)
        if text is None:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        await model_context.add_message(SystemMessage(content=text))
        content = MemoryContent(content=text, mime_type=MemoryMimeType.TEXT)
        return UpdateContextResult(memories=MemoryQueryResult(results=[content]))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002 - it takes no time
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """The memories that answer a question best; keywords are those of ``UserMemory.search``.

        Raises:
            InvalidValue, UnknownField: a value or a keyword is not allowed.
        """
        question = question_in(query if isinstance(query, str) else _text(query))
        found = await in_thread(self._user, lambda user: user.search(question, **kwargs))
        return MemoryQueryResult(
            results=[
                MemoryContent(
                    content=hit.content_snippet,
                    mime_type=MemoryMimeType.TEXT,
                    metadata={
                        "id": hit.id,
                        "theme": hit.theme,
                        "type": hit.type.value,
                        "created_at": hit.created_at.isoformat(),
                        "score": hit.confidence,
                    },
                )
                for hit in found
            ]
        )

    async def add(
        self,
        content: MemoryContent,
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002
    ) -> None:
        """Remember a text; its ``metadata`` are keywords of ``UserMemory.add``, as ``theme``.

        Raises:
            InvalidValue, UnknownField: it is no text, or a value is not allowed.
        """
        text, given = _text(content), content.metadata or {}
        await in_thread(self._user, lambda user: user.add(text, **given))

    async def clear(self) -> None:
        """Forget all that is active of the user's own; it can be restored for a while."""
        await in_thread(self._user, forget_all)

    async def close(self) -> None:
        """Nothing: the store belongs to whoever opened it."""


def forget_all(user: UserMemory) -> None:
    """Forget all active memories of the user's own; none of those that others share."""
    listed = every(lambda cursor: user.list(limit=MAX_PAGE_ITEMS, cursor=cursor))
    for own in [item.id for item in listed if item.user_id == user.scope.user_id]:
        user.forget(own)


def _text(content: MemoryContent) -> str:
    kind = content.mime_type
    kind = kind.value if isinstance(kind, MemoryMimeType) else kind
    if kind not in _TEXTS or not isinstance(content.content, str):
        raise InvalidValue("content", f"{kind} is no text; allowed: {', '.join(_TEXTS)}")
    return content.content


def _turn(message: LLMMessage) -> NewTurn | None:
    """What user or agent said; neither instructions nor calls of tools and their results."""
    if isinstance(message, UserMessage):
        parts = [message.content] if isinstance(message.content, str) else message.content
        return said(USER, "\n".join(part for part in parts if isinstance(part, str)))
    if isinstance(message, AssistantMessage) and isinstance(message.content, str):
        return said(ASSISTANT, message.content)
    return None
