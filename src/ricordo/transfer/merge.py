"""Merging imported data into a user's existing memory."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

import sqlalchemy as sa

from ricordo.agent_state.entries import forget_memories
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.formation.proposals import add_proposal
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.memories.additions import add_all, check_times
from ricordo.memories.lifecycle import plan_lifecycle
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.proposal import StoredProposal
from ricordo.model.reports import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.thread import Compaction, NewTurn
from ricordo.model.vocabulary import Status
from ricordo.storage import checkpoints as state_rows
from ricordo.storage.checkpoints import has_graph
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.entries import EntryName, StoredEntry, entries_named, put_entries, readable
from ricordo.storage.formation import FormationState, advance, state_of
from ricordo.storage.items import active_with_key, find_items
from ricordo.storage.tables import (
    ITEM_IDS,
    checkpoints,
    graph_channels,
    graph_checkpoints,
    graph_writes,
    items,
    proposals,
    turns,
)
from ricordo.storage.threads import append_turns, put_compaction
from ricordo.transfer.exports import Progress
from ricordo.transfer.rows import Row, UserRows

KNOWN_ALREADY: Final = "proposals known already"

_REASON: Final = "imported"
_GRAPHS: Final = {
    "graph_checkpoint": graph_checkpoints,
    "graph_channel": graph_channels,
    "graph_write": graph_writes,
}


def merge_proposals(
    database: Database,
    scope: Scope,
    waiting: Sequence[StoredProposal],
    new_turn_ids: Mapping[int, int],
    reason: str,
) -> Counter[str]:
    """Add open proposals until they expire; returns what was left out, by reason.

    A text that is a memory here, or was proposed here before, is not proposed again.
    """
    skipped: Counter[str] = Counter()
    for start in range(0, len(waiting), WRITE_BATCH_ITEMS):
        batch = waiting[start : start + WRITE_BATCH_ITEMS]
        skipped += _merge_batch(database, scope, batch, new_turn_ids, reason)
    return skipped


@retried
def _merge_batch(
    database: Database,
    scope: Scope,
    batch: Sequence[StoredProposal],
    new_turn_ids: Mapping[int, int],
    reason: str,
) -> Counter[str]:
    skipped: Counter[str] = Counter()
    with database.write(scope.user_id) as writing:
        known = _known(writing, {proposal.content_hash for proposal in batch})
        for proposal in batch:
            if proposal.expires_at <= writing.now:
                skipped["expired"] += 1
            elif proposal.content_hash in known:
                skipped[KNOWN_ALREADY] += 1
            else:
                _keep(writing, scope, proposal, new_turn_ids, reason)
                known.add(proposal.content_hash)
    return skipped


def _known(writing: WriteTransaction, hashes: set[str]) -> set[str]:
    """Which of these texts are memories or proposals here."""
    remembered = sa.select(items.c.content_hash).where(
        items.c.user_id == writing.user_id,
        items.c.status == Status.ACTIVE.value,
        items.c.content_hash.in_(sorted(hashes)),
    )
    proposed = sa.select(proposals.c.content_hash).where(
        proposals.c.user_id == writing.user_id, proposals.c.content_hash.in_(sorted(hashes))
    )
    return set(writing.connection.execute(sa.union(remembered, proposed)).scalars())


def _keep(
    writing: WriteTransaction,
    scope: Scope,
    proposal: StoredProposal,
    new_turn_ids: Mapping[int, int],
    reason: str,
) -> None:
    (proposal_id,) = writing.take_ids(ITEM_IDS, 1)
    signals = tuple(new_turn_ids[one] for one in proposal.signals if one in new_turn_ids)
    kept = replace(proposal, id=proposal_id, signals=signals)
    add_proposal(writing, kept, scope.actor, reason)


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A conversation in a file.

    ``turn_ids`` are the ids of its turns in the file, if any; the first ``formed`` turns have been
    formed into memories. ``compactions`` are its summaries.
    """

    thread_id: str
    title: str | None
    turns: Sequence[NewTurn]
    turn_ids: Sequence[int] = ()
    formed: int = 0
    compactions: Sequence[Compaction] = ()


