"""Rows of saved states: checkpoints of programs and of LangGraph graphs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql.functions import FunctionElement

from ricordo.model.record import Page
from ricordo.model.thread import CheckpointInfo
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import (
    Condition,
    PreparedStatement,
    Words,
    compiled_as,
    page_by_time,
    upsert,
)
from ricordo.storage.tables import checkpoints, graph_channels, graph_checkpoints, graph_writes

_CURSOR: Final = "checkpoints"
_user: Final = sa.bindparam("user_id", type_=Words)
_thread: Final = sa.bindparam("thread_id", type_=Words)
_is_thread: Final = sa.and_(checkpoints.c.user_id == _user, checkpoints.c.thread_id == _thread)
_find: Final = PreparedStatement(
    sa.select(
        checkpoints.c.state,
        checkpoints.c.version,
        checkpoints.c.created_at,
        checkpoints.c.updated_at,
    ).where(_is_thread)
)
_find_position: Final = PreparedStatement(
    sa.select(checkpoints.c.version, checkpoints.c.created_at).where(_is_thread)
)
_insert: Final = PreparedStatement(sa.insert(checkpoints))
_update: Final = PreparedStatement(
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

_TABLES: Final = (graph_writes, graph_checkpoints, graph_channels)
_NAMES_AT_ONCE: Final = 500
_put_checkpoint: Final = upsert(graph_checkpoints, replacing=True)
_add_value: Final = upsert(graph_channels, replacing=False)
_add_write: Final = upsert(graph_writes, replacing=False)
_put_write: Final = upsert(graph_writes, replacing=True)


class _octets(FunctionElement[int]):  # noqa: N801 - reads as the SQL function it is
    """The length of a text in UTF-8 bytes."""

    type = sa.BigInteger()
    inherit_cache = True


compiled_as(_octets, sqlite="length(CAST({0} AS BLOB))", postgresql="octet_length({0})")


class StoredState(NamedTuple):
    state: str
    version: int
    created_at: datetime
    updated_at: datetime


class CheckpointPosition(NamedTuple):
    """The version of a saved state, and when it was first saved."""

    version: int
    created_at: datetime


def find_state(connection: sa.Connection, user_id: str, thread_id: str) -> StoredState | None:
    rows = _find.run_typed(connection, {"user_id": user_id, "thread_id": thread_id})
    return StoredState(*rows[0]) if rows else None


def find_position(
    connection: sa.Connection, user_id: str, thread_id: str
) -> CheckpointPosition | None:
    rows = _find_position.run_typed(connection, {"user_id": user_id, "thread_id": thread_id})
    return CheckpointPosition(*rows[0]) if rows else None


def put_state(
    writing: WriteTransaction,
    thread_id: str,
    state: str,
    present: CheckpointPosition | None,
    at: datetime,
) -> CheckpointPosition:
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
        return CheckpointPosition(1, at)
    changed = {
        "of_user": writing.user_id,
        "of_thread": thread_id,
        "state": state,
        "version": present.version + 1,
        "updated_at": at,
    }
    _update.run(writing.connection, changed)
    return CheckpointPosition(present.version + 1, present.created_at)


def delete_state(writing: WriteTransaction, thread_id: str) -> bool:
    where = (checkpoints.c.user_id == writing.user_id) & (checkpoints.c.thread_id == thread_id)
    return writing.connection.execute(sa.delete(checkpoints).where(where)).rowcount == 1


def page_of_states(
    connection: sa.Connection, user_id: str, thread_id: str | None, limit: int, cursor: str | None
) -> Page[CheckpointInfo]:
    """A user's saved states (or one conversation's), the latest first, without their contents.
    Raises InvalidCursor: the cursor was not given out by this call."""
    wanted = sa.select(
        checkpoints.c.thread_id,
        checkpoints.c.version,
        _octets(checkpoints.c.state).label("size_bytes"),
        checkpoints.c.created_at,
        checkpoints.c.updated_at,
    ).where(checkpoints.c.user_id == user_id)
    if thread_id is not None:
        wanted = wanted.where(checkpoints.c.thread_id == thread_id)
    return page_by_time(
        connection,
        wanted,
        lambda row: CheckpointInfo(**row),
        _CURSOR,
        checkpoints.c.updated_at,
        checkpoints.c.thread_id,
        limit,
        cursor,
    )


Name = TypeVar("Name", str, "ChannelName")


class Packed(NamedTuple):
    """Serialised bytes and their format."""

    format: str
    data: bytes


class GraphCheckpoint(NamedTuple):
    """A graph's state at one moment, without its channel values."""

    thread_id: str
    namespace: str
    checkpoint_id: str
    parent_id: str | None
    run_id: str | None
    state: Packed
    metadata: Packed


