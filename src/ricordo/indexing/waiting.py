"""The rows that wait for their vectors, and what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import EmbeddingError, InvalidInput
from ricordo.limits import MAX_JOB_ERROR_CHARS
from ricordo.model.embedding import VectorModel
from ricordo.model.vocabulary import JobState, Status, VectorState
from ricordo.storage.backend import INDEXED, ITEMS, Indexed, Row
from ricordo.storage.columns import Words, among, bound_list
from ricordo.storage.search_rows import EMBED_JOB
from ricordo.storage.statements import Prepared
from ricordo.storage.tables import jobs
from ricordo.storage.transaction import Writing


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text that waits for its vector."""

    id: int
    content: str
    text_hash: str


def _waits(kind: Indexed) -> sa.ColumnElement[bool]:
    return sa.and_(
        kind.index.c.user_id == sa.bindparam("of_user", type_=Words),
        # A literal, because the partial index can only be used when the statement shows it.
        kind.index.c.state == sa.literal_column("'pending'"),
    )


def _still_waits(kind: Indexed) -> sa.Select[Any]:
    source = kind.joined() if kind is ITEMS else kind.index
    status = kind.source.c.status if kind is ITEMS else sa.null()
    return (
        sa.select(kind.index.c.id, kind.index.c.text_hash, status)
        .select_from(source)
        .where(_waits(kind), among(kind.index.c.id, bound_list("ids", sa.BigInteger())))
    )


def _one_row(kind: Indexed) -> sa.ColumnElement[bool]:
    return sa.and_(
        kind.index.c.user_id == sa.bindparam("of_user", type_=Words),
        kind.index.c.id == sa.bindparam("row_id", type_=sa.BigInteger),
    )


_next: Final = {
    kind.name: Prepared(
        sa.select(kind.source.c.id, kind.source.c.content, kind.index.c.text_hash)
        .select_from(kind.joined())
        .where(_waits(kind))
        .order_by(kind.index.c.id)
        .limit(sa.bindparam("size", type_=sa.Integer))
    )
    for kind in INDEXED
}
_still: Final = {kind.name: Prepared(_still_waits(kind)) for kind in INDEXED}
_set_ready: Final = {
    kind.name: Prepared(
        sa.update(kind.index)
        .where(_one_row(kind))
        .values(
            stamp=sa.bindparam("stamp"),
            state=sa.literal_column(f"'{VectorState.READY.value}'"),
            provider=sa.bindparam("provider"),
            model=sa.bindparam("model"),
            dimensions=sa.bindparam("dimensions"),
            error=sa.null(),
            vector=sa.bindparam("vector"),
        )
    )
    for kind in INDEXED
}


def next_waiting(
    connection: sa.Connection, kind: Indexed, user_id: str, size: int
) -> list[Waiting]:
    """The first of a user's texts that wait."""
    found = _next[kind.name].run(connection, {"of_user": user_id, "size": size})
    return [Waiting(*row) for row in found]


def count_waiting(connection: sa.Connection, user_id: str) -> int:
    """How many of a user's texts wait."""
    return sum(
        connection.execute(
            sa.select(sa.func.count()).select_from(kind.index).where(_waits(kind)),
            {"of_user": user_id},
        ).scalar_one()
        for kind in INDEXED
    )


def still_waiting(
    writing: Writing, kind: Indexed, batch: Sequence[Waiting]
) -> list[tuple[Waiting, bool]]:
    """Those that still wait with the same text, each with whether it is an active memory.

    None is left when the user was erased meanwhile.
    """
    known = {one.id: one for one in batch}
    given = {"of_user": writing.user_id, "ids": list(known)}
    return [
        (known[row_id], status == Status.ACTIVE.value)
        for row_id, digest, status in _still[kind.name].run(writing.connection, given)
        if known[row_id].text_hash == digest
    ]


def store_vectors(
    writing: Writing, kind: Indexed, model: VectorModel, rows: Sequence[tuple[int, Row]]
) -> None:
    """Give rows their vectors."""
    stamp = writing.next_stamp()
    _set_ready[kind.name].run_many(
        writing.connection,
        [
            {
                "of_user": writing.user_id,
                "row_id": row_id,
                "stamp": stamp,
                "provider": model.provider,
                "model": model.model,
                "dimensions": len(vector),
                "vector": vector,
            }
            for row_id, vector in rows
        ],
    )


def is_job_waiting(writing: Writing) -> bool:
    """Whether a job that makes the writing user's vectors is queued."""
    waiting = sa.exists().where(
        jobs.c.kind == EMBED_JOB,
        jobs.c.user_id == writing.user_id,
        jobs.c.state == JobState.QUEUED.value,
    )
    return writing.connection.execute(sa.select(waiting)).scalar_one()


def mark_failed(
    writing: Writing,
    kind: Indexed,
    problem: EmbeddingError | InvalidInput,
    only: Waiting | None = None,
) -> None:
    """Write down why one text, or all that wait, did not get a vector."""
    where = _waits(kind)
    if only is not None:
        same = sa.and_(kind.index.c.id == only.id, kind.index.c.text_hash == only.text_hash)
        where = sa.and_(where, same)
    message = " ".join(str(problem).split())[:MAX_JOB_ERROR_CHARS]
    marked = sa.update(kind.index).where(where)
    writing.connection.execute(
        marked.values(state=VectorState.ERROR.value, error=message), {"of_user": writing.user_id}
    )
