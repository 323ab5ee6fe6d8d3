"""Rows of programs' key-value stores.

An entry that can be found by meaning has a memory. Where that is forgotten, the entry is gone for
every read, and where it is restored, the entry is back.
"""

from collections.abc import Collection, Generator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ricordo.model.vocabulary import Status
from ricordo.storage.columns import Moment, among
from ricordo.storage.statements import PreparedStatement
from ricordo.storage.tables import items, store_entries
from ricordo.storage.transaction import WriteTransaction

SEPARATOR: Final = "."
"""Between the labels of a namespace, none of which has it."""

_AFTER_SEPARATOR: Final = chr(ord(SEPARATOR) + 1)
_NAMES_AT_ONCE: Final = 400
_ROWS_AT_ONCE: Final = 200
_COLUMNS: Final = [column for column in store_entries.c if column.name != "user_id"]


class EntryName(NamedTuple):
    """What names an entry of a user's: its namespace, labels joined, and its key in there."""

    namespace: str
    key: str


class StoredEntry(NamedTuple):
    """An entry as it is stored, its value as JSON text."""

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
        """What names it."""
        return EntryName(self.namespace, self.key)


_put: Final = PreparedStatement(
    sa.text(
        "INSERT INTO store_entries (user_id, namespace, key, value, item_id, created_at,"
        " updated_at, expires_at, ttl_minutes)"
        " VALUES (:user_id, :namespace, :key, :value, :item_id, :created_at,"
        " :updated_at, :expires_at, :ttl_minutes)"
        " ON CONFLICT (user_id, namespace, key) DO UPDATE SET value = excluded.value,"
        " item_id = excluded.item_id, created_at = excluded.created_at,"
        " updated_at = excluded.updated_at, expires_at = excluded.expires_at,"
        " ttl_minutes = excluded.ttl_minutes"
    ).bindparams(
        *(sa.bindparam(name, type_=Moment) for name in ("created_at", "updated_at", "expires_at"))
    )
)


def put_entries(writing: WriteTransaction, entries: Sequence[StoredEntry]) -> None:
    """Store entries of the writing user's, each in the place of what has its name."""
    rows = [{"user_id": writing.user_id, **entry._asdict()} for entry in entries]
    _put.run_many(writing.connection, rows)
    writing.keeps_user = True


def readable(user_id: str, now: datetime) -> sa.ColumnElement[bool]:
    """Entries of a user whose time has not come, and whose memory, if any, is not forgotten."""
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


def under(prefix: str) -> sa.ColumnElement[bool]:
    """Entries in a namespace or in one below it; all for the empty one."""
    if not prefix:
        return sa.true()
    column = store_entries.c.namespace
    below = sa.and_(column >= prefix + SEPARATOR, column < prefix + _AFTER_SEPARATOR)
    return sa.or_(column == prefix, below)


def entries_named(
    connection: sa.Connection, where: sa.ColumnElement[bool], names: Collection[EntryName]
) -> dict[EntryName, StoredEntry]:
    """Those of the named entries that meet a condition, which binds them to a user."""
    listed = sorted(names)
    found = {}
    for start in range(0, len(listed), _NAMES_AT_ONCE):
        batch = [tuple(name) for name in listed[start : start + _NAMES_AT_ONCE]]
        named = sa.tuple_(store_entries.c.namespace, store_entries.c.key).in_(batch)
        for row in connection.execute(sa.select(*_COLUMNS).where(where, named)):
            entry = StoredEntry(*row)
            found[entry.name] = entry
    return found


def of_user(user_id: str) -> sa.ColumnElement[bool]:
    """All entries of a user, readable or not."""
    return store_entries.c.user_id == user_id


def entries_of_items(
    connection: sa.Connection, where: sa.ColumnElement[bool], item_ids: Sequence[int]
) -> dict[int, StoredEntry]:
    """The entries by which some memories came to be, by the memory's number."""
    wanted = sa.select(*_COLUMNS).where(where, among(store_entries.c.item_id, _listed(item_ids)))
    entries = (StoredEntry(*row) for row in connection.execute(wanted))
    return {entry.item_id: entry for entry in entries if entry.item_id is not None}


def scan_entries(
    connection: sa.Connection,
    where: sa.ColumnElement[bool],
    *,
    limit: int | None = None,
    offset: int = 0,
) -> Generator[StoredEntry]:
    """Entries that meet a condition, the latest changed first; to be closed, or read to the end."""
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


