"""Rows of states that programs save per conversation."""

from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from ricordo.model.checkpoint import CheckpointInfo
from ricordo.model.page import Page, cursor_moment, decode_cursor, encode_cursor
from ricordo.model.times import format_moment
from ricordo.storage.columns import Words
from ricordo.storage.conversation_tables import checkpoints
from ricordo.storage.prepared import Prepared
from ricordo.storage.writing import Writing

_CURSOR: Final = "checkpoints"
_user: Final = sa.bindparam("user_id", type_=Words)
_thread: Final = sa.bindparam("thread_id", type_=Words)
_is_thread: Final = sa.and_(checkpoints.c.user_id == _user, checkpoints.c.thread_id == _thread)
_find: Final = Prepared(
    sa.select(
        checkpoints.c.state,
        checkpoints.c.version,
        checkpoints.c.created_at,
        checkpoints.c.updated_at,
    ).where(_is_thread)
)
_stand: Final = Prepared(
    sa.select(checkpoints.c.version, checkpoints.c.created_at).where(_is_thread)
)
_insert: Final = Prepared(sa.insert(checkpoints))
_update: Final = Prepared(
    sa.update(checkpoints)
    .where(
        checkpoints.c.user_id == sa.bindparam("of_user", type_=Words),
        checkpoints.c.thread_id == sa.bindparam("of_thread", type_=Words),
    )
    .values(
        state=sa.bindparam("state"),
        version=sa.bindparam("version"),
        updated_at=sa.bindparam("updated_at"),
    )
)


class _octets(FunctionElement[int]):  # noqa: N801 - reads as the SQL function it is
    """How many bytes of UTF-8 a text takes."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(_octets, "sqlite")
def _octets_sqlite(element: _octets, compiler: SQLCompiler, **kw: Any) -> str:
    return f"length(CAST({compiler.process(next(iter(element.clauses)), **kw)} AS BLOB))"


@compiles(_octets, "postgresql")
def _octets_postgresql(element: _octets, compiler: SQLCompiler, **kw: Any) -> str:
    return f"octet_length({compiler.process(next(iter(element.clauses)), **kw)})"


class StoredState(NamedTuple):
    """A saved state as it is stored."""

    state: str
    version: int
    created_at: datetime
    updated_at: datetime


class Standing(NamedTuple):
    """How often a state was saved, and when first."""

    version: int
    created_at: datetime


def find_state(connection: sa.Connection, user_id: str, thread_id: str) -> StoredState | None:
    """What was saved last for a conversation, if anything."""
    rows = _find.run_typed(connection, {"user_id": user_id, "thread_id": thread_id})
    return StoredState(*rows[0]) if rows else None


def standing_of(connection: sa.Connection, user_id: str, thread_id: str) -> Standing | None:
    """The same without reading the state."""
    rows = _stand.run_typed(connection, {"user_id": user_id, "thread_id": thread_id})
    return Standing(*rows[0]) if rows else None


def put_state(
    writing: Writing, thread_id: str, state: str, present: Standing | None, at: datetime
) -> Standing:
    """Save a state of the writing user's, ``present`` being what stands there; what stands now."""
    writing.keeps_user = True
    if present is None:
        made = {
            "user_id": writing.user_id,
            "thread_id": thread_id,
            "state": state,
            "version": 1,
            "created_at": at,
            "updated_at": at,
        }
        _insert.run(writing.connection, made)
        return Standing(1, at)
    changed = {
        "of_user": writing.user_id,
        "of_thread": thread_id,
        "state": state,
        "version": present.version + 1,
        "updated_at": at,
    }
    _update.run(writing.connection, changed)
    return Standing(present.version + 1, present.created_at)


def delete_state(writing: Writing, thread_id: str) -> bool:
    """Remove what was saved for a conversation; False where nothing was."""
    where = (checkpoints.c.user_id == writing.user_id) & (checkpoints.c.thread_id == thread_id)
    return writing.connection.execute(sa.delete(checkpoints).where(where)).rowcount == 1


def page_of_states(
    connection: sa.Connection,
    user_id: str,
    thread_id: str | None,
    limit: int,
    cursor: str | None,
) -> Page[CheckpointInfo]:
    """A user's saved states (or the one of a conversation), the latest first, without the states.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """
    wanted = sa.select(
        checkpoints.c.thread_id,
        checkpoints.c.version,
        _octets(checkpoints.c.state).label("size_bytes"),
        checkpoints.c.created_at,
        checkpoints.c.updated_at,
    ).where(checkpoints.c.user_id == user_id)
    if thread_id is not None:
        wanted = wanted.where(checkpoints.c.thread_id == thread_id)
    if cursor is not None:
        at, last_thread = decode_cursor(_CURSOR, cursor, (str, str))
        moment = cursor_moment(at)
        same = sa.and_(checkpoints.c.updated_at == moment, checkpoints.c.thread_id < last_thread)
        wanted = wanted.where(sa.or_(checkpoints.c.updated_at < moment, same))
    order = (checkpoints.c.updated_at.desc(), checkpoints.c.thread_id.desc())
    rows = connection.execute(wanted.order_by(*order).limit(limit + 1)).mappings().all()
    found = tuple(CheckpointInfo(**row) for row in rows[:limit])
    if len(rows) <= limit:
        return Page(found)
    last = found[-1]
    return Page(found, encode_cursor(_CURSOR, [format_moment(last.updated_at), last.thread_id]))
