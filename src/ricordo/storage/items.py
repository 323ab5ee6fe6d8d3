"""Rows of memories and of their themes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter, itemgetter
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import InvalidCursor
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_FORMED_MEMORIES
from ricordo.model.checks import format_moment
from ricordo.model.embedding import VectorModel
from ricordo.model.filters import Sort, SortColumn
from ricordo.model.item import STORED_FIELDS, Item, stored_ratings
from ricordo.model.profile import PROFILE_THEME
from ricordo.model.record import Page, cursor_moment, decode_cursor, encode_cursor, plain
from ricordo.model.thread import Turn, text_of_item
from ricordo.model.vocabulary import ContextPolicy, Event, MemoryType, Source, Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.entries import remove_entries_of_items
from ricordo.storage.relations import remove_relations
from ricordo.storage.search_rows import Searchable, change_entry, put_entries, remove_entries
from ricordo.storage.sql import (
    Condition,
    Matrix,
    Moment,
    PreparedStatement,
    Words,
    among,
    bound_list,
    matrix_of,
    stored_choice,
    vector_bytes,
)
from ricordo.storage.tables import (
    ITEMS,
    REPLACEMENTS,
    USUAL,
    history,
    item_index,
    items,
    links,
    themes,
)
from ricordo.storage.threads import SaidTurn
from ricordo.storage.where import not_expired
from ricordo.text.normalise import content_hash, folded

_COLUMNS: Final = [items.c[name] for name in STORED_FIELDS]
_NAMES: Final = [column.name for column in _COLUMNS]
_DERIVED: Final = ("content_hash", "folded")
_AT: Final = {column.name: place for place, column in enumerate(items.c)}
_whole: Final = attrgetter(*("content" if name in _DERIVED else name for name in _AT))
_select: Final = sa.select(*_COLUMNS)
_by_id: Final = PreparedStatement(
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

Stretch = tuple[Condition, sa.Column[Any] | None]
"""Rows that are in the order of a column, or all have the same value there."""

_MAX_SMALL: Final = 2**31 - 1
_SMALLEST_STEP: Final = timedelta(microseconds=1)
_MAX_CLOCK_SKEW: Final = timedelta(minutes=1)
_SEARCHED: Final = frozenset({"content", "key", "tags", "theme", "type", "valid_from"})
"""The columns that a memory's search index is made from."""
_insert: Final = PreparedStatement(sa.insert(items))

_expired = sa.case((items.c.expires_at <= sa.bindparam("now", type_=Moment), 1), else_=0)
_found = sa.select(
    items.c.id, items.c.theme, items.c.key, items.c.content_hash, _expired, items.c.project_id
)
_own_active = sa.and_(
    items.c.user_id == sa.bindparam("user_id", type_=Words),
    # A literal: a partial index is used only when the statement shows its condition.
    items.c.status == sa.literal_column("'active'"),
)
_keyed_profile: Final = PreparedStatement(
    _select.where(
        _own_active,
        # Compared, not "is not null": else SQLite reads all of the user's rows in their order.
        items.c.key > "",
        items.c.theme == PROFILE_THEME,
        items.c.project_id.is_(None),
        not_expired(sa.bindparam("now", type_=Moment)),
    ).order_by(items.c.id)
)
_ended: Final = PreparedStatement(
    sa.select(items.c.id)
    .where(
        _own_active,
        items.c.expires_at > sa.bindparam("since", type_=Moment),
        items.c.expires_at <= sa.bindparam("now", type_=Moment),
    )
    .limit(sa.literal_column("1"))
)
_active_by_one_text: Final = PreparedStatement(
    _found.where(
        _own_active,
        items.c.theme == sa.bindparam("theme", type_=Words),
        items.c.content_hash == sa.bindparam("hash", type_=Words),
    )
)
_active_by_text: Final = PreparedStatement(
    _found.where(
        _own_active,
        among(items.c.theme, bound_list("themes")),
        among(items.c.content_hash, bound_list("hashes")),
    )
)
_active_by_key: Final = PreparedStatement(
    _found.where(
        _own_active,
        items.c.key.is_not(None),
        among(items.c.key, bound_list("keys")),
        among(items.c.theme, bound_list("themes")),
    )
)

