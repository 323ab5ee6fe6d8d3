"""Pages of a list, continued by a cursor."""

from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from ricordo.model.checks import format_moment
from ricordo.model.record import Page, cursor_moment, decode_cursor, encode_cursor

T = TypeVar("T")
Read = Callable[[sa.RowMapping], T]


def page_by_id(
    connection: sa.Connection,
    wanted: sa.Select[Any],
    read: Read[T],
    kind: str,
    column: sa.Column[int],
    limit: int,
    cursor: str | None,
    *,
    descending: bool = False,
) -> Page[T]:
    """A page in the order of an id; ``kind`` is that of the cursors.

    Raises:
        InvalidCursor: the cursor was not given out by this list.
    """
    if cursor is not None:
        (last,) = decode_cursor(kind, cursor, (int,))
        wanted = wanted.where(column < last if descending else column > last)
    ordered = wanted.order_by(column.desc() if descending else column).limit(limit + 1)
    rows = connection.execute(ordered).mappings().all()
    more = encode_cursor(kind, [rows[limit - 1][column]]) if len(rows) > limit else None
    return Page(tuple(read(row) for row in rows[:limit]), more)


def page_by_time(
    connection: sa.Connection,
    wanted: sa.Select[Any],
    read: Read[T],
    kind: str,
    at: sa.Column[Any],
    key: sa.Column[str],
    limit: int,
    cursor: str | None,
) -> Page[T]:
    """A page with the latest first, by ``key`` among equals; ``kind`` is that of the cursors.

    Raises:
        InvalidCursor: the cursor was not given out by this list.
    """
    if cursor is not None:
        moment, last = decode_cursor(kind, cursor, (str, str))
        reached = cursor_moment(moment)
        wanted = wanted.where(sa.or_(at < reached, sa.and_(at == reached, key < last)))
    ordered = wanted.order_by(at.desc(), key.desc()).limit(limit + 1)
    rows = connection.execute(ordered).mappings().all()
    more = None
    if len(rows) > limit:
        more = encode_cursor(kind, [format_moment(rows[limit - 1][at]), rows[limit - 1][key]])
    return Page(tuple(read(row) for row in rows[:limit]), more)
