"""Rows of relations between memories, and of pairs that consolidation has checked."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.vocabulary import Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import (
    Condition,
    Moment,
    PreparedStatement,
    Words,
    among,
    bound_list,
    upsert,
)
from ricordo.storage.tables import checked_pairs, items, relations
from ricordo.storage.where import not_expired

_user = relations.c.user_id == sa.bindparam("user_id", type_=Words)
_listed = bound_list("ids", sa.BigInteger())
_insert: Final = PreparedStatement(
    sa.text(
        "INSERT INTO relations (user_id, low_id, high_id, similarity, created_at)"
        " VALUES (:user_id, :low_id, :high_id, :similarity, :created_at)"
        " ON CONFLICT (user_id, low_id, high_id) DO UPDATE SET similarity = excluded.similarity"
    ).bindparams(sa.bindparam("created_at", type_=Moment))
)
_columns = (relations.c.low_id, relations.c.high_id, relations.c.similarity)
_among: Final = PreparedStatement(
    sa.select(*_columns).where(
        _user, among(relations.c.low_id, _listed), among(relations.c.high_id, _listed)
    )
)
_touching: Final = PreparedStatement(
    sa.union(
        sa.select(*_columns).where(_user, among(relations.c.low_id, _listed)),
        sa.select(*_columns).where(_user, among(relations.c.high_id, _listed)),
    )
)

Relation = tuple[int, int, float]
"""Two memories and their similarity."""

Pair = tuple[int, int]
"""Two related memories, the lower id first."""

_pair: Final = sa.tuple_(relations.c.low_id, relations.c.high_id)
_of_newer = sa.and_(_user, among(relations.c.high_id, _listed))
# Without the similarity, which is not in the index.
_brought: Final = PreparedStatement(sa.select(*_columns[:2]).where(_of_newer))
# By one end only: PostgreSQL would probe every pair of ids.
_relations: Final = PreparedStatement(sa.select(*_columns).where(_of_newer))
_put: Final = upsert(checked_pairs, replacing=True)


def add_relations(writing: WriteTransaction, found: Iterable[Relation]) -> None:
    """Insert relations of the writing user; each pair is stored once."""
    pairs = {(min(one, other), max(one, other)): near for one, other, near in found if one != other}
    same = {"user_id": writing.user_id, "created_at": writing.now}
    rows = [
        {**same, "low_id": low, "high_id": high, "similarity": near}
        for (low, high), near in pairs.items()
    ]
    if rows:
        _insert.run_many(writing.connection, rows)


def remove_relations(writing: WriteTransaction, ids: Collection[int]) -> None:
    listed = list(ids)
    touching = sa.or_(relations.c.low_id.in_(listed), relations.c.high_id.in_(listed))
    where = sa.and_(relations.c.user_id == writing.user_id, touching)
    writing.connection.execute(sa.delete(relations).where(where))


def relations_among(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> list[Relation]:
    rows = _among.run(connection, {"user_id": user_id, "ids": list(ids)})
    return [(row[0], row[1], row[2]) for row in rows]


def relations_of(connection: sa.Connection, user_id: str, ids: Collection[int]) -> list[Relation]:
    rows = _touching.run(connection, {"user_id": user_id, "ids": list(ids)})
    return [(row[0], row[1], row[2]) for row in rows]


def outlived_relations(
    connection: sa.Connection, user_id: str, link_min: float, now: datetime, after: Pair, limit: int
) -> tuple[Pair | None, int]:
    """Scan the next relations of a user in the order of their pairs.

    Returns how far the scan came (None at the end), and how many of them relate memories that are
    no longer both active, or are below ``link_min``.
    """
    doomed = sa.case((_is_outlived(link_min, now), 1), else_=0)
    wanted = (
        sa.select(relations.c.low_id, relations.c.high_id, doomed)
        .where(relations.c.user_id == user_id, _pair > _bound(after))
        .order_by(relations.c.low_id, relations.c.high_id)
        .limit(limit)
    )
    rows = connection.execute(wanted).all()
    reached = (rows[-1][0], rows[-1][1]) if rows else None
    return reached, sum(row[2] for row in rows)


def remove_outlived_relations(
    writing: WriteTransaction, link_min: float, after: Pair, upto: Pair
) -> int:
    """Delete what :func:`outlived_relations` counts between two pairs; returns how many."""
    where = sa.and_(
        relations.c.user_id == writing.user_id,
        _pair > _bound(after),
        _pair <= _bound(upto),
        _is_outlived(link_min, writing.now),
    )
    return writing.connection.execute(sa.delete(relations).where(where)).rowcount


def relation_counts(
    connection: sa.Connection, user_id: str, ids: Collection[int], now: datetime
) -> dict[int, int]:
    """The number of active related memories per id, where there are any."""
    counts: dict[int, int] = {}
    listed = list(ids)
    for mine, other in (
        (relations.c.low_id, relations.c.high_id),
        (relations.c.high_id, relations.c.low_id),
    ):
        wanted = (
            sa.select(mine, sa.func.count())
            .where(relations.c.user_id == user_id, among(mine, _listed), _is_active(other, now))
            .group_by(mine)
        )
        for item_id, count in connection.execute(wanted, {"ids": listed}):
            counts[item_id] = counts.get(item_id, 0) + count
    return counts


def _bound(pair: Pair) -> Any:
    return sa.tuple_(*(sa.literal(item_id, sa.BigInteger) for item_id in pair))


def _is_outlived(link_min: float, now: datetime) -> Condition:
    return sa.or_(
        relations.c.similarity < link_min,
        ~_is_active(relations.c.low_id, now),
        ~_is_active(relations.c.high_id, now),
    )


def _is_active(item_id: sa.ColumnElement[int], now: datetime) -> Condition:
    return sa.exists().where(
        items.c.user_id == relations.c.user_id,
        items.c.id == item_id,
        items.c.status == Status.ACTIVE.value,
        not_expired(now),
    )


def latest_active_ids(
    connection: sa.Connection, where: Condition, limit: int, *, of_themes: bool
) -> list[int]:
    """The ids of the latest active memories that meet a condition.

    ``of_themes``: the condition selects themes. Their index is then tried first, because a small
    theme would otherwise be searched for among all memories.
    """
    wanted = sa.select(items.c.id).where(where)
    if of_themes:
        # A literal, so that the partial index is used.
        active = items.c.status == sa.literal_column("'active'")
        few = list(connection.execute(wanted.where(active).limit(limit)).scalars())
        if len(few) < limit:
            return sorted(few, reverse=True)
    ordered = wanted.order_by(items.c.id.desc()).limit(limit)
    return list(connection.execute(ordered).scalars())


def ids_among(connection: sa.Connection, where: Condition, ids: Collection[int]) -> set[int]:
    wanted = sa.select(items.c.id).where(where, among(items.c.id, _listed))
    return set(connection.execute(wanted, {"ids": list(ids)}).scalars())


def pairs_brought_by(connection: sa.Connection, user_id: str, ids: Collection[int]) -> list[Pair]:
    """The relations of these memories with older ones, the lower id first."""
    rows = _brought.run(connection, {"user_id": user_id, "ids": list(ids)})
    return [(row[0], row[1]) for row in rows]


def relations_within(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> list[Relation]:
    listed = set(ids)
    rows = _relations.run(connection, {"user_id": user_id, "ids": list(listed)})
    return [(row[0], row[1], row[2]) for row in rows if row[0] in listed]


def note_checked(
    writing: WriteTransaction, one: int, other: int, fingerprint: str, verdict: str
) -> None:
    """Record that a pair of the writing user's memories was checked now."""
    row = {
        "user_id": writing.user_id,
        "low_id": min(one, other),
        "high_id": max(one, other),
        "fingerprint": fingerprint,
        "verdict": verdict,
        "checked_at": writing.now,
    }
    _put.run(writing.connection, row)