VECTOR_PAGE_ROWS: Final = 2_000
"""Vectors per page: bounds the memory that a comparison takes."""

_IMPORTANT: Final = 3
# One count per day over a range of ix_items_created: SQLite takes six times as long to group the
# same rows, PostgreSQL twice.
_of_one: Final = {
    "sqlite": PreparedStatement(
        sa.text(
            "SELECT day.value, (SELECT count(*) FROM items WHERE user_id = :user_id"
            " AND created_at >= day.value AND created_at < date(day.value, '+1 day'))"
            " FROM json_each(:days) AS day"
        ).bindparams(bound_list("days"))
    ),
    "postgresql": PreparedStatement(
        sa.text(
            "SELECT day, (SELECT count(*) FROM items WHERE user_id = :user_id"
            " AND created_at >= CAST(day AS timestamp) AT TIME ZONE 'UTC'"
            " AND created_at < (CAST(day AS timestamp) + interval '1 day') AT TIME ZONE 'UTC')"
            " FROM unnest(CAST(:days AS text[])) AS day"
        ).bindparams(bound_list("days"))
    ),
}
# For all users, a count per user and day would be too many: scan all rows.
_of_all: Final = {
    "sqlite": PreparedStatement(
        sa.text(
            "SELECT substr(created_at, 1, 10), count(*) FROM items"
            " WHERE created_at >= :first AND created_at < :end GROUP BY 1"
        )
    ),
    "postgresql": PreparedStatement(
        sa.text(
            "SELECT CAST(created_at AT TIME ZONE 'UTC' AS date), count(*) FROM items"
            " WHERE created_at >= CAST(CAST(:first AS text) AS timestamp) AT TIME ZONE 'UTC'"
            " AND created_at < CAST(CAST(:end AS text) AS timestamp) AT TIME ZONE 'UTC' GROUP BY 1"
        )
    ),
}
_themes: Final = PreparedStatement(
    sa.select(themes.c.slug).where(
        themes.c.user_id == sa.bindparam("user_id", type_=Words),
        among(themes.c.slug, bound_list("slugs")),
    )
)
_one_theme: Final = PreparedStatement(
    sa.select(themes.c.slug).where(
        themes.c.user_id == sa.bindparam("user_id", type_=Words),
        themes.c.slug == sa.bindparam("slug", type_=Words),
    )
)
_superseded_in_threads: Final = _select.where(
    items.c.user_id == sa.bindparam("user_id", type_=Words),
    items.c.thread_id.is_not(None),  # the partial index can only be used when this is said
    among(items.c.thread_id, bound_list("threads")),
    items.c.status == sa.literal_column("'superseded'"),
)
_superseded_of_messages: Final = PreparedStatement(
    _superseded_in_threads.where(among(items.c.message_id, bound_list("messages")))
)
_superseded_of_moments: Final = PreparedStatement(
    _superseded_in_threads.where(
        items.c.message_id.is_(None), among(items.c.valid_from, bound_list("moments", Moment()))
    )
)
_in_thread: Final = (
    _select.where(
        items.c.user_id == sa.bindparam("user_id", type_=Words),
        items.c.thread_id.is_not(None),  # the partial index can only be used when this is said
        items.c.thread_id == sa.bindparam("thread_id", type_=Words),
        items.c.status != sa.literal_column("'deleted'"),
        not_expired(sa.bindparam("now", type_=Moment)),
    )
    .order_by(items.c.id)
    .limit(sa.literal_column(str(MAX_FORMED_MEMORIES)))
)
_of_messages: Final = PreparedStatement(
    _in_thread.where(among(items.c.message_id, bound_list("messages")))
)
_of_moments: Final = PreparedStatement(
    _in_thread.where(
        items.c.message_id.is_(None), among(items.c.valid_from, bound_list("moments", Moment()))
    )
)
_insert_themes: Final = PreparedStatement(sa.insert(themes))


class ActiveMatch:
    """An active memory that may equal a new one of its project."""

    __slots__ = ("content_hash", "expired", "id", "key", "project_id", "theme")

    def __init__(self, row: Sequence[Any]) -> None:
        self.id: int = row[0]
        self.theme: str = row[1]
        self.key: str | None = row[2]
        self.content_hash: str = row[3]
        self.expired = bool(row[4])
        self.project_id: str | None = row[5]


