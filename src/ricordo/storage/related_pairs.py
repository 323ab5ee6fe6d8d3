"""Reading relations in bulk, for pictures of how memories hang together."""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from ricordo.storage.columns import Words
from ricordo.storage.constructs import among, bound_list
from ricordo.storage.index_tables import relations
from ricordo.storage.prepared import Prepared
from ricordo.storage.relations import Pair, Relation
from ricordo.storage.tables import items
from ricordo.storage.where import Condition

# Without the similarity, which is not in the index.
_brought: Final = Prepared(
    sa.select(relations.c.low_id, relations.c.high_id).where(
        relations.c.user_id == sa.bindparam("user_id", type_=Words),
        among(relations.c.high_id, bound_list("ids", sa.BigInteger())),
    )
)
# By one end only: for each pair of ids, PostgreSQL would look whether it is there.
_relations: Final = Prepared(
    sa.select(relations.c.low_id, relations.c.high_id, relations.c.similarity).where(
        relations.c.user_id == sa.bindparam("user_id", type_=Words),
        among(relations.c.high_id, bound_list("ids", sa.BigInteger())),
    )
)


def latest_active_ids(
    connection: sa.Connection, where: Condition, limit: int, *, of_themes: bool
) -> list[int]:
    """The ids of the latest active memories that meet a condition.

    ``of_themes``: it asks for some themes only. Then their index is tried first, since a small
    theme would otherwise be looked for among all memories; a large one is found there soon.
    """
    wanted = sa.select(items.c.id).where(where)
    if of_themes:
        # A literal, because the partial index can only be used when the statement shows it.
        active = items.c.status == sa.literal_column("'active'")
        few = list(connection.execute(wanted.where(active).limit(limit)).scalars())
        if len(few) < limit:
            return sorted(few, reverse=True)
    ordered = wanted.order_by(items.c.id.desc()).limit(limit)
    return list(connection.execute(ordered).scalars())


def ids_among(connection: sa.Connection, where: Condition, ids: Collection[int]) -> set[int]:
    """Those of these ids whose memories meet a condition."""
    listed = bound_list("ids", sa.BigInteger())
    wanted = sa.select(items.c.id).where(where, among(items.c.id, listed))
    return set(connection.execute(wanted, {"ids": list(ids)}).scalars())


def pairs_brought_by(connection: sa.Connection, user_id: str, ids: Collection[int]) -> list[Pair]:
    """The relations of these memories with older ones, each with the lower id first."""
    rows = _brought.run(connection, {"user_id": user_id, "ids": list(ids)})
    return [(row[0], row[1]) for row in rows]


def relations_within(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> list[Relation]:
    """The relations among some hundreds of memories."""
    listed = set(ids)
    rows = _relations.run(connection, {"user_id": user_id, "ids": list(listed)})
    return [(row[0], row[1], row[2]) for row in rows if row[0] in listed]
