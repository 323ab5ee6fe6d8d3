"""Bringing what was found in a file into a user's memory as ordinary writes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

import sqlalchemy as sa

from ricordo.errors import ImportFailed, InvalidValue
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.memories.additions import add_all, check_times
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.proposal import StoredProposal
from ricordo.model.reports import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.thread import Compaction, NewTurn
from ricordo.storage.database import Database, retried
from ricordo.storage.formation import FormationState, advance, state_of
from ricordo.storage.items import find_items
from ricordo.storage.tables import items, turns
from ricordo.storage.threads import append_turns, put_compaction
from ricordo.storage.transaction import Writing
from ricordo.transfer.progress import Progress
from ricordo.transfer.proposal_merging import merge_proposals

_REASON: Final = "imported"


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A conversation in a file.

    ``turn_ids`` are the numbers that its turns have there, if they have any; the first ``formed``
    of them have been formed into memories. ``compactions`` tell stretches of it in short.
    """

    thread_id: str
    title: str | None
    turns: Sequence[NewTurn]
    turn_ids: Sequence[int] = ()
    formed: int = 0
    compactions: Sequence[Compaction] = ()


@dataclass(slots=True)
class Findings:
    """What a file holds for one user, checked and ready to be written.

    ``skipped`` counts what was left out, by reason.
    """

    memories: list[NewMemory] = field(default_factory=list)
    threads: list[FoundThread] = field(default_factory=list)
    proposals: list[StoredProposal] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def merge_findings(
    database: Database,
    scope: Scope,
    pieces: Callable[[], Iterable[Findings]],
    format_name: str,
    progress: Progress,
) -> ImportReport:
    """Write findings in batches. Doing it again, after a kill for one, changes nothing more.

    ``pieces`` gives the findings of a file, and again when it is called again: all of them are
    looked at before the first is written, and never held at once.

    Raises:
        ImportFailed: times that contradict each other; nothing was written.
    """
    merging = _Merging(database, scope, progress)
    for piece in pieces():
        merging.check(piece)
    for piece in pieces():
        merging.write(piece)
    return merging.finished(format_name)


