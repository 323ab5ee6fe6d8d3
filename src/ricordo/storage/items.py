"""Rows of memories: inserting, changing, finding and paging through them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import InvalidCursor
from ricordo.model.filters import Sort, SortColumn
from ricordo.model.item import Item
from ricordo.model.page import Page, cursor_moment, decode_cursor, encode_cursor
from ricordo.model.searchable import text_of_item
from ricordo.model.times import format_moment
from ricordo.model.vocabulary import MemoryType, Source, Status
from ricordo.storage.columns import Moment, Words, stored_choice
from ricordo.storage.constructs import among, bound_list
from ricordo.storage.index_rows import Searchable, change_entry, put_entries, remove_entries
from ricordo.storage.prepared import Prepared
from ricordo.storage.relations import remove_relations
from ricordo.storage.search_index import ITEMS
from ricordo.storage.store_entries import remove_entries_of_items
from ricordo.storage.tables import items
from ricordo.storage.where import Condition
from ricordo.storage.writing import Writing
from ricordo.text.normalise import content_hash, folded

_COLUMNS: Final = [items.c[field.name] for field in fields(Item)]
_NAMES: Final = [column.name for column in _COLUMNS]
_values: Final = attrgetter(*_NAMES)
_select: Final = sa.select(*_COLUMNS)
_by_id: Final = Prepared(
    _select.where(
        items.c.user_id == sa.bindparam("user_id", type_=Words),
        among(items.c.id, bound_list("ids", sa.BigInteger())),
    )
)
_select_place: Final = sa.select(items.c.user_id, items.c.id)
_INDEXED_SORTS: Final = (SortColumn.ID, SortColumn.CREATED_AT, SortColumn.UPDATED_AT)
_NULLABLE_SORTS: Final = frozenset(
    column for column in SortColumn if items.c[column.value].nullable
)

_MAX_SMALL: Final = 2**31 - 1
_SMALLEST_STEP: Final = timedelta(microseconds=1)
_MAX_CLOCK_SKEW: Final = timedelta(minutes=1)
_SEARCHED: Final = frozenset({"content", "key", "tags", "theme", "type", "valid_from"})
"""The columns that the index of a memory is made from."""
_insert: Final = Prepared(sa.insert(items))

_expired = sa.case((items.c.expires_at <= sa.bindparam("now", type_=Moment), 1), else_=0)
_found = sa.select(items.c.id, items.c.theme, items.c.key, items.c.content_hash, _expired)
_own_active = sa.and_(
    items.c.user_id == sa.bindparam("user_id", type_=Words),
    # A literal, because the partial indexes can only be used when the statement shows it.
    items.c.status == sa.literal_column("'active'"),
)
_active_by_one_text: Final = Prepared(
    _found.where(
        _own_active,
        items.c.theme == sa.bindparam("theme", type_=Words),
        items.c.content_hash == sa.bindparam("hash", type_=Words),
    )
)
_active_by_text: Final = Prepared(
    _found.where(
        _own_active,
        among(items.c.theme, bound_list("themes")),
        among(items.c.content_hash, bound_list("hashes")),
    )
)
_active_by_key: Final = Prepared(
    _found.where(
        _own_active,
        items.c.key.is_not(None),
        among(items.c.key, bound_list("keys")),
        among(items.c.theme, bound_list("themes")),
    )
)


class ActiveMatch:
    """An active memory that a new one may be the same as."""

    __slots__ = ("content_hash", "expired", "id", "key", "theme")

    def __init__(self, row: Sequence[Any]) -> None:
        self.id: int = row[0]
        self.theme: str = row[1]
        self.key: str | None = row[2]
        self.content_hash: str = row[3]
        self.expired = bool(row[4])


def active_with_text(
    connection: sa.Connection, user_id: str, themes: set[str], hashes: set[str], now: datetime
) -> list[ActiveMatch]:
    """A user's active memories in these themes with one of these texts."""
    if len(themes) == len(hashes) == 1:  # the everyday case, and five times as fast
        single = {"user_id": user_id, "theme": min(themes), "hash": min(hashes), "now": now}
        return [ActiveMatch(row) for row in _active_by_one_text.run(connection, single)]
    given = {"user_id": user_id, "themes": list(themes), "hashes": list(hashes), "now": now}
    return [ActiveMatch(row) for row in _active_by_text.run(connection, given)]


