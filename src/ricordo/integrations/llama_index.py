"""LlamaIndex on a ricordo store: a block for ``Memory(memory_blocks=[...])``.

``pip install 'ricordo[llama-index]'``.
"""

from collections.abc import Sequence
from typing import Any

from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import (
    AnyUserMemory,
    Chats,
    any_user,
    in_thread,
    last_of_user,
    observe_new,
    said,
)
from ricordo.limits import MAX_OBSERVED_TURNS
from ricordo.model import checks
from ricordo.model.thread import NewTurn
from ricordo.proxy.wire import ASSISTANT, USER
from ricordo.user_memory import UserMemory

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.llama_index", "llama-index")) from missing

__all__ = ["RicordoMemoryBlock"]


class RicordoMemoryBlock(BaseMemoryBlock[str]):
    """One user's memory, for the memory of one conversation.

    For each question it gives what matters for the user's last message, and records what was said
    so far in the thread of the ``session_id``, so that it can be searched and memories are formed;
    an answer is recorded with the message after it, or when LlamaIndex moves it out of its own
    short-term memory. A run goes on where memory fails, and the log says why.

    Raises:
        InvalidValue: this is no user's memory.
    """

    name: str = Field(default="ricordo", description="The name of the memory block.")
    _user: AnyUserMemory = PrivateAttr()
    _chats: Chats = PrivateAttr()

    def __init__(self, user: AnyUserMemory, **options: Any) -> None:
        any_user(user)
        super().__init__(**options)
        self._user = user
        self._chats = Chats()

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,  # noqa: ARG002 - of other blocks
    ) -> str:
        turns = _turns(messages or ())

        def work(user: UserMemory) -> str:
            known = self._chats.recall(user, last_of_user(turns), session_id)
            if session_id is not None:
                self._chats.record_whole(user, session_id, turns)
            return known or ""

        return await in_thread(self._user, work)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        turns = _turns(messages)
        if not turns:
            return
        threads = {one.additional_kwargs.get("session_id") for one in messages}
        if len(threads) != 1 or None in threads:
            raise InvalidValue("session_id", "messages are recorded in the thread of their session")
        thread = checks.reference("session_id", threads.pop())
        await in_thread(
            self._user, lambda user: observe_new(user, thread, turns, MAX_OBSERVED_TURNS)
        )


def _turns(messages: Sequence[ChatMessage]) -> list[NewTurn]:
    """What user and assistant said; results of tools may repeat what was recalled."""
    spoken = (one for one in messages if one.role.value in (USER, ASSISTANT))
    turns = (said(one.role.value, one.content or "") for one in spoken)
    return [turn for turn in turns if turn is not None]