def active_with_text(
    connection: sa.Connection, user_id: str, themes: set[str], hashes: set[str], now: datetime
) -> list[ActiveMatch]:
    if len(themes) == len(hashes) == 1:  # the everyday case, and five times as fast
        single = {"user_id": user_id, "theme": min(themes), "hash": min(hashes), "now": now}
        return [ActiveMatch(row) for row in _active_by_one_text.run(connection, single)]
    given = {"user_id": user_id, "themes": list(themes), "hashes": list(hashes), "now": now}
    return [ActiveMatch(row) for row in _active_by_text.run(connection, given)]


def active_with_key(
    connection: sa.Connection, user_id: str, themes: set[str], keys: set[str], now: datetime
) -> list[ActiveMatch]:
    given = {"user_id": user_id, "themes": list(themes), "keys": list(keys), "now": now}
    return [ActiveMatch(row) for row in _active_by_key.run(connection, given)]


def insert_items(writing: WriteTransaction, new: Sequence[Item]) -> None:
    _insert.run_rows(writing.connection, map(_row_of, new))
    index_items(writing, new)


def index_items(writing: WriteTransaction, new: Iterable[Item]) -> None:
    put_entries(writing, ITEMS, [searchable_item(item) for item in new])


def changed_at(writing: WriteTransaction, item: Item) -> datetime:
    """The new ``updated_at`` of a changed memory: now, but always later than before.

    Clients detect concurrent changes by it, so it must be unique per state, whatever the clocks of
    several servers say. Only a date far in the future is reset to now.
    """
    before = item.updated_at
    if writing.now <= before <= writing.now + _MAX_CLOCK_SKEW:
        return before + _SMALLEST_STEP
    return writing.now


def update_item(writing: WriteTransaction, item: Item, values: Mapping[str, Any]) -> None:
    """Change columns of one memory, and what is derived from them."""
    stored = dict(values)
    if "content" in stored:
        stored |= derived_columns(stored["content"])
    where = sa.and_(items.c.user_id == item.user_id, items.c.id == item.id)
    writing.connection.execute(sa.update(items).where(where).values(**_plain(stored)))
    if not _SEARCHED.isdisjoint(values):
        change_entry(writing, ITEMS, searchable_item(replace(item, **values)))


def delete_items(writing: WriteTransaction, ids: Iterable[int]) -> None:
    doomed = list(ids)
    where = sa.and_(items.c.user_id == writing.user_id, items.c.id.in_(doomed))
    writing.connection.execute(sa.delete(items).where(where))
    remove_entries(writing, ITEMS, doomed)
    remove_relations(writing, doomed)
    remove_entries_of_items(writing, doomed)


def searchable_item(item: Item) -> Searchable:
    return Searchable(item.id, item.content, text_of_item(item))


def find_item(connection: sa.Connection, where: Condition) -> Item | None:
    row = connection.execute(_select.where(where)).mappings().first()
    return None if row is None else item_from_row(row)


def item_of(connection: sa.Connection, user_id: str, item_id: int) -> Item | None:
    """A user's own memory in any status, expired or not."""
    return find_item(connection, (items.c.user_id == user_id) & (items.c.id == item_id))


def items_by_id(connection: sa.Connection, wanted: Iterable[tuple[str, int]]) -> dict[int, Item]:
    """Memories by owner and id, in any status: for search results."""
    by_owner: dict[str, list[int]] = {}
    for owner, item_id in wanted:
        by_owner.setdefault(owner, []).append(item_id)
    found = {}
    for owner, ids in by_owner.items():
        for item in _read(connection, _by_id, {"user_id": owner, "ids": ids}):
            found[item.id] = item
    return found


def find_items(connection: sa.Connection, where: Condition, limit: int | None = None) -> list[Item]:
    """Memories in the order of their ids."""
    wanted = _select.where(where).order_by(items.c.id).limit(limit)
    return [item_from_row(row) for row in connection.execute(wanted).mappings()]


