"""Bringing what was found in a file into a user's memory as ordinary writes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

import sqlalchemy as sa

from ricordo.errors import ImportFailed, InvalidValue
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.memories.adding import add_all, check_times
from ricordo.model.conversation import Compaction
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.proposal import StoredProposal
from ricordo.model.receipt import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.thread import NewTurn
from ricordo.storage.compactions import put_compaction
from ricordo.storage.database import Database, retried
from ricordo.storage.formation import FormationState, advance, state_of
from ricordo.storage.items import find_items
from ricordo.storage.tables import items, turns
from ricordo.storage.threads import append_turns
from ricordo.storage.writing import Writing
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
    found: Findings,
    format_name: str,
    progress: Progress,
) -> ImportReport:
    """Write findings in batches. Doing it again, after a kill for one, changes nothing more.

    Raises:
        ImportFailed: times that contradict each other; nothing was written.
    """
    now = database.clock()
    wanted = [draft for draft in found.memories if not _has_expired(draft, now)]
    _check_times(wanted, now)
    skipped = Counter(found.skipped)
    skipped["expired"] += len(found.memories) - len(wanted)
    total = len(wanted) + len(found.threads)
    added: list[Added] = []
    for batch in _batches(wanted):
        outcomes = _merge_memories(database, scope, batch)
        skipped["older than what is stored"] += len(batch) - len(outcomes)
        added += outcomes
        progress(len(added), total)
    turn_count = 0
    new_turn_ids: dict[int, int] = {}
    for done, thread in enumerate(found.threads, start=len(wanted) + 1):
        appended, placed = _merge_thread(database, scope.user_id, thread)
        turn_count += appended
        new_turn_ids.update(placed)
        progress(done, total)
    skipped += merge_proposals(database, scope, found.proposals, new_turn_ids, _REASON)
    return ImportReport(
        format=format_name,
        added=sum(not (one.duplicate or one.updated) for one in added),
        updated=sum(one.updated for one in added),
        duplicates=sum(one.duplicate for one in added),
        threads=len(found.threads),
        turns=turn_count,
        skipped={why: count for why, count in sorted(skipped.items()) if count},
    )


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


def _batches(drafts: Sequence[NewMemory]) -> Iterable[Sequence[NewMemory]]:
    for start in range(0, len(drafts), WRITE_BATCH_ITEMS):
        yield drafts[start : start + WRITE_BATCH_ITEMS]


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
