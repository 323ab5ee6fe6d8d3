"""Conversations: a thread and the turns that were said in it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ricordo import limits
from ricordo.model import checks
from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(Record):
    """A conversation of one user."""

    thread_id: str
    title: str | None
    created_at: datetime
    updated_at: datetime
    turn_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Record):
    """One thing that was said, as stored. ``position`` counts from 1 within the thread."""

    id: int
    thread_id: str
    position: int
    message_id: str | None
    role: str
    actor: str | None
    content: str
    tool_calls: list[Any] | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """One thing that was said, to be recorded. The same ``message_id`` is recorded once.

    Raises:
        InvalidValue: on construction, when a value is not allowed.
    """

    role: str
    content: str
    actor: str | None = None
    at: datetime | None = None
    message_id: str | None = None
    tool_calls: list[Any] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        checks.reference("role", self.role)
        put(self, "content", checks.text("content", self.content, limits.MAX_TURN_CHARS))
        checks.optional_reference("actor", self.actor)
        put(self, "at", checks.optional_moment("at", self.at))
        checks.optional_reference("message_id", self.message_id)
        if self.tool_calls is not None:
            maximum = limits.MAX_TOOL_CALLS_BYTES
            put(self, "tool_calls", checks.json_list("tool_calls", self.tool_calls, maximum))
