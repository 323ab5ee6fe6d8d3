"""Bringing programs' states from a file to a user who has something already.

What is here stays, unless the file has something newer for the very same conversation or entry.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from ricordo.agent_state.entries import forget_memories
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.memories.lifecycle import plan_lifecycle
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Status
from ricordo.storage import checkpoints as state_rows
from ricordo.storage.checkpoints import has_graph
from ricordo.storage.database import Database, retried
from ricordo.storage.entries import EntryName, StoredEntry, entries_named, put_entries, readable
from ricordo.storage.items import active_with_key
from ricordo.storage.tables import checkpoints, graph_channels, graph_checkpoints, graph_writes
from ricordo.storage.transaction import Writing
from ricordo.transfer.rows import Row, UserRows

_GRAPHS: Final = {
    "graph_checkpoint": graph_checkpoints,
    "graph_channel": graph_channels,
    "graph_write": graph_writes,
}


def memories_to_leave(database: Database, user_id: str, given: UserRows) -> set[int]:
    """The file's memories of entries that are here already, as new or newer.

    Merging them would change when the entries here end and by what they are found.
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
    """Add the states of programs that are new or newer; what was left out, by reason.

    The memories of the file must have been merged before: entries of stores look for theirs.
    Doing it again changes nothing more.
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
        else:  # with a version of its own, so that a program which knows the last one notices
            stands = state_rows.Standing(present.version, present.created_at)
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


def _entry(writing: Writing, row: Row, memory: Row | None) -> StoredEntry:
    """An entry with the number that its memory has here, if it is an active one."""
    item_id = None
    if memory is not None and memory["key"] is not None:
        found = active_with_key(
            writing.connection,
            writing.user_id,
            {memory["theme"]},
            {memory["key"]},
            writing.now,
        )
        item_id = found[0].id if found else None
    values = {name: value for name, value in row.items() if name != "user_id"}
    return StoredEntry(**{**values, "item_id": item_id})