def checked_since(
    connection: sa.Connection, user_id: str, low_ids: Collection[int], since: datetime
) -> dict[tuple[int, int], str]:
    """The pairs checked since then whose lower id is listed, with their fingerprints."""
    wanted = sa.select(
        checked_pairs.c.low_id, checked_pairs.c.high_id, checked_pairs.c.fingerprint
    ).where(
        checked_pairs.c.user_id == user_id,
        checked_pairs.c.checked_at > since,
        among(checked_pairs.c.low_id, bound_list("low_ids", sa.BigInteger())),
    )
    rows = connection.execute(wanted, {"low_ids": sorted(low_ids)})
    return {(row[0], row[1]): row[2] for row in rows}


def trim_checked(connection: sa.Connection, user_id: str, before: datetime, limit: int) -> int:
    """Delete a bounded number of a user's pairs checked before then; returns how many."""
    own = checked_pairs.c.user_id == user_id
    pair = (checked_pairs.c.low_id, checked_pairs.c.high_id)
    oldest = (
        sa.select(*pair)
        .where(own, checked_pairs.c.checked_at < before)
        .order_by(checked_pairs.c.checked_at)
        .limit(limit)
    )
    gone = sa.delete(checked_pairs).where(own, sa.tuple_(*pair).in_(oldest))
    return connection.execute(gone).rowcount
