"""What a prompt shows a model, and how it was used."""

from collections.abc import Mapping
from datetime import datetime

from ricordo.frozen import dataclass
from ricordo.model.record import Record
from ricordo.model.search import SupersededStatement, TurnPart
from ricordo.model.vocabulary import MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory(Record):
    """A memory that a prompt shows. ``confidence`` is None where its theme is always shown.
    ``owner_id`` is whose it is, None for the user's own."""

    id: int
    theme: str
    since: datetime
    text: str
    confidence: float | None
    type: MemoryType
    owner_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledTurn(Record):
    """Something said earlier that a prompt shows. ``superseded`` has what of it is no longer
    current; the prompt says so, too. Of a long turn ``part`` is the place of the piece that is
    quoted."""

    turn_id: int
    thread_id: str
    at: datetime
    speaker: str
    text: str
    confidence: float
    superseded: tuple[SupersededStatement, ...] = ()
    part: TurnPart | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSplit(Record):
    """Where the tokens of a request go. ``total`` is never more than ``budget``.

    ``system`` is the system text without memories; ``memories`` has recalled ones, changes and the
    narrative; ``history`` the earlier turns and the summary of those before; ``tools`` the schemas
    of tools; ``reply`` what is reserved for the answer.
    """

    budget: int
    system: int
    memories: int
    history: int
    message: int
    tools: int
    reply: int

    @property
    def total(self) -> int:
        """The sum of all parts."""
        parts = (self.system, self.memories, self.history, self.message, self.tools, self.reply)
        return sum(parts)

    def to_dict(self) -> dict[str, int]:
        """The parts and their sum, as JSON."""
        names = ("budget", "system", "memories", "history", "message", "tools", "reply", "total")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Record):
    """A request to a model, ready to be sent.

    ``system`` is the text of the first of the ``messages``. ``confidence`` is the likelihood that
    the recalled memories answer the message; where it is low, ``suggests_query``. ``left_out``
    names what did not fit, ``problems`` what could not be read.
    """

    system: str
    messages: tuple[Mapping[str, str], ...]
    memories: tuple[RecalledMemory, ...]
    quotes: tuple[RecalledTurn, ...]
    delta: tuple[str, ...]
    confidence: float | None
    suggests_query: bool
    tokens: TokenSplit
    left_out: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback(Record):
    """Which of the recalled memories an answer used, and the share of them."""

    recalled: tuple[int, ...]
    used: tuple[int, ...]
    hit_rate: float