def active_with_key(
    connection: sa.Connection, user_id: str, themes: set[str], keys: set[str], now: datetime
) -> list[ActiveMatch]:
    """A user's active memories in these themes with one of these keys."""
    given = {"user_id": user_id, "themes": list(themes), "keys": list(keys), "now": now}
    return [ActiveMatch(row) for row in _active_by_key.run(connection, given)]


def insert_items(writing: Writing, new: Sequence[Item]) -> None:
    """Store new memories and index them."""
    _insert.run_many(writing.connection, (_row(item) for item in new))
    index_items(writing, new)


def index_items(writing: Writing, new: Iterable[Item]) -> None:
    """Make memories of the writing user findable."""
    put_entries(writing, ITEMS, [searchable_item(item) for item in new])


def changed_at(writing: Writing, item: Item) -> datetime:
    """The ``updated_at`` of what a change makes of a memory: now, and another one than before.

    Who names the state that they saw goes by it, so no two states may have the same, however
    quickly they follow each other and whatever the clocks of several servers say. Only what was
    dated far into the future comes back to the present.
    """
    before = item.updated_at
    if writing.now <= before <= writing.now + _MAX_CLOCK_SKEW:
        return before + _SMALLEST_STEP
    return writing.now


def update_item(writing: Writing, item: Item, values: Mapping[str, Any]) -> None:
    """Change columns of one memory; what is derived from them follows."""
    stored = dict(values)
    if "content" in stored:
        stored |= derived_columns(stored["content"])
    where = sa.and_(items.c.user_id == item.user_id, items.c.id == item.id)
    writing.connection.execute(sa.update(items).where(where).values(**_plain(stored)))
    if not _SEARCHED.isdisjoint(values):
        change_entry(writing, ITEMS, searchable_item(replace(item, **values)))


def delete_items(writing: Writing, ids: Iterable[int]) -> None:
    """Remove memories of the writing user for good."""
    doomed = list(ids)
    where = sa.and_(items.c.user_id == writing.user_id, items.c.id.in_(doomed))
    writing.connection.execute(sa.delete(items).where(where))
    remove_entries(writing, ITEMS, doomed)
    remove_relations(writing, doomed)
    remove_entries_of_items(writing, doomed)


def searchable_item(item: Item) -> Searchable:
    """What search is to read of a memory."""
    return Searchable(item.id, item.content, text_of_item(item))


def find_item(connection: sa.Connection, where: Condition) -> Item | None:
    """One memory, or None."""
    row = connection.execute(_select.where(where)).mappings().first()
    return None if row is None else item_from_row(row)


def item_of(connection: sa.Connection, user_id: str, item_id: int) -> Item | None:
    """A user's own memory in whatever status, expired or not; None when it is not there."""
    return find_item(connection, (items.c.user_id == user_id) & (items.c.id == item_id))


def items_by_id(connection: sa.Connection, wanted: Iterable[tuple[str, int]]) -> dict[int, Item]:
    """Memories by owner and id, whatever their status: for those that were found a moment ago."""
    by_owner: dict[str, list[int]] = {}
    for owner, item_id in wanted:
        by_owner.setdefault(owner, []).append(item_id)
    found = {}
    for owner, ids in by_owner.items():
        for row in _by_id.run_typed(connection, {"user_id": owner, "ids": ids}):
            item = item_from_row(dict(zip(_NAMES, row, strict=True)))
            found[item.id] = item
    return found


def find_items(connection: sa.Connection, where: Condition, limit: int | None = None) -> list[Item]:
    """Memories in the order of their ids."""
    wanted = _select.where(where).order_by(items.c.id).limit(limit)
    return [item_from_row(row) for row in connection.execute(wanted).mappings()]


def has_ended(connection: sa.Connection, user_id: str, since: datetime, now: datetime) -> bool:
    """Whether an active memory's own end has come since then; a job will take it away soon."""
    ended = (
        (items.c.user_id == user_id)
        & (items.c.status == Status.ACTIVE.value)
        & (items.c.expires_at > since)
        & (items.c.expires_at <= now)
    )
    return connection.execute(sa.select(items.c.id).where(ended).limit(1)).first() is not None


