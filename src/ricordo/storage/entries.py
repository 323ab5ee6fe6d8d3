"""Rows of programs' key-value stores.

An entry that can be searched has a memory. While that memory is forgotten, the entry is invisible.
"""

from collections.abc import Collection, Generator, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo.model.vocabulary import Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import Condition, Moment, among, upsert
from ricordo.storage.tables import items, store_entries, without_user

SEPARATOR: Final = "."
"""Joins the labels of a namespace; no label contains it."""

_AFTER_SEPARATOR: Final = chr(ord(SEPARATOR) + 1)
_NAMES_AT_ONCE: Final = 400
_ROWS_AT_ONCE: Final = 200
_COLUMNS: Final = without_user(store_entries)
_put: Final = upsert(store_entries, replacing=True)


class EntryName(NamedTuple):
    """The primary key of a user's entry: its namespace (joined labels) and key."""

    namespace: str
    key: str


class StoredEntry(NamedTuple):
    namespace: str
    key: str
    value: str
    item_id: int | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    ttl_minutes: float | None

    @property
    def name(self) -> EntryName:
        return EntryName(self.namespace, self.key)


def put_entries(writing: WriteTransaction, entries: Sequence[StoredEntry]) -> None:
    rows = [{"user_id": writing.user_id, **entry._asdict()} for entry in entries]
    _put.run_many(writing.connection, rows)
    writing.keeps_user = True


def readable(user_id: str, now: datetime) -> Condition:
    """Entries of a user that have not expired and whose memory, if any, is not forgotten."""
    remembered = sa.exists().where(
        items.c.user_id == user_id,
        items.c.id == store_entries.c.item_id,
        items.c.status != Status.DELETED.value,
        sa.or_(items.c.expires_at.is_(None), items.c.expires_at > now),
    )
    return sa.and_(
        store_entries.c.user_id == user_id,
        sa.or_(store_entries.c.expires_at.is_(None), store_entries.c.expires_at > now),
        sa.or_(store_entries.c.item_id.is_(None), remembered),
    )


def under(prefix: str) -> Condition:
    """Entries in a namespace or below it; the empty one has all."""
    if not prefix:
        return sa.true()
    column = store_entries.c.namespace
    below = sa.and_(column >= prefix + SEPARATOR, column < prefix + _AFTER_SEPARATOR)
    return sa.or_(column == prefix, below)


def entries_named(
    connection: sa.Connection, where: Condition, names: Collection[EntryName]
) -> dict[EntryName, StoredEntry]:
    """The named entries that meet a condition, which must restrict them to a user."""
    found = {}
    for named in _batches(names):
        for row in connection.execute(sa.select(*_COLUMNS).where(where, named)):
            entry = StoredEntry(*row)
            found[entry.name] = entry
    return found


def of_user(user_id: str) -> Condition:
    return store_entries.c.user_id == user_id


def entries_of_items(
    connection: sa.Connection, where: Condition, item_ids: Sequence[int]
) -> dict[int, StoredEntry]:
    wanted = sa.select(*_COLUMNS).where(where, among(store_entries.c.item_id, _listed(item_ids)))
    entries = (StoredEntry(*row) for row in connection.execute(wanted))
    return {entry.item_id: entry for entry in entries if entry.item_id is not None}


def scan_entries(
    connection: sa.Connection, where: Condition, *, limit: int | None = None, offset: int = 0
) -> Generator[StoredEntry]:
    """Entries that meet a condition, the latest changed first; close or exhaust the generator."""
    column = store_entries.c
    wanted = (
        sa.select(*_COLUMNS)
        .where(where)
        .order_by(column.updated_at.desc(), column.namespace, column.key)
        .limit(limit)
        .offset(offset)
        .execution_options(yield_per=_ROWS_AT_ONCE)
    )
    with connection.execute(wanted) as found:
        for row in found:
            yield StoredEntry(*row)


def namespaces(connection: sa.Connection, where: Condition) -> list[str]:
    wanted = sa.select(store_entries.c.namespace).where(where).distinct()
    return list(connection.execute(wanted).scalars())


def memories_under(user_id: str, prefix: str) -> Condition:
    """A condition on memories: those of entries under a namespace."""
    found = sa.select(store_entries.c.item_id).where(
        store_entries.c.user_id == user_id, store_entries.c.item_id.is_not(None), under(prefix)
    )
    return items.c.id.in_(found)


def memories_numbered(item_ids: Sequence[int]) -> sa.ColumnElement[Any]:
    return among(items.c.id, _listed(item_ids))


