"""Reading the search index of a user, whole or what changed of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.model.embedding import VectorModel
from ricordo.model.vocabulary import Status, VectorState
from ricordo.storage.columns import Words
from ricordo.storage.constructs import vector_bytes
from ricordo.storage.index_tables import item_index
from ricordo.storage.prepared import Prepared
from ricordo.storage.search_index import INDEXED, ITEMS, TURNS, Indexed
from ricordo.storage.tables import items, links, turns, users

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]

PAGE_ROWS: Final = 2_000
"""How many rows are read at a time, which bounds the memory that reading takes."""

KEPT_CONTENT_CHARS: Final = 1_000
"""Turns of up to so many characters are read with the index: most are, and a search shows them."""

_user = sa.bindparam("user_id", type_=Words)
_position: Final = Prepared(
    sa.select(
        users.c.index_stamp,
        users.c.index_epoch,
        users.c.index_removals,
        sa.cast(users.c.created_at, Words),
    ).where(users.c.user_id == _user)
)
# As one text, which comes in a third of the time that as many rows take.
_comma: Final[Any] = sa.literal_column("','")
_ids: Final = {
    kind.name: Prepared(
        sa.select(sa.func.aggregate_strings(sa.cast(kind.index.c.id, sa.Text), _comma)).where(
            kind.index.c.user_id == _user
        )
    )
    for kind in INDEXED
}


@dataclass(frozen=True, slots=True)
class IndexPosition:
    """How far a user's index has come.

    Copies from before ``epoch``, or of a user who was erased and ``created`` again, must be made
    anew. From copies from before ``removals``, rows have to be taken that are no longer there.
    """

    stamp: int
    epoch: int
    removals: int
    created: str


NOTHING_INDEXED: Final = IndexPosition(0, 0, 0, "")


def index_position(connection: sa.Connection, user_id: str) -> IndexPosition:
    """Where the index of a user stands; of one who is not known, at nothing."""
    rows = _position.run(connection, {"user_id": user_id})
    if not rows:
        return NOTHING_INDEXED
    return IndexPosition(*rows[0])


def count_indexed(connection: sa.Connection, kind: Indexed, user_id: str) -> int:
    """How many rows the index of a user has."""
    where = kind.index.c.user_id == user_id
    counted = sa.select(sa.func.count()).select_from(kind.index).where(where)
    return connection.execute(counted).scalar_one()


def indexed_ids(connection: sa.Connection, kind: Indexed, user_id: str) -> Ids:
    """The ids of all rows in the index of a user, in no order."""
    ((listed,),) = _ids[kind.name].run(connection, {"user_id": user_id})
    return np.fromstring(listed or "", np.int64, sep=",")


def _columns(kind: Indexed) -> list[sa.ColumnElement[Any]]:
    comparable = sa.and_(
        kind.index.c.state == VectorState.READY.value,
        kind.index.c.provider == sa.bindparam("provider", type_=Words),
        kind.index.c.model == sa.bindparam("model", type_=Words),
    )
    vector = vector_bytes(sa.case((comparable, kind.index.c.vector), else_=sa.null()))
    columns = [kind.index.c.id, kind.index.c.terms, vector]
    if kind is TURNS:
        seconds = sa.cast(turns.c.at, Words)
        short = sa.func.length(turns.c.content) <= sa.literal_column(str(KEPT_CONTENT_CHARS))
        content = sa.case((short, turns.c.content), else_=sa.null())
        columns += [turns.c.thread_id, turns.c.position, turns.c.actor, turns.c.role, seconds]
        columns += [turns.c.message_id, content]
    return columns


def _select(kind: Indexed) -> sa.Select[Any]:
    source = kind.joined() if kind is TURNS else kind.index
    return sa.select(*_columns(kind)).select_from(source).where(kind.index.c.user_id == _user)


_page: Final = {
    kind.name: Prepared(
        _select(kind)
        .where(kind.index.c.id > sa.bindparam("after", type_=sa.BigInteger))
        .order_by(kind.index.c.id)
        .limit(sa.bindparam("size", type_=sa.Integer))
    )
    for kind in INDEXED
}
# Not ordered by SQL: SQLite would then walk through all ids rather than the few new stamps.
_since: Final = {
    kind.name: Prepared(
        _select(kind).where(kind.index.c.stamp > sa.bindparam("since", type_=sa.BigInteger))
    )
    for kind in INDEXED
}
_linked: Final = Prepared(
    sa.select(*_columns(INDEXED[0]))
    .select_from(
        item_index.join(
            links,
            sa.and_(links.c.owner_id == item_index.c.user_id, links.c.item_id == item_index.c.id),
        ).join(items, ITEMS.same_row())
    )
    .where(links.c.user_id == _user, items.c.status != Status.DELETED.value)
    .order_by(item_index.c.id)
)


def _made_by(model: VectorModel | None) -> dict[str, Any]:
    made_by = model or VectorModel("", "")
    return {"provider": made_by.provider, "model": made_by.model}


def whole_index(
    connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None
) -> Iterator[Sequence[tuple[Any, ...]]]:
    """All that search reads of a user, in bounded pages in the order of the ids.

    Each row is its id, terms and vector (None unless made by ``model``), for a turn also its
    thread, position, actor, role, time, message id and, unless it is long, its content.
    """
    after = 0
    given = {"user_id": user_id, "size": PAGE_ROWS, **_made_by(model)}
    while rows := _page[kind.name].run(connection, {**given, "after": after}):
        yield rows
        if len(rows) < PAGE_ROWS:
            return
        after = rows[-1][0]


def index_since(
    connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None, stamp: int
) -> list[tuple[Any, ...]]:
    """What was written after a stamp, like :func:`whole_index`."""
    given = {"user_id": user_id, "since": stamp, **_made_by(model)}
    return sorted(_since[kind.name].run(connection, given), key=lambda row: row[0])


def linked_index(
    connection: sa.Connection, viewer: str, model: VectorModel | None
) -> list[tuple[Any, ...]]:
    """What search reads of the memories that others share with a user."""
    return _linked.run(connection, {"user_id": viewer, **_made_by(model)})