def foremost_items(connection: sa.Connection, where: Condition, limit: int) -> list[Item]:
    """Memories in the order of how much they matter: pinned, important, recent."""
    order = (
        items.c.pinned.desc(),
        items.c.importance.desc(),
        items.c.valid_from.desc(),
        items.c.id,
    )
    wanted = _select.where(where).order_by(*order).limit(limit)
    return [item_from_row(row) for row in connection.execute(wanted).mappings()]


def page_of_items(
    connection: sa.Connection, where: Condition, sort: Sort, limit: int, cursor: str | None
) -> Page[Item]:
    """A page of memories in the given order.

    Raises:
        InvalidCursor: the cursor is from a list in another order.
    """
    if cursor is not None:
        where = sa.and_(where, _after(sort, cursor))
    if sort.column in _INDEXED_SORTS:
        whole = connection.execute(_ordered(_select, where, sort, limit + 1)).mappings()
        found = [item_from_row(row) for row in whole]
    else:
        # Only what orders them is carried through the sorting, not all that they say.
        rows = connection.execute(_ordered(_select_place, where, sort, limit + 1))
        places = [(row.user_id, row.id) for row in rows]
        by_id = items_by_id(connection, places)
        found = [by_id[item_id] for _, item_id in places]
    shown = tuple(found[:limit])
    return Page(shown, _cursor(sort, shown[-1]) if len(found) > limit else None)


def _ordered(columns: sa.Select[Any], where: Condition, sort: Sort, limit: int) -> sa.Select[Any]:
    column = items.c[sort.column.value]
    directed = [column, items.c.id] if sort.column is not SortColumn.ID else [items.c.id]
    order = [entry.desc() if sort.descending else entry.asc() for entry in directed]
    if sort.column in _NULLABLE_SORTS:
        order.insert(0, column.is_(None).asc())
    return columns.where(where).order_by(*order).limit(limit)


def item_from_row(row: Mapping[Any, Any]) -> Item:
    """A stored row as a memory."""
    values = dict(row)
    values["type"] = stored_choice(MemoryType, values["type"])
    values["source"] = stored_choice(Source, values["source"])
    values["status"] = stored_choice(Status, values["status"])
    values["tags"] = tuple(values["tags"])
    return Item(**values)


def _row(item: Item) -> dict[str, Any]:
    values = dict(zip(_NAMES, _values(item), strict=True))
    return _plain(values | derived_columns(item.content))


def derived_columns(content: str) -> dict[str, str]:
    """The columns that follow from a memory's text."""
    return {"content_hash": content_hash(content), "folded": folded(content)}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the drivers take them: psycopg would store an enumeration's name."""
    for name in ("type", "source", "status"):
        if name in values:
            values[name] = values[name].value
    if "tags" in values:
        values["tags"] = list(values["tags"])
    return values


def _cursor_kind(sort: Sort) -> str:
    return f"{sort.column.value} {'desc' if sort.descending else 'asc'}"


def _cursor(sort: Sort, last: Item) -> str:
    value = getattr(last, sort.column.value)
    shown = format_moment(value) if isinstance(value, datetime) else value
    return encode_cursor(_cursor_kind(sort), [shown, last.id])


def _after(sort: Sort, cursor: str) -> Condition:
    """What comes after the place that the cursor names, missing values being last."""
    column = items.c[sort.column.value]
    moments = isinstance(column.type, Moment)
    expected = str if moments else column.type.python_type
    value, last_id = decode_cursor(_cursor_kind(sort), cursor, ((expected, type(None)), int))
    small = isinstance(column.type, sa.Integer) and not isinstance(column.type, sa.BigInteger)
    if small and value is not None and abs(value) > _MAX_SMALL:
        raise InvalidCursor("cursor is not one that this call gave out")
    beyond_id = items.c.id < last_id if sort.descending else items.c.id > last_id
    if value is None:
        return sa.and_(column.is_(None), beyond_id)
    reached = sa.literal(cursor_moment(value) if moments else value, column.type)
    beyond = column < reached if sort.descending else column > reached
    following = sa.or_(beyond, sa.and_(column == reached, beyond_id))
    return sa.or_(following, column.is_(None)) if sort.column in _NULLABLE_SORTS else following
