"""Compaction: summarising the oldest turns of a conversation when its window is full."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

import sqlalchemy as sa

from ricordo.conversation.summaries import ConversationPolicy, Summariser, SummaryPart
from ricordo.formation.schedule import FormationPolicy, plan_forming
from ricordo.limits import MAX_COMPACTIONS_PER_JOB, MAX_DAY_LOG_CHARS, MAX_PAGE_ITEMS
from ricordo.model.job import NewJob, Report
from ricordo.model.thread import Compaction, Turn
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.formation import turns_between
from ricordo.storage.threads import (
    compactions_of_day,
    count_open_turns,
    id_of_turn,
    last_compaction,
    put_compaction,
)

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
            patient = not is_last_attempt
            return self._summariser.summarise(
                user_id, segment.bridge, segment.turns, is_patient=patient
            )

        for done in range(MAX_COMPACTIONS_PER_JOB):
            if self.compact_once(user_id, thread_id, self._policy.window_turns, summarise) is None:
                return
            report(f"{done + 1} stretches told in short")
        self._queue_next(user_id, thread_id)

    def compact_all(self, user_id: str, thread_id: str, *, asks_model: bool) -> list[Compaction]:
        """Compact all but the turns that stay, however many; returns what was made."""

        def summarise(segment: CompactionSpan) -> SummaryPart:
            if asks_model:
                summary = self._summariser.summarise(
                    user_id, segment.bridge, segment.turns, is_patient=False
                )
            else:
                summary = self._summariser.extract(segment.bridge, segment.turns)
            return summary

        made: list[Compaction] = []
        least = self._policy.kept_turns + 1
        while (one := self.compact_once(user_id, thread_id, least, summarise)) is not None:
            made.append(one)
        return made

    def compact_once(
        self, user_id: str, thread_id: str, least: int, summarise: Summarise
    ) -> Compaction | None:
        """Compact one segment of a conversation with at least ``least`` open turns; None with
        fewer."""
        while (segment := self._next(user_id, thread_id, least)) is not None:
            summary = summarise(segment)
            made = self._write(user_id, segment, summary)
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
        return CompactionSpan(thread_id, former, turns)

    @retried
    def _write(
        self, user_id: str, segment: CompactionSpan, summary: SummaryPart
    ) -> Compaction | None:
        """Store the summary; None where somebody else was faster, or the conversation is gone."""
        first, last = segment.turns[0], segment.turns[-1]
        at = max(turn.at for turn in segment.turns)
        made = Compaction(
            thread_id=segment.thread_id,
            first_position=first.position,
            last_position=last.position,
            day=self._policy.day_of(at),
            summary=summary.summary,
            bridge=summary.bridge,
            made_by=summary.made_by,
            at=at,
        )
        with self.database.write(user_id) as writing:
            if not _still_next(writing, segment):
                return None
            put_compaction(writing, made)
            if self._formation_policy.is_automatic and user_id != GLOBAL_OWNER:
                plan_forming(writing, segment.thread_id, writing.now)
        return made

    @retried
    def _queue_next(self, user_id: str, thread_id: str) -> None:
        with self.database.write(user_id) as writing:
            open_turns = count_open_turns(writing.connection, user_id, thread_id)
            if open_turns >= self._policy.window_turns:
                plan_compaction(writing, thread_id)


def _still_next(writing: WriteTransaction, segment: CompactionSpan) -> bool:
    """Whether these are still the oldest open turns of the same conversation."""
    user_id, thread_id = writing.user_id, segment.thread_id
    present = last_compaction(writing.connection, user_id, thread_id)
    if present != segment.former:
        return False
    last = segment.turns[-1]
    return id_of_turn(writing.connection, user_id, thread_id, last.position) == last.id


def entries_of_day(connection: sa.Connection, user_id: str, day: str) -> list[Compaction]:
    """The latest segments of a day in order, without those in which nobody spoke."""
    found = compactions_of_day(connection, user_id, day, MAX_PAGE_ITEMS)
    return [one for one in found if one.summary]


def beside(entries: Sequence[Compaction], thread_id: str, bridge: str | None) -> list[Compaction]:
    """The entries that the bridge of a conversation does not cover.

    The conversation's own latest one is in its bridge, in other words.
    """
    own = [one for one in entries if one.thread_id == thread_id]
    covered = own[-1:] + [one for one in own if bridge is not None and one.summary in bridge]
    return [one for one in entries if one not in covered]


def day_text(entries: Sequence[Compaction], zone: tzinfo) -> str | None:
    """As many of the entries as fit into ``MAX_DAY_LOG_CHARS``, the newest last."""
    room = MAX_DAY_LOG_CHARS
    shown: list[str] = []
    for one in reversed(entries):
        text = f"[{one.at.astimezone(zone):%H:%M}, {one.thread_id}]\n{one.summary}"
        if len(text) > room:
            break
        room -= len(text) + 2
        shown.append(text)
    return "\n\n".join(reversed(shown)) or None