@dataclass(slots=True)
class ImportedData:
    """Checked data of one user, ready to be written.

    ``skipped`` counts what was left out, by reason.
    """

    memories: list[NewMemory] = field(default_factory=list)
    threads: list[FoundThread] = field(default_factory=list)
    proposals: list[StoredProposal] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add_thread(self, thread_id: str, title: str | None, turns: list[NewTurn]) -> None:
        """Add a conversation of another system, unless nothing of it can be stored."""
        if turns:
            self.threads.append(FoundThread(thread_id, title, turns))
        else:
            self.skipped["conversations without text"] += 1


def merge_findings(
    database: Database,
    scope: Scope,
    pieces: Callable[[], Iterable[ImportedData]],
    format_name: str,
    progress: Progress,
) -> ImportReport:
    """Write findings in batches. Idempotent, so an interrupted import can be repeated.

    ``pieces`` returns a new iterator each time: everything is checked before the first write, and
    never held in memory at once.

    Raises:
        ImportFailed: times that contradict each other; nothing was written.
    """
    merging = _Merge(database, scope, progress)
    for piece in pieces():
        merging.check(piece)
    for piece in pieces():
        merging.write(piece)
    return merging.finished(format_name)


class _Merge:
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

    def check(self, piece: ImportedData) -> None:
        wanted = self._wanted(piece)
        _check_times(wanted, self._now)
        self._skipped.update(piece.skipped)
        self._skipped["expired"] += len(piece.memories) - len(wanted)
        self._total += len(wanted) + len(piece.threads)

    def write(self, piece: ImportedData) -> None:
        self._waiting += self._wanted(piece)
        # Memories come before the conversations that they were said in.
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

    def _wanted(self, piece: ImportedData) -> list[NewMemory]:
        return [
            draft
            for draft in piece.memories
            if not (draft.expires_at is not None and draft.expires_at <= self._now)
        ]

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


def _newer_than_stored(
    connection: sa.Connection, user_id: str, drafts: Sequence[NewMemory]
) -> list[NewMemory]:
    """The drafts without those whose key has a newer value here."""
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
    """Add the new turns of a conversation; how many, and their ids here by those in the file."""
    with database.write(user_id) as writing:
        before = state_of(writing.connection, user_id, thread.thread_id)
        # Without a message id, duplicates cannot be recognised.
        said = [turn for turn in thread.turns if before is None or turn.message_id is not None]
        appended = append_turns(writing, thread.thread_id, thread.title, said)
        if not thread.turn_ids:
            return appended, {}
        places = _places(writing, thread, is_new=before is None)
        _keep_formed(writing, thread, before, places)
        if before is None:  # otherwise its turns have other positions here
            for compaction in thread.compactions:
                put_compaction(writing, compaction)
    met = zip(thread.turn_ids, places, strict=True)
    return appended, {turn_id: place.id for turn_id, place in met if place is not None}


class _Place(NamedTuple):
    id: int
    position: int


def _places(writing: WriteTransaction, thread: FoundThread, *, is_new: bool) -> list[_Place | None]:
    """Where each turn of the file is stored; None for those left out."""
    wanted = sa.select(turns.c.id, turns.c.position, turns.c.message_id).where(
        turns.c.user_id == writing.user_id, turns.c.thread_id == thread.thread_id
    )
    rows = writing.connection.execute(wanted.order_by(turns.c.position)).all()
    if is_new:
        return [_Place(row.id, row.position) for row in rows]
    by_message = {row.message_id: _Place(row.id, row.position) for row in rows if row.message_id}
    return [by_message.get(turn.message_id) for turn in thread.turns]


def _keep_formed(
    writing: WriteTransaction,
    thread: FoundThread,
    before: FormationState | None,
    places: Sequence[_Place | None],
) -> None:
    """Mark turns as formed that were formed before, up to the first that was not."""
    if before is not None and before.is_behind:
        return
    last = 0 if before is None else before.turn_count
    brought = sum(place is not None and place.position > last for place in places[: thread.formed])
    if brought:
        advance(writing, thread.thread_id, last + brought)


# Existing states stay, unless the file has a newer one for the same thread or entry.


def memories_to_leave(database: Database, user_id: str, given: UserRows) -> set[int]:
    """Memories in the file of entries that exist here and are as new or newer.

    Merging them would change when the entries here expire and how they are found.
    """
    with database.read(user_id) as view:
        where = readable(user_id, view.now)
        rows = given.rows["store_entry"]
        present = entries_named(view.connection, where, [_name(row) for row in rows])
    return {
        row["item_id"]
        for row in rows
        if row["item_id"] is not None and _is_as_new(present.get(_name(row)), row)
    }