class ChannelName(NamedTuple):
    channel: str
    version: str


class GraphWrite(NamedTuple):
    """A task's write after a checkpoint. A ``place`` below 0 replaces an earlier write."""

    task_id: str
    place: int
    task_path: str
    channel: str
    value: Packed


class Position(NamedTuple):
    """Where a list of checkpoints continues."""

    checkpoint_id: str
    thread_id: str
    namespace: str


def put_checkpoint(
    writing: WriteTransaction, new: GraphCheckpoint, values: Mapping[ChannelName, Packed]
) -> None:
    """Store a checkpoint, and the channel values that are not stored yet."""
    place = {"user_id": writing.user_id, "thread_id": new.thread_id, "namespace": new.namespace}
    rows = [
        {**place, **name._asdict(), "format": packed.format, "data": packed.data}
        for name, packed in values.items()
    ]
    if rows:
        _add_value.run_many(writing.connection, rows)
    row = {
        **place,
        "checkpoint_id": new.checkpoint_id,
        "parent_id": new.parent_id,
        "run_id": new.run_id,
        "format": new.state.format,
        "data": new.state.data,
        "metadata_format": new.metadata.format,
        "metadata": new.metadata.data,
        "at": writing.now,
    }
    _put_checkpoint.run(writing.connection, row)
    writing.keeps_user = True


def put_writes(
    writing: WriteTransaction,
    thread_id: str,
    namespace: str,
    checkpoint_id: str,
    writes: Iterable[GraphWrite],
) -> None:
    """Store writes: those with a place below 0 replace, others are inserted once."""
    for one in writes:
        row = {
            "user_id": writing.user_id,
            "thread_id": thread_id,
            "namespace": namespace,
            "checkpoint_id": checkpoint_id,
            "task_id": one.task_id,
            "place": one.place,
            "task_path": one.task_path,
            "channel": one.channel,
            "format": one.value.format,
            "data": one.value.data,
        }
        (_put_write if one.place < 0 else _add_write).run(writing.connection, row)
    writing.keeps_user = True


def list_checkpoints(
    connection: sa.Connection,
    user_id: str,
    limit: int | None,
    *,
    thread_id: str | None = None,
    namespace: str | None = None,
    checkpoint_id: str | None = None,
    before: str | None = None,
    after: Position | None = None,
) -> list[GraphCheckpoint]:
    """A user's checkpoints that match all given arguments, the latest first."""
    column = graph_checkpoints.c
    wanted = sa.select(graph_checkpoints).where(column.user_id == user_id)
    if thread_id is not None:
        wanted = wanted.where(column.thread_id == thread_id)
    if namespace is not None:
        wanted = wanted.where(column.namespace == namespace)
    if checkpoint_id is not None:
        wanted = wanted.where(column.checkpoint_id == checkpoint_id)
    if before is not None:
        wanted = wanted.where(column.checkpoint_id < before)
    order = (column.checkpoint_id, column.thread_id, column.namespace)
    if after is not None:
        wanted = wanted.where(sa.tuple_(*order) < sa.tuple_(*after))
    wanted = wanted.order_by(*(one.desc() for one in order)).limit(limit)
    return [_checkpoint(row) for row in connection.execute(wanted).mappings()]


def checkpoints_of_runs(
    connection: sa.Connection, user_id: str, run_ids: Collection[str]
) -> list[GraphCheckpoint]:
    own = sa.select(graph_checkpoints).where(graph_checkpoints.c.user_id == user_id)
    return [
        _checkpoint(row)
        for batch in _batches(run_ids)
        for row in connection.execute(own.where(graph_checkpoints.c.run_id.in_(batch))).mappings()
    ]


