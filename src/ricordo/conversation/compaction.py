"""Compaction: summarising the oldest turns of a conversation when its window is full."""

from collections.abc import Callable
from typing import Final

from ricordo.conversation.summaries import ConversationPolicy, Summariser, SummaryPart
from ricordo.formation.passages import both_ends
from ricordo.formation.schedule import FormationPolicy, plan_forming
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_COMPACTIONS_PER_JOB
from ricordo.model.group import is_person
from ricordo.model.job import NewJob, Report
from ricordo.model.thread import Compaction, Turn
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.formation import turns_between
from ricordo.storage.threads import count_open_turns, id_of_turn, last_compaction, put_compaction

COMPACT_JOB: Final = "compact"
"""The job that summarises the oldest open turns of a conversation."""


def plan_after_turns(
    writing: WriteTransaction, policy: ConversationPolicy, thread_id: str, recorded: int
) -> None:
    """Queue the compaction of a conversation whose window has just become full.

    Not with every later turn: while a model is down, each would retry at once. If the job is lost,
    the next full window queues another.
    """
    open_turns = count_open_turns(writing.connection, writing.user_id, thread_id)
    if open_turns // policy.window_turns > (open_turns - recorded) // policy.window_turns:
        plan_compaction(writing, thread_id)


def plan_compaction(writing: WriteTransaction, thread_id: str) -> None:
    writing.enqueue(
        NewJob(
            kind=COMPACT_JOB,
            user_id=writing.user_id,
            run_at=writing.now,
            unique_key=thread_id,
            payload={},
        )
    )


@dataclass(frozen=True, slots=True)
class CompactionSpan:
    """Turns to summarise, and the compaction before them."""

    thread_id: str
    former: Compaction | None
    turns: list[Turn]

    @property
    def bridge(self) -> str | None:
        """The summary of the conversation up to this segment."""
        return None if self.former is None else self.former.bridge


Summarise = Callable[[CompactionSpan], SummaryPart]


class Compactor:
    """A segment is read in one snapshot, summarised outside of any transaction, because a model is
    slow, and written in one, which first checks that nobody else was faster. The turns stay.
    """

    def __init__(
        self,
        database: Database,
        policy: ConversationPolicy,
        formation_policy: FormationPolicy,
        summariser: Summariser,
    ) -> None:
        self.database = database
        self._policy = policy
        self._formation_policy = formation_policy
        self._summariser = summariser

    def compact_full(
        self, user_id: str, thread_id: str, report: Report, *, is_last_attempt: bool
    ) -> None:
        """Compact until the window is no longer full. Raises ModelUnavailable."""

        def summarise(segment: CompactionSpan) -> SummaryPart:
            return self._summariser.summarise(
                user_id, segment.bridge, segment.turns, is_patient=not is_last_attempt
            )

        for done in range(MAX_COMPACTIONS_PER_JOB):
            if self._compact_once(user_id, thread_id, self._policy.window_turns, summarise) is None:
                return
            report(f"{done + 1} segments summarised")
        self._queue_next(user_id, thread_id)

    def compact_all(self, user_id: str, thread_id: str, *, asks_model: bool) -> list[Compaction]:
        """Compact all but the turns that stay, however many; returns what was made."""

        def summarise(segment: CompactionSpan) -> SummaryPart:
            if not asks_model:
                return self._summariser.extract(segment.bridge, segment.turns)
            return self._summariser.summarise(
                user_id, segment.bridge, segment.turns, is_patient=False
            )

        made: list[Compaction] = []
        least = self._policy.kept_turns + 1
        while (one := self._compact_once(user_id, thread_id, least, summarise)) is not None:
            made.append(one)
        return made

    def _compact_once(
        self, user_id: str, thread_id: str, least: int, summarise: Summarise
    ) -> Compaction | None:
        """Compact one segment of a conversation with at least ``least`` open turns; None with
        fewer."""
        while (segment := self._next(user_id, thread_id, least)) is not None:
            made = self._write(user_id, segment, summarise(segment))
            if made is not None:
                return made
        return None

    def _next(self, user_id: str, thread_id: str, least: int) -> CompactionSpan | None:
        with self.database.read(user_id) as view:
            open_turns = count_open_turns(view.connection, user_id, thread_id)
            size = min(self._policy.segment_turns, open_turns - self._policy.kept_turns)
            if open_turns < least or size < 1:
                return None
            former = last_compaction(view.connection, user_id, thread_id)
            reached = 0 if former is None else former.last_position
            turns = turns_between(view.connection, user_id, thread_id, reached + 1, reached + size)
        read = [replace(turn, content=both_ends(turn.content)) for turn in turns]
        return CompactionSpan(thread_id, former, read)

    @retried
    def _write(
        self, user_id: str, segment: CompactionSpan, summary: SummaryPart
    ) -> Compaction | None:
        """Store the summary; None where somebody else was faster, or the conversation is gone."""
        thread_id, last = segment.thread_id, segment.turns[-1]
        at = max(turn.at for turn in segment.turns)
        made = Compaction(
            thread_id=thread_id,
            first_position=segment.turns[0].position,
            last_position=last.position,
            day=self._policy.day_of(at),
            summary=summary.summary,
            bridge=summary.bridge,
            made_by=summary.made_by,
            at=at,
        )
        with self.database.write(user_id) as writing:
            connection = writing.connection
            if (
                last_compaction(connection, user_id, thread_id) != segment.former
                or id_of_turn(connection, user_id, thread_id, last.position) != last.id
            ):
                return None
            put_compaction(writing, made)
            if self._formation_policy.is_automatic and is_person(user_id):
                plan_forming(writing, thread_id, writing.now)
        return made

    @retried
    def _queue_next(self, user_id: str, thread_id: str) -> None:
        with self.database.write(user_id) as writing:
            open_turns = count_open_turns(writing.connection, user_id, thread_id)
            if open_turns >= self._policy.window_turns:
                plan_compaction(writing, thread_id)