def has_ended(connection: sa.Connection, user_id: str, since: datetime, now: datetime) -> bool:
    """Whether an active memory has expired since then (a job archives it soon)."""
    return bool(_ended.run(connection, {"user_id": user_id, "since": since, "now": now}))


def foremost_items(connection: sa.Connection, where: Condition, limit: int) -> list[Item]:
    """Memories by weight: pinned, important, recent."""
    order = (
        items.c.pinned.desc(),
        items.c.importance.desc(),
        items.c.valid_from.desc(),
        items.c.id,
    )
    wanted = _select.where(where).order_by(*order).limit(limit)
    return [item_from_row(row) for row in connection.execute(wanted).mappings()]


def page_of_items(
    connection: sa.Connection,
    where: Condition,
    sort: Sort,
    limit: int,
    cursor: str | None,
    levels: Sequence[Stretch] = (),
) -> Page[Item]:
    """A page of memories in the given order. ``levels`` divide what is looked for by the values of
    its column, where these are known; only as many are read as fill the page. Raises InvalidCursor:
    the cursor is from a list in another order."""
    if cursor is not None:
        where = sa.and_(where, _after(sort, cursor))
    if sort.column in _INDEXED_SORTS:
        column = items.c[sort.column.value]
        whole = connection.execute(_ordered(_select, where, column, sort, limit + 1)).mappings()
        found = [item_from_row(row) for row in whole]
    else:
        # Sort only the ordering columns, not whole rows.
        places: list[tuple[str, int]] = []
        for stretch, ordered_by in levels or _stretches(sort):
            missing = limit + 1 - len(places)
            if missing:
                wanted = _ordered(_select_place, where & stretch, ordered_by, sort, missing)
                places += [(row.user_id, row.id) for row in connection.execute(wanted)]
        by_id = items_by_id(connection, places)
        found = [by_id[item_id] for _, item_id in places]
    shown = tuple(found[:limit])
    if len(found) <= limit:
        return Page(shown)
    reached = getattr(shown[-1], sort.column.value)
    if isinstance(reached, datetime):
        reached = format_moment(reached)
    return Page(shown, encode_cursor(_cursor_kind(sort), [reached, shown[-1].id]))


def _ordered(
    columns: sa.Select[Any],
    where: Condition,
    column: sa.Column[Any] | None,
    sort: Sort,
    limit: int,
) -> sa.Select[Any]:
    directed = [items.c.id] if column is None or column is items.c.id else [column, items.c.id]
    order = [entry.desc() if sort.descending else entry.asc() for entry in directed]
    return columns.where(where).order_by(*order).limit(limit)


def _stretches(sort: Sort) -> Sequence[Stretch]:
    """Parts that follow each other in an order, each of which is in the order of an index."""
    column = items.c[sort.column.value]
    if sort.column in _NULLABLE_SORTS:
        return (column.is_not(None), column), (column.is_(None), None)
    if column.name not in USUAL:
        return ((sa.true(), column),)
    usual: sa.ColumnElement[Any] = sa.literal_column(str(USUAL[column.name]))
    parts: Sequence[Stretch] = (
        (sa.and_(column != usual, column < usual), column),
        (column == usual, None),
        (sa.and_(column != usual, column > usual), column),
    )
    return parts[::-1] if sort.descending else parts


def item_from_row(row: Mapping[Any, Any]) -> Item:
    values = dict(row)
    values["type"] = stored_choice(MemoryType, values["type"])
    values["source"] = stored_choice(Source, values["source"])
    values["status"] = stored_choice(Status, values["status"])
    values["tags"] = tuple(values["tags"])
    values["ratings"] = stored_ratings(values["ratings"])
    return Item(**values)


def derived_columns(content: str) -> dict[str, str]:
    return {"content_hash": content_hash(content), "folded": folded(content)}


def _row_of(item: Item) -> list[Any]:
    """The values of all columns in their order."""
    row = list(_whole(item))
    row[_AT["type"]], row[_AT["source"]] = item.type.value, item.source.value
    row[_AT["status"]], row[_AT["tags"]] = item.status.value, list(item.tags)
    row[_AT["ratings"]] = plain(item.ratings) if item.ratings else None
    row[_AT["content_hash"]], row[_AT["folded"]] = content_hash(item.content), folded(item.content)
    return row


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the drivers take them: psycopg would store an enumeration's name."""
    for name in ("type", "source", "status"):
        if name in values:
            values[name] = values[name].value
    if "tags" in values:
        values["tags"] = list(values["tags"])
    if "ratings" in values:
        values["ratings"] = plain(values["ratings"]) or None
    return values


