"""Which memories of a user are about the same."""

from collections.abc import Collection, Iterable
from typing import Final

import sqlalchemy as sa

from ricordo.storage.columns import Moment, Words
from ricordo.storage.constructs import among, bound_list
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import relations
from ricordo.storage.writing import Writing

_user = relations.c.user_id == sa.bindparam("user_id", type_=Words)
_listed = bound_list("ids", sa.BigInteger())
_insert: Final = Prepared(
    sa.text(
        "INSERT INTO relations (user_id, low_id, high_id, similarity, created_at)"
        " VALUES (:user_id, :low_id, :high_id, :similarity, :created_at)"
        " ON CONFLICT (user_id, low_id, high_id) DO UPDATE SET similarity = excluded.similarity"
    ).bindparams(sa.bindparam("created_at", type_=Moment))
)
_columns = (relations.c.low_id, relations.c.high_id, relations.c.similarity)
_among: Final = Prepared(
    sa.select(*_columns).where(
        _user, among(relations.c.low_id, _listed), among(relations.c.high_id, _listed)
    )
)
_touching: Final = Prepared(
    sa.union(
        sa.select(*_columns).where(_user, among(relations.c.low_id, _listed)),
        sa.select(*_columns).where(_user, among(relations.c.high_id, _listed)),
    )
)

Relation = tuple[int, int, float]
"""Two memories and how similar they are."""


def add_relations(writing: Writing, found: Iterable[Relation]) -> None:
    """Note that memories of the writing user are related; a pair is kept once."""
    rows = {
        (min(one, other), max(one, other)): similarity
        for one, other, similarity in found
        if one != other
    }
    if rows:
        _insert.run_many(
            writing.connection,
            [
                {
                    "user_id": writing.user_id,
                    "low_id": low,
                    "high_id": high,
                    "similarity": similarity,
                    "created_at": writing.now,
                }
                for (low, high), similarity in rows.items()
            ],
        )


def remove_relations(writing: Writing, ids: Collection[int]) -> None:
    """Forget every relation of these memories."""
    listed = list(ids)
    touching = sa.or_(relations.c.low_id.in_(listed), relations.c.high_id.in_(listed))
    where = sa.and_(relations.c.user_id == writing.user_id, touching)
    writing.connection.execute(sa.delete(relations).where(where))


def relations_among(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> list[Relation]:
    """The relations between memories of this list."""
    rows = _among.run(connection, {"user_id": user_id, "ids": list(ids)})
    return [(row[0], row[1], row[2]) for row in rows]


def relations_of(connection: sa.Connection, user_id: str, ids: Collection[int]) -> list[Relation]:
    """The relations of these memories with any others."""
    rows = _touching.run(connection, {"user_id": user_id, "ids": list(ids)})
    return [(row[0], row[1], row[2]) for row in rows]
