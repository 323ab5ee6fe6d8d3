"""Conversations: threads, turns, windows onto them, and states saved with them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.fields import Json, Kind, Moment, Parameter, Reference, Schema, Text
from ricordo.model.item import Item
from ricordo.model.record import Record
from ricordo.model.vocabulary import GENERAL_THEME, MemoryType
from ricordo.text.dates import date_terms
from ricordo.text.secrets import without_secrets

_SOURCE_ROLES: Final = {"user": "user", "tool": "tool", "function": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(Record):
    """A conversation of one user, about a project or about none.

    Memories have been formed up to turn ``formed_position``, 0 for none. ``observed_at`` is when
    something was last recorded; None while it was only imported: then memories are formed from it
    on request only.
    """

    thread_id: str
    title: str | None
    created_at: datetime
    updated_at: datetime
    turn_count: int
    formed_position: int
    observed_at: datetime | None
    project_id: str | None = None


@dataclass(frozen=True, slots=True)
class Observer(Record):
    """The agent that recorded a turn, and its categories; None for all."""

    agent: str | None
    categories: tuple[str, ...] | None

    @classmethod
    def parse(cls, given: object) -> Self:
        """An observer as stored and exported.

        Raises:
            InvalidValue: it is not one.
        """
        if not isinstance(given, Mapping) or set(given) != {"agent", "categories"}:
            raise InvalidValue("observed_by", "expected an agent and its categories")
        listed = given["categories"]
        if listed is not None:
            listed = tuple(checks.reference("category", one) for one in listed)
        return cls(checks.optional_reference("agent", given["agent"]), listed)

    def reaches(self, theme: str) -> bool:
        return self.categories is None or theme in self.categories


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Record):
    """One stored message. ``position`` counts from 1 within the thread.

    ``observed_by`` is the agent that recorded it; None where the user or their own program did.
    ``ended_at``: since then what it says is known to be no longer so.
    """

    id: int
    thread_id: str
    position: int
    message_id: str | None
    role: str
    actor: str | None
    content: str
    tool_calls: list[Any] | None
    at: datetime
    observed_by: Observer | None = None
    ended_at: datetime | None = None

    @classmethod
    def from_row(cls, row: Mapping[Any, Any]) -> Self:
        """A turn from its row."""
        names = [field.name for field in fields(cls)]
        observer = row["observed_by"]
        known = {"observed_by": None if observer is None else Observer.parse(observer)}
        return cls(**{name: row[name] for name in names} | known)


def source_role(role: str) -> str | None:
    """The role of memories from turns of a role; None where no memory is formed from those."""
    return _SOURCE_ROLES.get(role)


@dataclass(frozen=True, slots=True)
class FormedTurn(Record):
    """One message with the memories formed from it, the oldest first."""

    turn: Turn
    memories: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Observed(Record):
    """How many messages were recorded, and how many were already there."""

    thread_id: str
    recorded: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """One message to be recorded. The same ``message_id`` is recorded once.

    Raises:
        InvalidValue: on construction, when a value is not allowed.
    """

    role: str
    content: str
    actor: str | None = None
    at: datetime | None = None
    message_id: str | None = None
    tool_calls: list[Any] | None = None
    observed_by: Observer | None = None
    ended_at: datetime | None = None

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

    @classmethod
    def parse(cls, given: object) -> Self:
        """A turn from a chat message; its ``id`` is the message id.

        Raises:
            InvalidValue: not a message, or a value is not allowed.
            UnknownField: a field that does not exist.
        """
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise InvalidValue("messages", f"expected messages, got {type(given).__name__}")
        checks.known_fields("field of a message", given, _MESSAGE_FIELDS)
        values = {("message_id" if name == "id" else name): given[name] for name in given}
        if not values.get("content") and values.get("tool_calls"):
            values["content"] = _called(values["tool_calls"])
        for name in ("role", "content"):
            if values.get(name) is None:
                raise InvalidValue(name, "every message needs one")
        return cls(**values)


def _called(tool_calls: object) -> str:
    """The text of a message that only calls tools: it has no content."""
    names = []
    for call in checks.json_list("tool_calls", tool_calls, limits.MAX_TOOL_CALLS_BYTES):
        described = call.get("function", call) if isinstance(call, Mapping) else None
        name = described.get("name") if isinstance(described, Mapping) else None
        names.append(name if isinstance(name, str) else "tool")
    return f"[calls {', '.join(names)}]"[: limits.MAX_TURN_CHARS]


_MESSAGE: Final[Mapping[str, Kind]] = {
    "role": Reference(example="user"),
    "content": Text(
        limits.MAX_TURN_CHARS,
        about="What was said; a message that only calls tools may do without.",
        example="I moved to Bekasi in May.",
    ),
    "actor": Reference(about="Who speaks, where that is not the user."),
    "at": Moment(about="When; now by default.", example="2026-05-01T09:30:00Z"),
    "id": Reference(
        about="The message's own id: sent again, it is recorded once.", example="message-1"
    ),
    "tool_calls": Json({"type": "array"}, about="Calls of tools, as JSON."),
}
_MESSAGE_FIELDS: Final = frozenset(_MESSAGE)


def turn_schema() -> Schema:
    """The JSON schema of a message."""
    optional = {
        name: Parameter(name, kind).schema() for name, kind in _MESSAGE.items() if name != "role"
    }
    return {
        "type": "object",
        "properties": {"role": _MESSAGE["role"].described(), **optional},
        "required": ["role"],
        "additionalProperties": False,
    }


EXTRACT = "extract"
"""``made_by`` of summaries that were extracted without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Record):
    """A conversation as a prompt shows it: the latest turns, and a summary of those before.

    ``bridge`` summarises everything up to and including the turn ``compacted_to``; None where
    nothing came before ``turns``. ``today`` is what else the user talked about that day, for a
    resumed conversation. ``is_provisional`` says that the bridge was extracted for this call,
    because the summary is not made yet.
    """

    thread_id: str
    bridge: str | None
    today: str | None
    turns: tuple[Turn, ...]
    compacted_to: int
    is_provisional: bool

    def without_secrets(self) -> "Window":
        """The same with every secret masked."""
        return replace(
            self,
            bridge=None if self.bridge is None else without_secrets(self.bridge),
            today=None if self.today is None else without_secrets(self.today),
            turns=tuple(
                replace(turn, content=without_secrets(turn.content)) for turn in self.turns
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Record):
    """The summary of a conversation segment, and of the conversation up to its end.

    ``made_by`` is a model, or ``extract``. ``at`` is when its last turn was said.
    """

    thread_id: str
    first_position: int
    last_position: int
    day: str
    summary: str
    bridge: str
    made_by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport(Record):
    """The result of compaction: summaries made, the turns they cover, and the turns left."""

    thread_id: str
    compactions: int
    turns: int
    open_turns: int
    made_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayEntry(Record):
    """The summary of one conversation segment."""

    thread_id: str
    at: datetime
    summary: str
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DayLog(Record):
    """Summaries of a user's conversations of one day, in order."""

    day: str
    entries: tuple[DayEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Record):
    """The state saved last for a conversation.

    ``version`` is 1 for the first save and one more with each save after it.
    """

    thread_id: str
    version: int
    state: object
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInfo(Record):
    """A saved state without its contents."""

    thread_id: str
    version: int
    size_bytes: int
    created_at: datetime
    updated_at: datetime


def text_of_item(item: Item) -> str:
    """A memory with its key, tags and theme, without its private origin."""
    parts = [item.content, *item.tags]
    if item.key is not None:
        parts.append(item.key)
    if item.theme != GENERAL_THEME:
        parts.append(item.theme)
    if item.type is MemoryType.EPISODE:
        parts.append(date_terms(item.valid_from))
    return "\n".join(parts)


def text_of_turn(turn: Turn) -> str:
    return "\n".join([turn.actor or "", turn.content, date_terms(turn.at)])