def merge_states(database: Database, user_id: str, given: UserRows) -> Counter[str]:
    """Add program states that are new or newer; returns what was left out, by reason.

    Memories must be merged first: store entries refer to theirs. Idempotent.
    """
    skipped: Counter[str] = Counter()
    skipped["views of changes"] = len(given.rows["thread_view"])
    for row in given.rows["checkpoint"]:
        skipped["older checkpoints"] += not _merge_checkpoint(database, user_id, row)
    by_thread: defaultdict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for kind in _GRAPHS:
        for row in given.rows[kind]:
            by_thread[row["thread_id"]][kind].append(row)
    for thread_id, rows in by_thread.items():
        skipped["graphs of known threads"] += not _merge_graph(database, user_id, thread_id, rows)
    entries = given.rows["store_entry"]
    by_id = {row["id"]: row for row in given.rows["item"]}
    for start in range(0, len(entries), WRITE_BATCH_ITEMS):
        batch = entries[start : start + WRITE_BATCH_ITEMS]
        skipped += _merge_entries(database, user_id, batch, by_id)
    return skipped


@retried
def _merge_checkpoint(database: Database, user_id: str, row: Row) -> bool:
    with database.write(user_id) as writing:
        present = state_rows.find_state(writing.connection, user_id, row["thread_id"])
        if present is not None and present.updated_at >= row["updated_at"]:
            return False
        if present is None:
            writing.connection.execute(sa.insert(checkpoints).values({**row, "user_id": user_id}))
            writing.keeps_user = True
        else:  # with a new version, so that a program with the old one notices
            stands = state_rows.CheckpointPosition(present.version, present.created_at)
            state_rows.put_state(writing, row["thread_id"], row["state"], stands, row["updated_at"])
    return True


@retried
def _merge_graph(
    database: Database, user_id: str, thread_id: str, rows: dict[str, list[Row]]
) -> bool:
    with database.write(user_id) as writing:
        if has_graph(writing.connection, user_id, thread_id):
            return False
        for kind, table in _GRAPHS.items():
            own = [{**row, "user_id": user_id} for row in rows[kind]]
            if own:
                writing.connection.execute(sa.insert(table), own)
        writing.keeps_user = True
    return True


@retried
def _merge_entries(
    database: Database, user_id: str, batch: Sequence[Row], items: dict[int, Row]
) -> Counter[str]:
    skipped: Counter[str] = Counter()
    with database.write(user_id) as writing:
        where = readable(user_id, writing.now)
        present = entries_named(writing.connection, where, [_name(row) for row in batch])
        kept = []
        for row in batch:
            here = present.get(_name(row))
            memory = None if row["item_id"] is None else items[row["item_id"]]
            is_forgotten = memory is not None and memory["status"] == Status.DELETED.value
            has_ended = row["expires_at"] is not None and row["expires_at"] <= writing.now
            if is_forgotten or has_ended:
                skipped["ended entries"] += 1
            elif _is_as_new(here, row):
                skipped["older entries"] += 1
            else:
                kept.append(_entry(writing, row, memory))
                if here is not None and here.item_id not in (None, kept[-1].item_id):
                    forget_memories(writing, Scope(user_id), [here.item_id])
        if kept:
            put_entries(writing, kept)
        for entry in kept:
            if entry.expires_at is not None:
                plan_lifecycle(writing, user_id, entry.expires_at)
    return skipped


def _name(row: Row) -> EntryName:
    return EntryName(row["namespace"], row["key"])


def _is_as_new(here: StoredEntry | None, row: Row) -> bool:
    return here is not None and here.updated_at >= row["updated_at"]


def _entry(writing: WriteTransaction, row: Row, memory: Row | None) -> StoredEntry:
    """An entry with the id of its memory here, if that is active."""
    item_id = None
    if memory is not None and memory["key"] is not None:
        found = active_with_key(
            writing.connection, writing.user_id, {memory["theme"]}, {memory["key"]}, writing.now
        )
        item_id = found[0].id if found else None
    values = {name: value for name, value in row.items() if name != "user_id"}
    return StoredEntry(**{**values, "item_id": item_id})