def values_of(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    namespace: str,
    names: Collection[ChannelName],
) -> dict[ChannelName, Packed]:
    column = graph_channels.c
    found = {}
    for batch in _batches(names):
        wanted = sa.select(column.channel, column.version, column.format, column.data).where(
            _is_in(graph_channels, user_id, thread_id, namespace),
            sa.tuple_(column.channel, column.version).in_(batch),
        )
        for row in connection.execute(wanted):
            found[ChannelName(row.channel, row.version)] = Packed(row.format, bytes(row.data))
    return found


def value_names(
    connection: sa.Connection, user_id: str, thread_id: str, namespace: str
) -> set[ChannelName]:
    wanted = sa.select(graph_channels.c.channel, graph_channels.c.version).where(
        _is_in(graph_channels, user_id, thread_id, namespace)
    )
    return {ChannelName(*row) for row in connection.execute(wanted)}


def writes_of(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    namespace: str,
    checkpoint_ids: Collection[str],
) -> dict[str, list[GraphWrite]]:
    """The writes after each checkpoint, in the order of their tasks."""
    column = graph_writes.c
    wanted = (
        sa.select(graph_writes)
        .where(
            _is_in(graph_writes, user_id, thread_id, namespace),
            column.checkpoint_id.in_(sorted(checkpoint_ids)),
        )
        .order_by(column.checkpoint_id, column.task_path, column.task_id, column.place)
    )
    found: dict[str, list[GraphWrite]] = {}
    for row in connection.execute(wanted):
        packed = Packed(row.format, bytes(row.data))
        write = GraphWrite(row.task_id, row.place, row.task_path, row.channel, packed)
        found.setdefault(row.checkpoint_id, []).append(write)
    return found


def has_graph(connection: sa.Connection, user_id: str, thread_id: str) -> bool:
    of_thread = [(table.c.user_id == user_id, table.c.thread_id == thread_id) for table in _TABLES]
    there = [sa.exists().where(*one) for one in of_thread]
    return connection.execute(sa.select(sa.or_(*there))).scalar_one()


def copy_thread(writing: WriteTransaction, source: str, target: str) -> None:
    for table in _TABLES:
        names = [column.name for column in table.columns]
        other = sa.literal(target).label("thread_id")
        copied = [other if name == "thread_id" else table.c[name] for name in names]
        there = (table.c.user_id == writing.user_id) & (table.c.thread_id == source)
        rows = sa.select(*copied).where(there)
        writing.connection.execute(sa.insert(table).from_select(names, rows))


def delete_thread(writing: WriteTransaction, thread_id: str) -> None:
    for table in _TABLES:
        there = (table.c.user_id == writing.user_id) & (table.c.thread_id == thread_id)
        writing.connection.execute(sa.delete(table).where(there))


def delete_checkpoints(
    writing: WriteTransaction, thread_id: str, namespace: str, checkpoint_ids: Collection[str]
) -> None:
    """Delete checkpoints and the writes after them; channel values stay."""
    for batch in _batches(checkpoint_ids):
        for table in (graph_writes, graph_checkpoints):
            there = _is_in(table, writing.user_id, thread_id, namespace)
            doomed = sa.delete(table).where(there, table.c.checkpoint_id.in_(batch))
            writing.connection.execute(doomed)


def delete_values(
    writing: WriteTransaction, thread_id: str, namespace: str, names: Collection[ChannelName]
) -> None:
    there = _is_in(graph_channels, writing.user_id, thread_id, namespace)
    name = sa.tuple_(graph_channels.c.channel, graph_channels.c.version)
    for batch in _batches(names):
        writing.connection.execute(sa.delete(graph_channels).where(there, name.in_(batch)))


def _batches(names: Collection[Name]) -> Iterator[Sequence[Name]]:
    listed: Sequence[Name] = sorted(names)
    for start in range(0, len(listed), _NAMES_AT_ONCE):
        yield listed[start : start + _NAMES_AT_ONCE]


def _is_in(table: sa.Table, user_id: str, thread_id: str, namespace: str) -> Condition:
    own = (table.c.user_id == user_id) & (table.c.thread_id == thread_id)
    return own & (table.c.namespace == namespace)


def _checkpoint(row: Mapping[Any, Any]) -> GraphCheckpoint:
    return GraphCheckpoint(
        row["thread_id"],
        row["namespace"],
        row["checkpoint_id"],
        row["parent_id"],
        row["run_id"],
        Packed(row["format"], bytes(row["data"])),
        Packed(row["metadata_format"], bytes(row["metadata"])),
    )