def _cursor_kind(sort: Sort) -> str:
    return f"{sort.column.value} {'desc' if sort.descending else 'asc'}"


def _after(sort: Sort, cursor: str) -> Condition:
    """The rows after the cursor, NULLs last."""
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


@dataclass(frozen=True, slots=True)
class StoredVectors:
    ids: list[int]
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class VectorPage:
    """Vectors of one width, with the ids, types and projects of their memories.

    ``last`` is the id to continue after, None at the end.
    """

    ids: list[int]
    types: list[str]
    projects: list[str | None]
    matrix: Matrix
    last: int | None


@dataclass(frozen=True, slots=True)
class Comparables:
    """A user's memories that meet a condition and have a ready vector of a model."""

    user_id: str
    model: VectorModel
    where: Condition

    def ids(self, connection: sa.Connection, after: int, limit: int) -> list[int]:
        wanted = self._joined().where(item_index.c.id > after).order_by(item_index.c.id)
        return list(connection.execute(wanted.limit(limit)).scalars())

    def unchanged(self, connection: sa.Connection, ids: Collection[int], stamp: int) -> set[int]:
        """Those in the list whose text has not changed since the index stamp."""
        listed = among(item_index.c.id, bound_list("ids", sa.BigInteger()))
        wanted = self._joined().where(item_index.c.stamp <= stamp, listed)
        return set(connection.execute(wanted, {"ids": sorted(ids)}).scalars())

    def vectors(self, connection: sa.Connection, ids: Collection[int]) -> list[StoredVectors]:
        """The vectors of a list, whether or not these memories meet the condition.

        Grouped by width; the width of the lowest id comes first.
        """
        wanted = (
            sa.select(item_index.c.id, vector_bytes(item_index.c.vector))
            .where(self._has_vector(), among(item_index.c.id, bound_list("ids", sa.BigInteger())))
            .order_by(item_index.c.id)
        )
        alike: dict[int, list[tuple[int, bytes]]] = {}
        for item_id, stored in connection.execute(wanted, {"ids": sorted(ids)}):
            alike.setdefault(len(stored), []).append((item_id, stored))
        return [
            StoredVectors([row[0] for row in rows], matrix_of(connection, [row[1] for row in rows]))
            for rows in alike.values()
        ]

    def page(self, connection: sa.Connection, width: int, after: int) -> VectorPage:
        """The next page of vectors of this width, by id."""
        # LIMIT before the join, or SQLite would sort all rows for every page.
        page = (
            sa.select(item_index.c.id, item_index.c.vector)
            .where(self._has_vector(), item_index.c.id > after, item_index.c.dimensions == width)
            .order_by(item_index.c.id)
            .limit(VECTOR_PAGE_ROWS)
            .subquery()
        )
        same_row = sa.and_(items.c.user_id == self.user_id, items.c.id == page.c.id)
        columns = (page.c.id, items.c.type, items.c.project_id, vector_bytes(page.c.vector))
        wanted = sa.select(*columns).select_from(
            page.outerjoin(items, sa.and_(same_row, self.where))
        )
        # Sorted here, because SQLite would move the vectors along while sorting.
        rows = sorted(connection.execute(wanted).all(), key=itemgetter(0))
        kept = [row for row in rows if row[1] is not None]
        return VectorPage(
            ids=[row[0] for row in kept],
            types=[row[1] for row in kept],
            projects=[row[2] for row in kept],
            matrix=matrix_of(connection, [row[3] for row in kept]),
            last=rows[-1][0] if len(rows) == VECTOR_PAGE_ROWS else None,
        )

    def _joined(self) -> sa.Select[Any]:
        wanted = sa.select(item_index.c.id).select_from(ITEMS.joined())
        return wanted.where(self._has_vector(), self.where)

    def _has_vector(self) -> Condition:
        return sa.and_(item_index.c.user_id == self.user_id, ITEMS.has_vector(self.model))


