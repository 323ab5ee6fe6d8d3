"""Reading a user's memories in order to hold them against each other."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.model.embedding import VectorModel
from ricordo.model.vocabulary import Event, MemoryType, Status, VectorState
from ricordo.storage.constructs import among, bound_list, vector_bytes
from ricordo.storage.index_tables import item_index
from ricordo.storage.search_index import ITEMS
from ricordo.storage.tables import history, items, links
from ricordo.storage.vectors import Matrix, matrix_of
from ricordo.storage.where import Condition, not_expired

VECTOR_PAGE_ROWS: Final = 2_000
"""How many vectors are read at a time, which bounds the memory that comparing takes."""

_IMPORTANT: Final = 3


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of one width, with the ids of their memories."""

    ids: list[int]
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class VectorPage:
    """Vectors of one width, with the ids and types of their memories.

    ``last`` is the id after which to go on, None at the end.
    """

    ids: list[int]
    types: list[str]
    matrix: Matrix
    last: int | None


@dataclass(frozen=True, slots=True)
class Comparables:
    """A user's memories that meet a condition and have a ready vector of a model."""

    user_id: str
    model: VectorModel
    where: Condition

    def ids(self, connection: sa.Connection, after: int, limit: int) -> list[int]:
        """The next of their ids, in order."""
        wanted = self._joined().where(item_index.c.id > after).order_by(item_index.c.id)
        return list(connection.execute(wanted.limit(limit)).scalars())

    def unchanged(self, connection: sa.Connection, ids: Collection[int], stamp: int) -> set[int]:
        """Those of a list that are among them and have said the same since the index's stamp."""
        listed = among(item_index.c.id, bound_list("ids", sa.BigInteger()))
        wanted = self._joined().where(item_index.c.stamp <= stamp, listed)
        return set(connection.execute(wanted, {"ids": sorted(ids)}).scalars())

    def vectors(self, connection: sa.Connection, ids: Collection[int]) -> list[Vectors]:
        """The vectors of a list, whether or not these memories meet the condition.

        Those of one width are together; the width of the lowest id comes first.
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
            Vectors([row[0] for row in rows], matrix_of(connection, [row[1] for row in rows]))
            for rows in alike.values()
        ]

    def page(self, connection: sa.Connection, width: int, after: int) -> VectorPage:
        """The next of them by id whose vectors are of this width."""
        # Cut off before the memories are joined, or SQLite would sort all of them for every page.
        page = (
            sa.select(item_index.c.id, item_index.c.vector)
            .where(self._has_vector(), item_index.c.id > after, item_index.c.dimensions == width)
            .order_by(item_index.c.id)
            .limit(VECTOR_PAGE_ROWS)
            .subquery()
        )
        same_row = sa.and_(items.c.user_id == self.user_id, items.c.id == page.c.id)
        wanted = sa.select(page.c.id, items.c.type, vector_bytes(page.c.vector)).select_from(
            page.outerjoin(items, sa.and_(same_row, self.where))
        )
        # Put in order here, because SQLite would carry the vectors along while it sorts.
        rows = sorted(connection.execute(wanted).all(), key=itemgetter(0))
        kept = [row for row in rows if row[1] is not None]
        return VectorPage(
            ids=[row[0] for row in kept],
            types=[row[1] for row in kept],
            matrix=matrix_of(connection, [row[2] for row in kept]),
            last=rows[-1][0] if len(rows) == VECTOR_PAGE_ROWS else None,
        )

    def _joined(self) -> sa.Select[Any]:
        """Their ids, from the memories joined with their index."""
        wanted = sa.select(item_index.c.id).select_from(ITEMS.joined())
        return wanted.where(self._has_vector(), self.where)

    def _has_vector(self) -> Condition:
        return sa.and_(
            item_index.c.user_id == self.user_id,
            item_index.c.state == VectorState.READY.value,
            item_index.c.provider == self.model.provider,
            item_index.c.model == self.model.model,
        )


def active(user_id: str, now: datetime) -> Condition:
    """A user's own memories that hold now."""
    return sa.and_(
        items.c.user_id == user_id, items.c.status == Status.ACTIVE.value, not_expired(now)
    )


def comparable(user_id: str, types: Collection[MemoryType], now: datetime) -> Condition:
    """A user's own memories of these types that hold now, open-ended, and are not too old.

    What has an end or a beginning in the world is dated already: nothing makes it outdated.
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
            sa.case((changed, 0), (often, 1), else_=2),
            items.c.updated_at.desc(),
            items.c.id.desc(),
        )
        .limit(limits.MAX_POOLED_MEMORIES)
    )
    return list(connection.execute(wanted).scalars())


def replaced_before(
    connection: sa.Connection, user_id: str, ids: Collection[int]
) -> frozenset[int]:
    """Those of these memories that were superseded or merged once.

    Of active ones: those that somebody has brought back.
    """
    wanted = (
        sa.select(history.c.item_id)
        .distinct()
        .where(
            history.c.user_id == user_id,
            among(history.c.item_id, bound_list("ids", sa.BigInteger())),
            history.c.event.in_([Event.SUPERSEDE.value, Event.MERGE.value]),
        )
    )
    return frozenset(connection.execute(wanted, {"ids": sorted(ids)}).scalars())


def shared_among(connection: sa.Connection, owner_id: str, ids: Collection[int]) -> frozenset[int]:
    """Those of an owner's memories that somebody else sees, too."""
    wanted = (
        sa.select(links.c.item_id)
        .distinct()
        .where(
            links.c.owner_id == owner_id,
            among(links.c.item_id, bound_list("ids", sa.BigInteger())),
        )
    )
    return frozenset(connection.execute(wanted, {"ids": sorted(ids)}).scalars())
