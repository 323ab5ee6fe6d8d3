"""What happened in a session of a coding agent, whichever agent it was."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from ricordo.frozen import dataclass, field

MAX_OUTPUT_CHARS: Final = 2_000
"""Of what a tool printed, its beginning and its end are kept."""

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Position:
    """How far a transcript has been read.

    ``offset`` counts what the reader of that agent counts: bytes of a file that only grows,
    messages of one that is written anew. ``last_id`` is the id of the last entry before it.
    """

    offset: int
    last_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool. ``files`` are the paths it touched, as the agent names them."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    command: str | None = None
    exit_code: int | None = None
    error: str | None = None
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message, or one call of a tool with its result.

    ``id`` is the agent's own, or else made of the position and the content, so that reading again
    gives the same. ``after`` is how far the transcript has been read with it.
    """

    id: str
    role: Role
    content: str
    at: datetime | None
    session_id: str
    cwd: str | None = None
    call: ToolCall | None = None
    after: Position | None = None


def shortened(text: str, limit: int = MAX_OUTPUT_CHARS) -> str:
    """The beginning and the end of a long text, with how much is missing between them."""
    if len(text) <= limit:
        return text
    missing = f"\n… {len(text) - limit} characters left out …\n"
    kept = max(0, limit - len(missing))
    tail = kept // 2
    return f"{text[: kept - tail]}{missing}{text[len(text) - tail :] if tail else ''}"