def active(user_id: str, now: datetime) -> Condition:
    return sa.and_(
        items.c.user_id == user_id, items.c.status == Status.ACTIVE.value, not_expired(now)
    )


def comparable(user_id: str, types: Collection[MemoryType], now: datetime) -> Condition:
    """A user's own active memories of these types, without validity dates and not too old.

    A memory with dates cannot become outdated.
    """
    return sa.and_(
        active(user_id, now),
        items.c.type.in_([kind.value for kind in types]),
        items.c.updated_at >= now - timedelta(days=limits.MAX_POOL_DAYS),
        items.c.valid_from <= now,
        items.c.valid_to.is_(None),
    )


def pooled_ids(
    connection: sa.Connection,
    user_id: str,
    types: Collection[MemoryType],
    now: datetime,
    changed_since: datetime,
) -> list[int]:
    """The comparable memories that were changed since then, are often recalled, or are important.

    In this order, the newest first within each; at most MAX_POOLED_MEMORIES.
    """
    counted = sa.select(sa.func.count()).select_from(items).where(active(user_id, now))
    tenth = -(-connection.execute(counted).scalar_one() // 10)
    recalled = (
        sa.select(items.c.id)
        .where(active(user_id, now), items.c.access_count > 0)
        .order_by(items.c.access_count.desc(), items.c.updated_at.desc(), items.c.id.desc())
        .limit(tenth)
        .subquery()
    )
    changed = items.c.updated_at >= changed_since
    often = items.c.id.in_(sa.select(recalled.c.id))
    wanted = (
        sa.select(items.c.id)
        .where(
            comparable(user_id, types, now),
            sa.or_(changed, often, items.c.importance >= _IMPORTANT),
        )
        .order_by(
            sa.case((changed, 0), (often, 1), else_=2), items.c.updated_at.desc(), items.c.id.desc()
        )
        .limit(limits.MAX_POOLED_MEMORIES)
    )
    return list(connection.execute(wanted).scalars())


def replaced_before(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> frozenset[int]:
    """Those of these memories that were superseded or merged once.

    If active, somebody has restored them.
    """
    wanted = (
        sa.select(history.c.item_id)
        .distinct()
        .where(
            history.c.user_id == user_id,
            among(history.c.item_id, bound_list("ids", sa.BigInteger())),
            history.c.event.in_(REPLACEMENTS),
        )
    )
    return frozenset(connection.execute(wanted, {"ids": sorted(ids)}).scalars())


def shared_among(connection: sa.Connection, owner_id: str, ids: Collection[int]) -> frozenset[int]:
    wanted = (
        sa.select(links.c.item_id)
        .distinct()
        .where(
            links.c.owner_id == owner_id, among(links.c.item_id, bound_list("ids", sa.BigInteger()))
        )
    )
    return frozenset(connection.execute(wanted, {"ids": sorted(ids)}).scalars())


def superseded_from(
    connection: sa.Connection, user_id: str, said: Sequence[Turn | SaidTurn]
) -> list[Item]:
    """The superseded memories that may be from one of these turns, the oldest first."""
    given = {"user_id": user_id, "threads": list({turn.thread_id for turn in said})}
    messages = [turn.message_id for turn in said if turn.message_id is not None]
    moments = [turn.at for turn in said if turn.message_id is None]
    found: list[Item] = []
    if messages:
        found += _read(connection, _superseded_of_messages, {**given, "messages": messages})
    if moments:
        found += _read(connection, _superseded_of_moments, {**given, "moments": moments})
    return sorted(found, key=attrgetter("id"))


def items_of_messages(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    message_ids: Collection[str],
    now: datetime,
) -> list[Item]:
    """A user's memories, except deleted ones, that refer to one of these messages of a thread."""
    given = {"user_id": user_id, "thread_id": thread_id, "now": now}
    return _read(connection, _of_messages, {**given, "messages": list(message_ids)})


def items_from_moments(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    moments: Collection[datetime],
    now: datetime,
) -> list[Item]:
    """Like :func:`items_of_messages` for memories without a message id, by ``valid_from``."""
    given = {"user_id": user_id, "thread_id": thread_id, "now": now}
    return _read(connection, _of_moments, {**given, "moments": list(moments)})


def _read(
    connection: sa.Connection, statement: PreparedStatement, given: Mapping[str, Any]
) -> list[Item]:
    rows = statement.run_typed(connection, given)
    return [item_from_row(dict(zip(_NAMES, row, strict=True))) for row in rows]


def memories_by_day(
    connection: sa.Connection, user_id: str | None, days: Sequence[str]
) -> dict[str, int]:
    """How many memories of a user, or of everybody, were created on each day.

    ``days`` are consecutive ISO dates. Purged memories do not count, nor the former texts that
    updates keep; all others do.
    """
    kind = connection.dialect.name
    if user_id is not None:
        rows = _of_one[kind].run(connection, {"user_id": user_id, "days": list(days)})
    else:
        end = (date.fromisoformat(days[-1]) + timedelta(days=1)).isoformat()
        rows = _of_all[kind].run(connection, {"first": days[0], "end": end})
    kept = _former_texts_by_day(connection, user_id, days)
    return {str(day): count - kept[str(day)] for day, count in rows}


def _former_texts_by_day(
    connection: sa.Connection, user_id: str | None, days: Sequence[str]
) -> Counter[str]:
    first, last = (datetime.fromisoformat(f"{day}T00:00+00:00") for day in (days[0], days[-1]))
    of_update = sa.and_(
        history.c.user_id == items.c.user_id,
        history.c.old_ref == items.c.id,
        history.c.old_ref != history.c.item_id,
        history.c.event == Event.UPDATE.value,
    )
    wanted = (
        sa.select(items.c.created_at)
        .join(history, of_update)
        .where(items.c.created_at >= first, items.c.created_at < last + timedelta(days=1))
    )
    if user_id is not None:
        wanted = wanted.where(items.c.user_id == user_id, history.c.user_id == user_id)
    found = connection.execute(wanted).scalars()
    return Counter(moment.astimezone(UTC).date().isoformat() for moment in found)


def keyed_profile_items(connection: sa.Connection, user_id: str, now: datetime) -> list[Item]:
    """A user's own active memories of the theme ``profile`` with a key: of none of the projects."""
    return _read(connection, _keyed_profile, {"user_id": user_id, "now": now})


def ensure_themes(
    connection: sa.Connection, user_id: str, slugs: Iterable[str], now: datetime
) -> None:
    wanted = sorted(set(slugs))
    if len(wanted) == 1:
        rows = _one_theme.run(connection, {"user_id": user_id, "slug": wanted[0]})
    else:
        rows = _themes.run(connection, {"user_id": user_id, "slugs": wanted})
    present = {row[0] for row in rows}
    missing = [
        {
            "user_id": user_id,
            "slug": slug,
            "display_name": default_name(slug),
            "description": None,
            "context": ContextPolicy.RAG.value,
            "rag_length": None,
            "created_at": now,
            "updated_at": now,
        }
        for slug in wanted
        if slug not in present
    ]
    if missing:
        _insert_themes.run_many(connection, missing)


def change_theme(
    connection: sa.Connection, user_id: str, slug: str, values: Mapping[str, Any]
) -> bool:
    """Change a theme's columns; False when the user has no such theme."""
    where = sa.and_(themes.c.user_id == user_id, themes.c.slug == slug)
    return connection.execute(sa.update(themes).where(where).values(**values)).rowcount == 1


def themes_of(connection: sa.Connection, user_id: str) -> dict[str, dict[str, Any]]:
    wanted = sa.select(themes).where(themes.c.user_id == user_id)
    return {row["slug"]: dict(row) for row in connection.execute(wanted).mappings()}


def count_by_theme(connection: sa.Connection, where: Condition) -> dict[str, int]:
    counted = (
        sa.select(items.c.theme, sa.func.count().label("total"))
        .where(where)
        .group_by(items.c.theme)
    )
    return {row.theme: row.total for row in connection.execute(counted)}


def default_name(slug: str) -> str:
    spoken = slug.replace("-", " ").replace("_", " ").strip()
    first = spoken[:1].upper()
    return (first if len(first) == 1 else spoken[:1]) + spoken[1:]