def prolong(writing: WriteTransaction, entries: Sequence[StoredEntry]) -> None:
    """Restart the time to live of entries and of their memories.

    No change of content, so it leaves no history.
    """
    for entry in entries:
        if entry.ttl_minutes is None:
            continue
        until = writing.now + timedelta(minutes=entry.ttl_minutes)
        where = sa.and_(
            store_entries.c.user_id == writing.user_id,
            store_entries.c.namespace == entry.namespace,
            store_entries.c.key == entry.key,
            store_entries.c.expires_at > writing.now,
        )
        moved = sa.update(store_entries).where(where).values(expires_at=until)
        if writing.connection.execute(moved).rowcount and entry.item_id is not None:
            set_memory_end(writing, entry.item_id, until)


def set_memory_end(writing: WriteTransaction, item_id: int, until: datetime | None) -> None:
    where = sa.and_(
        items.c.user_id == writing.user_id,
        items.c.id == item_id,
        items.c.status != Status.DELETED.value,
    )
    writing.connection.execute(sa.update(items).where(where).values(expires_at=until))


def has_entry(writing: WriteTransaction, item_id: int) -> bool:
    where = (store_entries.c.user_id == writing.user_id) & (store_entries.c.item_id == item_id)
    return writing.connection.execute(sa.select(sa.exists().where(where))).scalar_one()


def hand_over_entry(writing: WriteTransaction, old_id: int, new_id: int) -> None:
    """Point a memory's entry, if any, to the memory that replaces it."""
    old, new = items.alias(), items.alias()
    have_one_key = sa.exists().where(
        old.c.user_id == writing.user_id,
        old.c.id == old_id,
        new.c.user_id == writing.user_id,
        new.c.id == new_id,
        new.c.key == old.c.key,
    )
    where = (store_entries.c.user_id == writing.user_id) & (store_entries.c.item_id == old_id)
    moved = sa.update(store_entries).where(where, have_one_key).values(item_id=new_id)
    writing.connection.execute(moved)


def themes_of_memories(
    connection: sa.Connection, user_id: str, names: Collection[EntryName]
) -> dict[EntryName, str]:
    """The current themes of the entries' active memories; users may have moved them."""
    found = {}
    for named in _batches(names):
        wanted = sa.select(store_entries.c.namespace, store_entries.c.key, items.c.theme).where(
            store_entries.c.user_id == user_id,
            named,
            items.c.user_id == user_id,
            items.c.id == store_entries.c.item_id,
            items.c.status == Status.ACTIVE.value,
        )
        for namespace, key, theme in connection.execute(wanted):
            found[EntryName(namespace, key)] = theme
    return found


def remove_entries(writing: WriteTransaction, names: Collection[EntryName]) -> None:
    """Delete entries of the writing user; their memories stay."""
    for named in _batches(names):
        writing.connection.execute(
            sa.delete(store_entries).where(store_entries.c.user_id == writing.user_id, named)
        )


def remove_entries_of_items(writing: WriteTransaction, item_ids: Sequence[int]) -> None:
    """Delete the entries of memories that are purged: they have the same text."""
    where = sa.and_(
        store_entries.c.user_id == writing.user_id,
        among(store_entries.c.item_id, _listed(item_ids)),
    )
    writing.connection.execute(sa.delete(store_entries).where(where))


def remove_expired_entries(writing: WriteTransaction, limit: int) -> int:
    """Delete a bounded number of expired entries; returns how many."""
    ended = (
        sa.select(store_entries.c.namespace, store_entries.c.key)
        .where(
            store_entries.c.user_id == writing.user_id, store_entries.c.expires_at <= writing.now
        )
        .limit(limit)
    )
    names = [EntryName(*row) for row in writing.connection.execute(ended)]
    remove_entries(writing, names)
    return len(names)


def next_entry_end(connection: sa.Connection, user_id: str) -> datetime | None:
    earliest = sa.select(sa.func.min(store_entries.c.expires_at, type_=Moment)).where(
        store_entries.c.user_id == user_id, store_entries.c.expires_at.is_not(None)
    )
    found: datetime | None = connection.execute(earliest).scalar_one()
    return found


def _batches(names: Collection[EntryName]) -> Iterator[Condition]:
    """Conditions that select these entries, some hundred at a time."""
    listed = [tuple(name) for name in sorted(names)]
    for start in range(0, len(listed), _NAMES_AT_ONCE):
        batch = listed[start : start + _NAMES_AT_ONCE]
        yield sa.tuple_(store_entries.c.namespace, store_entries.c.key).in_(batch)


def _listed(numbers: Sequence[int]) -> sa.BindParameter[Any]:
    kind = sa.JSON().with_variant(sa.ARRAY(sa.BigInteger()), "postgresql")
    return sa.bindparam(None, list(numbers), type_=kind, unique=True)