def namespaces(connection: sa.Connection, where: sa.ColumnElement[bool]) -> list[str]:
    """The namespaces that have an entry which meets a condition."""
    wanted = sa.select(store_entries.c.namespace).where(where).distinct()
    return list(connection.execute(wanted).scalars())


def memories_under(user_id: str, prefix: str) -> sa.ColumnElement[bool]:
    """A condition on memories: those by which entries under a namespace are found."""
    found = sa.select(store_entries.c.item_id).where(
        store_entries.c.user_id == user_id, store_entries.c.item_id.is_not(None), under(prefix)
    )
    return items.c.id.in_(found)


def memories_numbered(item_ids: Sequence[int]) -> sa.ColumnElement[Any]:
    """A condition on memories: those with one of these numbers."""
    return among(items.c.id, _listed(item_ids))


def prolong(writing: WriteTransaction, entries: Sequence[StoredEntry]) -> None:
    """Let the time of entries, and of their memories, begin anew.

    That is no change of what is remembered, so it leaves no history, like the counts of recalls.
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
    """Give the memory of an entry the end that the entry has."""
    where = sa.and_(
        items.c.user_id == writing.user_id,
        items.c.id == item_id,
        items.c.status != Status.DELETED.value,
    )
    writing.connection.execute(sa.update(items).where(where).values(expires_at=until))


def has_entry(writing: WriteTransaction, item_id: int) -> bool:
    """Whether a memory of the writing user's is an entry of a store."""
    where = (store_entries.c.user_id == writing.user_id) & (store_entries.c.item_id == item_id)
    return writing.connection.execute(sa.select(sa.exists().where(where))).scalar_one()


def hand_over_entry(writing: WriteTransaction, old_id: int, new_id: int) -> None:
    """Let a memory's entry, if any, be that of another one with its key, which takes its place."""
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
    """Where the active memories of entries are filed, which somebody may have moved."""
    listed = sorted(names)
    found = {}
    for start in range(0, len(listed), _NAMES_AT_ONCE):
        batch = [tuple(name) for name in listed[start : start + _NAMES_AT_ONCE]]
        wanted = sa.select(store_entries.c.namespace, store_entries.c.key, items.c.theme).where(
            store_entries.c.user_id == user_id,
            sa.tuple_(store_entries.c.namespace, store_entries.c.key).in_(batch),
            items.c.user_id == user_id,
            items.c.id == store_entries.c.item_id,
            items.c.status == Status.ACTIVE.value,
        )
        for namespace, key, theme in connection.execute(wanted):
            found[EntryName(namespace, key)] = theme
    return found


def remove_entries(writing: WriteTransaction, names: Collection[EntryName]) -> None:
    """Remove entries of the writing user's; their memories stay."""
    listed = sorted(names)
    for start in range(0, len(listed), _NAMES_AT_ONCE):
        batch = [tuple(name) for name in listed[start : start + _NAMES_AT_ONCE]]
        named = sa.tuple_(store_entries.c.namespace, store_entries.c.key).in_(batch)
        writing.connection.execute(
            sa.delete(store_entries).where(store_entries.c.user_id == writing.user_id, named)
        )


def remove_entries_of_items(writing: WriteTransaction, item_ids: Sequence[int]) -> None:
    """Remove the entries whose memories are removed for good: they say the same."""
    where = sa.and_(
        store_entries.c.user_id == writing.user_id,
        among(store_entries.c.item_id, _listed(item_ids)),
    )
    writing.connection.execute(sa.delete(store_entries).where(where))


def remove_expired_entries(writing: WriteTransaction, limit: int) -> int:
    """Remove a bounded number of entries whose time has come; how many there were."""
    ended = (
        sa.select(store_entries.c.namespace, store_entries.c.key)
        .where(
            store_entries.c.user_id == writing.user_id,
            store_entries.c.expires_at <= writing.now,
        )
        .limit(limit)
    )
    names = [EntryName(*row) for row in writing.connection.execute(ended)]
    remove_entries(writing, names)
    return len(names)


def next_entry_end(connection: sa.Connection, user_id: str) -> datetime | None:
    """When the time of a user's next entry comes."""
    earliest = sa.select(sa.func.min(store_entries.c.expires_at, type_=Moment)).where(
        store_entries.c.user_id == user_id, store_entries.c.expires_at.is_not(None)
    )
    found: datetime | None = connection.execute(earliest).scalar_one()
    return found


def _listed(numbers: Sequence[int]) -> sa.BindParameter[Any]:
    kind = sa.JSON().with_variant(postgresql.ARRAY(sa.BigInteger()), "postgresql")
    return sa.bindparam(None, list(numbers), type_=kind, unique=True)
