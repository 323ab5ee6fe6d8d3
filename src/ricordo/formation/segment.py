"""The next segment of a conversation to form, and what is found in it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ricordo import limits
from ricordo.errors import ThreadNotFound
from ricordo.formation.candidate import USER_ROLE, Candidate
from ricordo.formation.passages import both_ends
from ricordo.frozen import dataclass, field, replace
from ricordo.model.reports import Decision
from ricordo.model.thread import Turn
from ricordo.storage.database import Database
from ricordo.storage.formation import project_of, speakers_in, state_of, turns_between

_TURNS_AT_ONCE: Final = 40
_EARLIER_TURNS: Final = 4
_HEADER_CHARS: Final = 110  # of the header of a turn, without the speaker's name
_CALL_FRAME_CHARS: Final = 20  # around a tool call


@dataclass(frozen=True, slots=True)
class Segment:
    """New turns, and a few earlier ones as context.

    ``speakers`` are the names of all who spoke as the user in this conversation. In one about a
    project, ``session`` are all turns before the new ones, up to a limit.
    """

    thread_id: str
    formed_position: int
    earlier: Sequence[Turn]
    new: Sequence[Turn]
    speakers: frozenset[str]
    project_id: str | None = None
    session: Sequence[Turn] = ()

    @property
    def reached(self) -> int:
        """The position of the last new turn."""
        return self.new[-1].position

    @property
    def chars(self) -> int:
        return sum(len(turn.content) for turn in self.new)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates for memories, and rejections.

    ``told`` are whole messages, which may end what earlier ones say; ``material``: how many pieces
    were not read, by reason.
    """

    candidates: Sequence[Candidate]
    refused: Sequence[Decision]
    told: Sequence[Candidate] = ()
    material: Mapping[str, int] = field(default_factory=dict)


def next_segment(
    database: Database, user_id: str, thread_id: str, read_chars: int | None = None
) -> Segment | None:
    """The next segment that fits into a transcript; None if there is nothing new.

    ``read_chars``: how many characters of it may be new; half as many may come before them.

    Raises:
        ThreadNotFound: this user has no such conversation.
    """
    with database.read(user_id) as view:
        state = state_of(view.connection, user_id, thread_id)
        if state is None:
            raise ThreadNotFound(thread_id)
        if not state.is_behind:
            return None
        formed = state.formed_position
        turns = turns_between(
            view.connection,
            user_id,
            thread_id,
            max(1, formed - _EARLIER_TURNS + 1),
            formed + _TURNS_AT_ONCE,
        )
        speakers = speakers_in(view.connection, user_id, thread_id, USER_ROLE)
        project_id = project_of(view.connection, user_id, thread_id)
        session = []
        if project_id is not None and formed:
            first = max(1, formed - limits.MAX_WORK_TURNS + 1)
            session = turns_between(view.connection, user_id, thread_id, first, formed)
    session = [replace(turn, content=both_ends(turn.content)) for turn in session]
    turns = [replace(turn, content=both_ends(turn.content)) for turn in turns]
    most = limits.MAX_TRANSCRIPT_CHARS
    room = read_chars or most - _EARLIER_TURNS * limits.MAX_TRANSCRIPT_REPLY_CHARS
    new = _fitting((turn for turn in turns if turn.position > formed), room, least=1)
    if not new:
        return None
    left = most - sum(map(_shown_chars, new))
    room = left if read_chars is None else min(left, read_chars // 2)
    before = [turn for turn in turns if turn.position <= formed]
    earlier = _fitting(reversed(before), room, least=0)[::-1]
    return Segment(thread_id, formed, earlier, new, speakers, project_id, session)


def _fitting(turns: Iterable[Turn], room: int, least: int) -> list[Turn]:
    """As many as are shown in full in this room; at least so many, which may then be cut."""
    found: list[Turn] = []
    for turn in turns:
        room -= _shown_chars(turn)
        if room < 0 and len(found) >= least:
            break
        found.append(turn)
    return found


def _shown_chars(turn: Turn) -> int:
    """An upper bound of what a transcript shows of a turn; only user messages are shown in full."""
    framed = _HEADER_CHARS + min(len(turn.actor or ""), limits.MAX_TRANSCRIPT_NAME_CHARS)
    if turn.role == USER_ROLE:
        return framed + len(turn.content)
    calls = (turn.tool_calls or [])[: limits.MAX_TRANSCRIPT_CALLS]
    longest_call = limits.MAX_TRANSCRIPT_CALL_CHARS + limits.MAX_TRANSCRIPT_NAME_CHARS
    return (
        framed
        + min(len(turn.content), limits.MAX_TRANSCRIPT_REPLY_CHARS)
        + sum(min(len(str(call)), longest_call) + _CALL_FRAME_CHARS for call in calls)
    )
