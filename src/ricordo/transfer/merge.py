"""Merging the rows of a draft into a user's existing memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa

from ricordo.agent_state.entries import forget_memories
from ricordo.errors import ImportFailed, InvalidValue, OtherProject
from ricordo.formation.agent_notes import PROPOSED, check_no_secret, proposed
from ricordo.formation.proposals import add_proposal
from ricordo.formation.service import Formation
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.memories.additions import add_all, check_times
from ricordo.memories.lifecycle import plan_lifecycle
from ricordo.model.draft import FIELD_NAMES, NewMemory
from ricordo.model.item import Added
from ricordo.model.proposal import StoredProposal
from ricordo.model.reports import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import ProposalKind, ProposalState, Source, Status
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
from ricordo.transfer.drafts import FoundThread, UserDraft, pages
from ricordo.transfer.exports import Progress
from ricordo.transfer.rows import Row

_REASON: Final = "imported"
_GRAPHS: Final = {
    "graph_checkpoint": graph_checkpoints,
    "graph_channel": graph_channels,
    "graph_write": graph_writes,
}
_NOT_MERGED: Final = {
    "summary": "summaries",
    "history": "history rows",
    "group": "groups",
    "group_member": "members of groups",
    "link": "links",
    "refused_link": "refused links",
    "blocked_sender": "blocked senders",
    "thread_view": "views of changes",
}
_ENTRIES_AT_ONCE: Final = 100  # an entry may have a megabyte

T = TypeVar("T")


def merge_user(
    database: Database,
    scope: Scope,
    draft: UserDraft,
    format_name: str,
    skipped: Counter[str],
    progress: Progress,
    asked: Formation | None = None,
) -> ImportReport:
    """Merge the rows of a draft in batches. Idempotent, so an interrupted import can be repeated.

    ``skipped`` counts what was left out before, by reason. With ``asked``, what holds a secret is
    left out, and what needs consent is proposed.

    Raises:
        ImportFailed: times that contradict each other; nothing was written.
    """
    now, user_id = database.clock(), scope.user_id
    left = memories_to_leave(database, user_id, draft)
    counts: Counter[str] = Counter()
    done, total = 0, draft.count("thread") + check_memories(database, draft, left, skipped)
    # Memories come before the conversations that they were said in.
    for batch in _batches(_memories(draft, left, now, Counter()), WRITE_BATCH_ITEMS):
        kept = batch if asked is None else _screened(asked, scope, batch, counts, skipped)
        outcomes = _merge_memories(database, scope, kept)
        skipped["older than what is stored"] += len(kept) - len(outcomes)
        for one in outcomes:
            counts["added"] += not (one.duplicate or one.updated)
            counts["updated"] += one.updated
            counts["duplicates"] += one.duplicate
        done += len(batch)
        progress(done, total)
    new_turn_ids: dict[int, int] = {}
    for thread in draft.threads():
        try:
            appended, placed = _merge_thread(database, scope, thread)
        except OtherProject:
            skipped["conversations of another project"] += 1
            continue
        counts["threads"] += 1
        counts["turns"] += appended
        new_turn_ids.update(placed)
        done += 1
        progress(done, total)
    for waiting in _batches(_proposals(draft, skipped), WRITE_BATCH_ITEMS):
        skipped += _merge_proposals(database, scope, waiting, new_turn_ids)
    skipped += merge_states(database, user_id, draft)
    for kind, what in _NOT_MERGED.items():
        skipped[what] += draft.count(kind)
    described = draft.table("theme").c.description.is_not(None)
    skipped["theme descriptions"] += draft.count("theme", described)
    return ImportReport(
        format=format_name,
        **counts,
        skipped={why: count for why, count in sorted(skipped.items()) if count},
    )


def check_memories(
    database: Database,
    draft: UserDraft,
    left: AbstractSet[int] = frozenset(),
    skipped: Counter[str] | None = None,
) -> int:
    """Check the times of the memories to merge; how many these are. Raises ImportFailed: times that
    contradict each other."""
    now, count = database.clock(), 0
    for memory in _memories(draft, left, now, Counter() if skipped is None else skipped):
        try:
            check_times(memory, now)
        except InvalidValue as problem:
            raise ImportFailed(f"memory {memory.content[:60]!r}: {problem}") from None
        count += 1
    return count


def _screened(
    formation: Formation,
    scope: Scope,
    batch: Sequence[NewMemory],
    counts: Counter[str],
    skipped: Counter[str],
) -> list[NewMemory]:
    """What may be stored at once; the rest is proposed or left out, and counted."""
    kept = []
    for draft in batch:
        is_own = draft.effective_source is Source.USER_EXPLICIT
        try:
            if is_own:
                check_no_secret("content", draft)
            waits = None if is_own else proposed(formation, scope, draft)
        except InvalidValue:
            skipped["with a secret"] += 1
            continue
        if waits is None:
            kept.append(draft)
        elif waits.status == PROPOSED:
            counts["proposed"] += 1
        else:
            skipped["turned down before"] += 1
    return kept


def _batches(values: Iterable[T], at_once: int) -> Iterator[list[T]]:
    iterator = iter(values)
    while batch := list(islice(iterator, at_once)):
        yield batch


def _memories(
    draft: UserDraft, left: AbstractSet[int], now: datetime, skipped: Counter[str]
) -> Iterator[NewMemory]:
    """The memories to merge, without those whose ids are in ``left``; counts what it skips."""
    for row in draft.rows("item"):
        if row["id"] in left:
            continue
        if row["status"] != Status.ACTIVE.value:
            skipped[f"{row['status']} memories"] += 1
        elif row["expires_at"] is not None and row["expires_at"] <= now:
            skipped["expired"] += 1
        else:
            yield NewMemory(**{name: row[name] for name in FIELD_NAMES})


def _proposals(draft: UserDraft, skipped: Counter[str]) -> Iterator[StoredProposal]:
    """The open proposals; counts the others."""
    for row in draft.rows("proposal"):
        if row["state"] != ProposalState.OPEN.value:
            skipped["decided proposals"] += 1
            continue
        values: dict[str, Any] = {name: row[name] for name in row if name != "user_id"}
        values["kind"] = ProposalKind(row["kind"])
        values["state"] = ProposalState.OPEN
        values["fields"], values["signals"] = tuple(row["fields"]), tuple(row["signals"])
        yield StoredProposal(**values)


@retried
def _merge_proposals(
    database: Database,
    scope: Scope,
    batch: Sequence[StoredProposal],
    new_turn_ids: Mapping[int, int],
) -> Counter[str]:
    """Add open proposals until they expire; returns what was left out, by reason.

    A text that is a memory here, or was proposed here before, is not proposed again.
    """
    skipped: Counter[str] = Counter()
    with database.write(scope.user_id) as writing:
        known = _known(writing, {proposal.content_hash for proposal in batch})
        for proposal in batch:
            if proposal.expires_at <= writing.now:
                skipped["expired"] += 1
            elif proposal.content_hash in known:
                skipped["proposals known already"] += 1
            else:
                (number,) = writing.take_ids(ITEM_IDS, 1)
                signals = tuple(
                    new_turn_ids[one] for one in proposal.signals if one in new_turn_ids
                )
                kept = replace(proposal, id=number, signals=signals)
                add_proposal(writing, kept, scope.actor, _REASON)
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
    stored = {
        (item.theme, item.key, item.project_id): item.valid_from
        for item in find_items(connection, where)
    }
    newer = []
    for draft in drafts:
        present = stored.get((draft.effective_theme, draft.key, draft.project_id))
        stated = draft.valid_from or draft.created_at
        if present is None or stated is None or stated >= present:
            newer.append(draft)
    return newer


@retried
def _merge_thread(
    database: Database, scope: Scope, thread: FoundThread
) -> tuple[int, dict[int, int]]:
    """Add the new turns of a conversation; how many, and their ids here by those in the file.
    Raises OtherProject: here it is of another one."""
    project = thread.project_id or scope.project_id
    with database.write(scope.user_id) as writing:
        before = state_of(writing.connection, scope.user_id, thread.thread_id)
        # Without a message id, duplicates cannot be recognised.
        said = [turn for turn in thread.turns if before is None or turn.message_id is not None]
        appended = append_turns(writing, thread.thread_id, thread.title, said, project).turns
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


def memories_to_leave(database: Database, user_id: str, given: UserDraft) -> set[int]:
    """Memories in the file of entries that exist here and are as new or newer.

    Merging them would change when the entries here expire and how they are found.
    """
    left: set[int] = set()
    entries = given.select("store_entry", "namespace", "key", "item_id", "updated_at")
    with database.read(user_id) as view:
        where = readable(user_id, view.now)
        for rows in pages(given.connection, entries):
            present = entries_named(view.connection, where, [_name(row) for row in rows])
            left.update(
                row["item_id"]
                for row in rows
                if row["item_id"] is not None and _is_as_new(present.get(_name(row)), row)
            )
    return left


def merge_states(database: Database, user_id: str, given: UserDraft) -> Counter[str]:
    """Add program states that are new or newer; returns what was left out, by reason.

    Memories must be merged first: store entries refer to theirs. Idempotent.
    """
    skipped: Counter[str] = Counter()
    for row in given.rows("checkpoint"):
        skipped["older checkpoints"] += not _merge_checkpoint(database, user_id, row)
    threads = sa.union(*(given.select(kind, "thread_id").order_by(None) for kind in _GRAPHS))
    for thread_id in given.connection.execute(threads).scalars():
        rows = {kind: given.rows_of_thread(kind, thread_id) for kind in _GRAPHS}
        skipped["graphs of known threads"] += not _merge_graph(database, user_id, thread_id, rows)
    for batch in _batches(given.rows("store_entry"), _ENTRIES_AT_ONCE):
        mentioned = [row["item_id"] for row in batch if row["item_id"] is not None]
        found = given.select("item", "id", "status", "theme", "key", "project_id").where(
            given.table("item").c.id.in_(mentioned)
        )
        by_id = {row["id"]: dict(row) for row in given.connection.execute(found).mappings()}
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
            position = state_rows.CheckpointPosition(present.version, present.created_at)
            state_rows.put_state(
                writing, row["thread_id"], row["state"], position, row["updated_at"]
            )
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
        of_project = [one.id for one in found if one.project_id == memory["project_id"]]
        item_id = of_project[0] if of_project else None
    values = {name: value for name, value in row.items() if name != "user_id"}
    return StoredEntry(**{**values, "item_id": item_id})
