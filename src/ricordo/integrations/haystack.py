"""Haystack on a ricordo store: components that recall and record, and memory as tools.

``pip install 'ricordo[haystack]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import Chats, one_user_or_store, said, whole_store
from ricordo.memory import Memory
from ricordo.proxy.wire import ASSISTANT, USER
from ricordo.tools import Tools, chosen
from ricordo.user_memory import UserMemory

try:
    from haystack import component
    from haystack.components.agents.state import State
    from haystack.dataclasses import ChatMessage
    from haystack.tools import Tool
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.haystack", "haystack")) from missing

__all__ = ["MemoryRecorder", "MemoryRetriever", "memory_tools"]


class _OfStore:
    """What the components share: one store for the users of all runs."""

    def __init__(self, memory: Memory) -> None:
        self._memory = whole_store(memory)
        self._chats = Chats()

    def to_dict(self) -> dict[str, Any]:
        """Refused: an open store cannot be part of a file. Raises InvalidValue: always."""
        raise InvalidValue(
            type(self).__name__,
            "an open store cannot be written into a file: add this component in Python",
        )


@component
class MemoryRetriever(_OfStore):
    """What matters for a message, as a system message to put before it; none where that is nothing.

    The user and the thread are inputs, so that one pipeline serves many users.

    Raises:
        InvalidValue: this is no store.
    """

    @component.output_types(messages=list[ChatMessage])
    def run(
        self, query: str, user_id: str, thread_id: str | None = None
    ) -> dict[str, list[ChatMessage]]:
        """Recall for one user; where memory fails there are no messages, and the log says why."""
        text = self._chats.recall(self._memory.user(user_id), query, thread_id)
        return {"messages": [] if text is None else [ChatMessage.from_system(text)]}


@component
class MemoryRecorder(_OfStore):
    """Records what user and assistant say in a thread, and passes the messages on.

    They may be the whole conversation each time: only what is new is recorded.

    Raises:
        InvalidValue: this is no store.
    """

    @component.output_types(messages=list[ChatMessage])
    def run(
        self, messages: list[ChatMessage], user_id: str, thread_id: str
    ) -> dict[str, list[ChatMessage]]:
        """Record for one user; where memory fails the log says why."""
        spoken = (one for one in messages if one.role.value in (USER, ASSISTANT))
        turns = [said(one.role.value, one.text or "") for one in spoken]
        new = [turn for turn in turns if turn is not None]
        self._chats.record_whole(self._memory.user(user_id), thread_id, new)
        return {"messages": messages}


def memory_tools(who: UserMemory | Memory, *sets: str, key: str = "user_id") -> list[Tool]:
    """The tools of these sets, or of ``standard``, for ``Agent(tools=[...])``.

    ``who`` is one user's memory, or a store: then the state of each run says whose tools they are,
    ``Agent(..., state_schema={"user_id": {"type": str}})``. The model cannot choose.

    Raises:
        InvalidValue: There is no such set, or this is neither a user's memory nor a store.
    """
    user_of = _user_of_state(who, key)
    return [
        _tool(one.name, one.description, one.input_schema(), user_of, sets) for one in chosen(*sets)
    ]


def _tool(
    name: str,
    description: str,
    schema: dict[str, Any],
    user_of: Callable[[State], UserMemory],
    sets: Sequence[str],
) -> Tool:
    # Haystack puts the state into the place of whatever a model gives under this name.
    def call(*, state: State, **arguments: Any) -> str:
        return Tools(user_of(state), *sets).call(name, arguments)

    return Tool(name=name, description=description, parameters=schema, function=call)


def _user_of_state(who: UserMemory | Memory, key: str) -> Callable[[State], UserMemory]:
    given = one_user_or_store(who)

    def user_of(state: State) -> UserMemory:
        if isinstance(given, UserMemory):
            return given
        user_id = state.get(key)
        if not isinstance(user_id, str):
            raise InvalidValue(f"state.{key}", f'names no user; run the agent with {key}="ana"')
        return given.user(user_id)

    return user_of
