"""Bringing what was found in a file into a user's memory as ordinary writes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.errors import ImportFailed, InvalidValue
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.memories.adding import add_all, check_times
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.receipt import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.thread import NewTurn
from ricordo.storage.database import Database, retried
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.threads import append_turns, find_thread
from ricordo.transfer.progress import Progress

_REASON: Final = "imported"


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A conversation in a file."""

    thread_id: str
    title: str | None
    turns: Sequence[NewTurn]


@dataclass(slots=True)
class Findings:
    """What a file holds for one user, checked and ready to be written.

    ``skipped`` counts what was left out, by reason.
    """

    memories: list[NewMemory] = field(default_factory=list)
    threads: list[FoundThread] = field(default_factory=list)
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
    turns = 0
    for done, thread in enumerate(found.threads, start=len(wanted) + 1):
        turns += _merge_thread(database, scope.user_id, thread)
        progress(done, total)
    return ImportReport(
        format=format_name,
        added=sum(not (one.duplicate or one.updated) for one in added),
        updated=sum(one.updated for one in added),
        duplicates=sum(one.duplicate for one in added),
        threads=len(found.threads),
        turns=turns,
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
def _merge_thread(database: Database, user_id: str, thread: FoundThread) -> int:
    with database.write(user_id) as writing:
        known = find_thread(writing.connection, user_id, thread.thread_id) is not None
        # Without a message id nobody can tell whether a turn is there already.
        turns = [turn for turn in thread.turns if not known or turn.message_id is not None]
        return append_turns(writing, thread.thread_id, thread.title, turns)