class _Merging:
    """One file on its way into a user's memory."""

    def __init__(self, database: Database, scope: Scope, progress: Progress) -> None:
        self._database = database
        self._scope = scope
        self._progress = progress
        self._now = database.clock()
        self._skipped: Counter[str] = Counter()
        self._total = 0
        self._done = 0
        self._waiting: list[NewMemory] = []
        self._outcomes: Counter[str] = Counter()
        self._new_turn_ids: dict[int, int] = {}

    def check(self, piece: Findings) -> None:
        wanted = self._wanted(piece)
        _check_times(wanted, self._now)
        self._skipped.update(piece.skipped)
        self._skipped["expired"] += len(piece.memories) - len(wanted)
        self._total += len(wanted) + len(piece.threads)

    def write(self, piece: Findings) -> None:
        self._waiting += self._wanted(piece)
        # What is said to be remembered comes before the conversations that it was said in.
        self._write_memories(at_least=1 if piece.threads else WRITE_BATCH_ITEMS)
        for thread in piece.threads:
            appended, placed = _merge_thread(self._database, self._scope.user_id, thread)
            self._outcomes["threads"] += 1
            self._outcomes["turns"] += appended
            self._new_turn_ids.update(placed)
            self._note_done(1)
        if piece.proposals:
            self._skipped += merge_proposals(
                self._database, self._scope, piece.proposals, self._new_turn_ids, _REASON
            )

    def finished(self, format_name: str) -> ImportReport:
        self._write_memories(at_least=1)
        return ImportReport(
            format=format_name,
            added=self._outcomes["added"],
            updated=self._outcomes["updated"],
            duplicates=self._outcomes["duplicates"],
            threads=self._outcomes["threads"],
            turns=self._outcomes["turns"],
            skipped={why: count for why, count in sorted(self._skipped.items()) if count},
        )

    def _wanted(self, piece: Findings) -> list[NewMemory]:
        return [draft for draft in piece.memories if not _has_expired(draft, self._now)]

    def _write_memories(self, at_least: int) -> None:
        while len(self._waiting) >= at_least:
            batch = self._waiting[:WRITE_BATCH_ITEMS]
            del self._waiting[:WRITE_BATCH_ITEMS]
            outcomes = _merge_memories(self._database, self._scope, batch)
            self._skipped["older than what is stored"] += len(batch) - len(outcomes)
            for one in outcomes:
                is_new = not (one.duplicate or one.updated)
                self._outcomes["added"] += is_new
                self._outcomes["updated"] += one.updated
                self._outcomes["duplicates"] += one.duplicate
            self._note_done(len(batch))

    def _note_done(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _check_times(drafts: Iterable[NewMemory], now: datetime) -> None:
    for draft in drafts:
        try:
            check_times(draft, now)
        except InvalidValue as problem:
            raise ImportFailed(f"memory {draft.content[:60]!r}: {problem}") from None


@retried
def _merge_memories(database: Database, scope: Scope, batch: Sequence[NewMemory]) -> list[Added]:
    with database.write(scope.user_id) as writing:
        newer = _newer_than_stored(writing.connection, scope.user_id, batch)
        return add_all(writing, scope, newer, _REASON)


def _has_expired(draft: NewMemory, now: datetime) -> bool:
    return draft.expires_at is not None and draft.expires_at <= now


def _newer_than_stored(
    connection: sa.Connection, user_id: str, drafts: Sequence[NewMemory]
) -> list[NewMemory]:
    """Without the keyed ones whose key was given a newer value here."""
    keys = sorted({draft.key for draft in drafts if draft.key is not None})
    if not keys:
        return list(drafts)
    where = (items.c.user_id == user_id) & (items.c.status == "active") & items.c.key.in_(keys)
    stored = {(item.theme, item.key): item.valid_from for item in find_items(connection, where)}
    return [draft for draft in drafts if not _is_older(draft, stored)]


def _is_older(draft: NewMemory, stored: dict[tuple[str, str | None], datetime]) -> bool:
    present = stored.get((draft.effective_theme, draft.key))
    stated = draft.valid_from or draft.created_at
    return present is not None and stated is not None and stated < present


@retried
def _merge_thread(
    database: Database, user_id: str, thread: FoundThread
) -> tuple[int, dict[int, int]]:
    """Add what is new in a conversation; how much it was, and the numbers of its turns here."""
    with database.write(user_id) as writing:
        before = state_of(writing.connection, user_id, thread.thread_id)
        # Without a message id nobody can tell whether a turn is there already.
        said = [turn for turn in thread.turns if before is None or turn.message_id is not None]
        appended = append_turns(writing, thread.thread_id, thread.title, said)
        if not thread.turn_ids:
            return appended, {}
        places = _places(writing, thread, is_new=before is None)
        _keep_formed(writing, thread, before, places)
        if before is None:  # or else its turns have other places here
            for told in thread.compactions:
                put_compaction(writing, told)
    met = zip(thread.turn_ids, places, strict=True)
    return appended, {turn_id: place.id for turn_id, place in met if place is not None}


class _Place(NamedTuple):
    """Where a turn of a file is now."""

    id: int
    position: int


def _places(writing: Writing, thread: FoundThread, *, is_new: bool) -> list[_Place | None]:
    """Where each turn of the file is; None for those that were left out."""
    wanted = sa.select(turns.c.id, turns.c.position, turns.c.message_id).where(
        turns.c.user_id == writing.user_id, turns.c.thread_id == thread.thread_id
    )
    rows = writing.connection.execute(wanted.order_by(turns.c.position)).all()
    if is_new:
        return [_Place(row.id, row.position) for row in rows]
    by_message = {row.message_id: _Place(row.id, row.position) for row in rows if row.message_id}
    return [by_message.get(turn.message_id) for turn in thread.turns]


def _keep_formed(
    writing: Writing,
    thread: FoundThread,
    before: FormationState | None,
    places: Sequence[_Place | None],
) -> None:
    """What was formed there need not be formed here again, unless it follows what must be."""
    if before is not None and before.is_behind:
        return
    last = 0 if before is None else before.turn_count
    brought = sum(place is not None and place.position > last for place in places[: thread.formed])
    if brought:
        advance(writing, thread.thread_id, last + brought)
