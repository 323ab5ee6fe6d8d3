"""What passes through formation: a passage that somebody said, and what may be learned from it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ricordo.model.thread import Observer
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, MemoryType

USER_ROLE: Final = "user"
TOOL_ROLE: Final = "tool"
_TOOL_ROLES: Final = frozenset({TOOL_ROLE, "function"})


def source_role(role: str) -> str | None:
    """What a passage of a turn in this role counts as; None for who is no source of memories."""
    if role == USER_ROLE:
        return USER_ROLE
    return TOOL_ROLE if role in _TOOL_ROLES else None


@dataclass(frozen=True, slots=True)
class Material:
    """A stretch of a turn that nothing is formed from, and why (see ``cleaning/voice.py``)."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The part of one turn that memory may rest on, after hygiene.

    ``text`` holds only what the user said themselves or, with the role ``tool``, what a tool gave
    back. Pieces that were cut out leave a line break, so that nothing new is made by joining; they
    are the ``material``. At the places of ``unsure`` it may be somebody else who speaks, and at
    those of ``doubtful`` that is likely. ``observed_by`` is the agent that recorded it, if one did.
    """

    turn_id: int
    position: int
    role: str
    actor: str | None
    message_id: str | None
    at: datetime
    text: str
    unsure: tuple[tuple[int, int], ...] = ()
    doubtful: tuple[tuple[int, int], ...] = ()
    material: tuple[Material, ...] = ()
    observed_by: Observer | None = None

    def is_said_at(self, quote: str, places: tuple[tuple[int, int], ...]) -> bool:
        """Whether these words stand, wherever they do, at one of the places."""
        if not places:
            return False
        place = self.text.find(quote)
        while place >= 0:
            end = place + len(quote)
            if any(start < end and place < last for start, last in places):
                return True
            place = self.text.find(quote, place + 1)
        return False

    @property
    def is_from_user(self) -> bool:
        """False for what a tool gave back."""
        return self.role == USER_ROLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One thing that may become a memory.

    ``quote`` is what it rests on, word for word from the passage. ``key`` is what it is about
    (``home_city``), where there can be only one answer to that. ``is_explicit``: the user asked
    for it to be remembered, or gave it as a standing instruction.
    """

    content: str
    quote: str
    passage: Passage
    type: MemoryType = MemoryType.FACT
    theme: str | None = None
    key: str | None = None
    importance: int = DEFAULT_IMPORTANCE
    is_explicit: bool = False

    @property
    def is_unsure(self) -> bool:
        """Whether somebody else may be speaking, so that what is asked for needs consent."""
        return self.passage.is_said_at(self.quote, self.passage.unsure)

    @property
    def is_doubtful(self) -> bool:
        """Whether somebody else speaks more likely than not, so that all of it needs consent."""
        return self.passage.is_said_at(self.quote, self.passage.doubtful)
