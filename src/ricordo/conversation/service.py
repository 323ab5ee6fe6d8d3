"""Context windows of long conversations: compacting and resuming them."""

from collections.abc import Callable, Sequence
from typing import Final

import sqlalchemy as sa

from ricordo.conversation.summaries import ConversationPolicy, Summariser, SummaryPart
from ricordo.errors import ThreadNotFound
from ricordo.formation.passages import both_ends
from ricordo.formation.schedule import FormationPolicy, plan_forming
from ricordo.formation.service import Formation
from ricordo.frozen import dataclass, replace
from ricordo.index.cache import LruCache
from ricordo.limits import MAX_COMPACTIONS_PER_JOB, MAX_DAY_LOG_CHARS, MAX_PAGE_ITEMS
from ricordo.model.activity import NewJob, Report
from ricordo.model.group import is_person
from ricordo.model.thread import Compaction, CompactionReport, DayEntry, DayLog, Turn, Window
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.formation import turns_between
from ricordo.storage.threads import (
    compactions_of_day,
    count_open_turns,
    find_thread,
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


MAX_PROVISIONAL_TURNS: Final = 60
"""How many turns go into a provisional bridge; those before them are only counted."""

_MAX_PROVISIONAL_TURN_CHARS: Final = 1_000
"""How much of each is read: cleaning takes time while a caller waits for the window."""

_THREADS_REMEMBERED: Final = 1_024


@dataclass(frozen=True, slots=True)
class _Resumed:
    """When a conversation was resumed, and how far it was summarised then."""

    day: str
    compacted_to: int


class ConversationService:
    """Windows and summaries of any user's conversations."""

    def __init__(
        self, database: Database, policy: ConversationPolicy, formation: Formation
    ) -> None:
        self.database = database
        self.policy = policy
        self._summariser = Summariser(database.analyser, policy, formation.model)
        self._resumed: LruCache[tuple[str, str], _Resumed] = LruCache(_THREADS_REMEMBERED)
        self._compactor = Compactor(database, policy, formation.policy, self._summariser)

    def window(self, user_id: str, thread_id: str, project: str | None = None) -> Window:
        """The latest turns of a conversation, and a bridge that summarises those before.

        Never more than ``window_turns`` turns: those whose summary is pending go into a provisional
        bridge. Empty for an unknown conversation. One that was resumed in this process shows what
        else was said today, until the next summary; with a ``project``, not in other ones.
        """
        found = self._window(user_id, thread_id, self.policy.window_turns)
        taken_up = self._resumed.get((user_id, thread_id))
        if taken_up is None or taken_up.compacted_to != found.compacted_to:
            return found
        return self._with_day(user_id, found, taken_up.day, project)

    def compact(self, user_id: str, thread_id: str) -> CompactionReport:
        """Summarise all but the latest turns now, without the model where it gives nothing usable.
        Raises ThreadNotFound: this user has no such conversation."""
        with self.database.read(user_id) as view:
            if find_thread(view.connection, user_id, thread_id) is None:
                raise ThreadNotFound(thread_id)
        made = self._compactor.compact_all(user_id, thread_id, asks_model=True)
        with self.database.read(user_id) as view:
            open_turns = count_open_turns(view.connection, user_id, thread_id)
        return CompactionReport(
            thread_id=thread_id,
            compactions=len(made),
            turns=sum(one.last_position - one.first_position + 1 for one in made),
            open_turns=open_turns,
            made_by=tuple(dict.fromkeys(one.made_by for one in made)),
        )

    def compact_full(
        self, user_id: str, thread_id: str, report: Report, *, is_last_attempt: bool
    ) -> None:
        """The job for a full window. Raises ModelUnavailable."""
        self._compactor.compact_full(user_id, thread_id, report, is_last_attempt=is_last_attempt)

    def resume(self, user_id: str, thread_id: str, project: str | None = None) -> Window:
        """The window of a conversation that a program resumes.

        All but the latest turns are summarised first; more than a window of them without the model,
        so that the caller does not wait for many answers.
        """
        with self.database.read(user_id) as view:
            open_turns = count_open_turns(view.connection, user_id, thread_id)
            now = view.now
        asks_model = open_turns <= self.policy.window_turns
        self._compactor.compact_all(user_id, thread_id, asks_model=asks_model)
        found = self._window(user_id, thread_id, self.policy.kept_turns)
        day = self.policy.day_of(now)
        self._resumed.put((user_id, thread_id), _Resumed(day, found.compacted_to))
        return self._with_day(user_id, found, day, project)

    def day_log(self, user_id: str, day: str | None = None, project: str | None = None) -> DayLog:
        """Summaries of a user's conversations of a day, by default today; with a ``project``, of
        those of it and of none."""
        with self.database.read(user_id) as view:
            wanted = day or self.policy.day_of(view.now)
            entries = _entries_of_day(view.connection, user_id, wanted, project)
        return DayLog(
            day=wanted,
            entries=tuple(
                DayEntry(
                    thread_id=one.thread_id, at=one.at, summary=one.summary, made_by=one.made_by
                )
                for one in entries
            ),
        )

    def _with_day(self, user_id: str, found: Window, day: str, project: str | None) -> Window:
        """The window with the day's entries that its bridge does not cover, as many as fit."""
        with self.database.read(user_id) as view:
            entries = _entries_of_day(view.connection, user_id, day, project)
        own = [one for one in entries if one.thread_id == found.thread_id]
        # The conversation's own latest one is in its bridge, in other words.
        covered = own[-1:] + [one for one in own if one.summary in (found.bridge or "")]
        room = MAX_DAY_LOG_CHARS
        shown: list[str] = []
        for one in reversed([one for one in entries if one not in covered]):
            time = one.at.astimezone(self.policy.zone)
            text = f"[{time:%H:%M}, {one.thread_id}]\n{one.summary}"
            if len(text) > room:
                break
            room -= len(text) + 2
            shown.append(text)
        return replace(found, today="\n\n".join(reversed(shown)) or None)

    def _window(self, user_id: str, thread_id: str, most: int) -> Window:
        with self.database.read(user_id) as view:
            connection = view.connection
            former = last_compaction(connection, user_id, thread_id)
            open_turns = count_open_turns(connection, user_id, thread_id)
            reached = 0 if former is None else former.last_position
            last = reached + open_turns
            first = max(reached + 1, last + 1 - most - MAX_PROVISIONAL_TURNS)
            turns = turns_between(connection, user_id, thread_id, first, last)
        bridge = None if former is None else former.bridge
        overflow = turns[:-most]
        if overflow:
            bridge = self._provisional(bridge, overflow, first - 1 - reached)
        return Window(
            thread_id=thread_id,
            bridge=bridge or None,
            today=None,
            turns=tuple(turns[len(overflow) :]),
            compacted_to=overflow[-1].position if overflow else reached,
            is_provisional=bool(overflow),
        )

    def _provisional(self, bridge: str | None, turns: Sequence[Turn], skipped: int) -> str | None:
        """A bridge that includes turns whose summary is pending."""
        if skipped:
            gap = f"({skipped} turns that are not shown here; they can be searched.)"
            bridge = f"{bridge}\n\n{gap}" if bridge else gap
        # The beginning of each: in a part from the middle, recalled text could not be recognised.
        heads = [
            replace(turn, content=turn.content[:_MAX_PROVISIONAL_TURN_CHARS]) for turn in turns
        ]
        size = self.policy.segment_turns
        for start in range(0, len(heads), size):
            bridge = self._summariser.extract(bridge, heads[start : start + size]).bridge
        return bridge


def _entries_of_day(
    connection: sa.Connection, user_id: str, day: str, project: str | None
) -> list[Compaction]:
    """The latest segments of a day in order, without those in which nobody spoke."""
    found = compactions_of_day(connection, user_id, day, MAX_PAGE_ITEMS, project)
    return [one for one in found if one.summary]
