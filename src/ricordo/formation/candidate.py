"""What formation works on: passages of turns, and candidates for memories."""

from datetime import datetime
from typing import Final

from ricordo.frozen import dataclass
from ricordo.model.thread import Observer
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, MemoryType

USER_ROLE: Final = "user"
TOOL_ROLE: Final = "tool"


@dataclass(frozen=True, slots=True)
class Material:
    """A segment of a turn that nothing is formed from, and why (see ``voice.py``)."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The part of one turn that memories may be formed from, without material.

    ``text`` holds only what the user said themselves or, with the role ``tool``, a tool result.
    Pieces that were cut out leave a line break, so that joining creates no new text; they are the
    ``material``. At the spans of ``unsure`` somebody else may be speaking, at those of ``doubtful``
    that is likely. ``observed_by`` is the agent that recorded the turn, if one did.
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
        """Whether some occurrence of the quote overlaps one of these spans."""
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
        return self.role == USER_ROLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may become a memory.

    ``quote`` is its evidence, word for word from the passage. ``key`` is the question it answers
    (``home_city``), if there can be only one answer. ``is_explicit``: the user asked for it to be
    remembered, or gave it as a standing instruction. ``is_in_own_words``: the content is what the
    user said, in the first person; ``is_by_model``: a language model wrote it. ``kind`` and the
    sensitive ``fields`` are what the gate sees in its quote. ``is_hearsay``: somebody else says
    what the user wishes. ``is_change``: it counts only where it ends what was known or
    just said; ``is_ending``: it says nothing but that. ``puts_right`` are a wrong value and the
    right one. ``project_id``: it is about this project, and compared only with what is known of it;
    ``answers``: what an agent had said before.
    """

    content: str
    quote: str
    passage: Passage
    type: MemoryType = MemoryType.FACT
    theme: str | None = None
    key: str | None = None
    importance: int = DEFAULT_IMPORTANCE
    is_explicit: bool = False
    is_in_own_words: bool = False
    is_by_model: bool = False
    kind: str | None = None
    fields: frozenset[str] = frozenset()
    is_hearsay: bool = False
    is_change: bool = False
    is_ending: bool = False
    puts_right: tuple[str, str] | None = None
    tags: tuple[str, ...] = ()
    project_id: str | None = None
    answers: str = ""

    def is_at(self, start: int, end: int) -> bool:
        return self.passage.is_said_at(self.quote, ((start, end),))

    @property
    def is_about_work(self) -> bool:
        """Whether it was read as a kind of memory about work (``work.py``): those are tagged."""
        return self.project_id is not None and bool(self.tags)

    @property
    def is_unsure(self) -> bool:
        """Somebody else may be speaking: requests need consent."""
        return self.passage.is_said_at(self.quote, self.passage.unsure)

    @property
    def is_doubtful(self) -> bool:
        """Somebody else is probably speaking: everything needs consent."""
        return self.is_hearsay or self.passage.is_said_at(self.quote, self.passage.doubtful)
