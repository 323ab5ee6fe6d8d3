"""Long conversations: what of one is shown as it was said, and what only in short."""

from dataclasses import dataclass, replace
from datetime import datetime

from ricordo.model.record import Record
from ricordo.model.thread import Turn
from ricordo.text.secrets import without_secrets

EXTRACT = "extract"
"""``made_by`` of summaries that were put together from sentences, without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Record):
    """A conversation as a prompt shows it: the latest turns, and what came before them in short.

    ``bridge`` tells everything up to and including the turn ``compacted_to``; None where nothing
    came before ``turns``. ``today`` is what else the user talked about that day, for a
    conversation that was taken up again. ``is_provisional`` says that the bridge was put together
    for this call alone, because a summary is still to be made.
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
    """A stretch of a conversation in short, and the conversation up to its end.

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
    """What compacting brought: summaries made, the turns they tell, and the turns left as said."""

    thread_id: str
    compactions: int
    turns: int
    open_turns: int
    made_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayEntry(Record):
    """What was said in one stretch of a conversation, in short."""

    thread_id: str
    at: datetime
    summary: str
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DayLog(Record):
    """What a user's conversations of one day were about, in the order in which they went on."""

    day: str
    entries: tuple[DayEntry, ...]
