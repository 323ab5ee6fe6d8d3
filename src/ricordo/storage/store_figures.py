"""Figures of the store as a whole, for whoever watches over it."""

from datetime import datetime

import sqlalchemy as sa

from ricordo.model.vocabulary import Status
from ricordo.storage.search_index import INDEXED
from ricordo.storage.tables import items, users
from ricordo.storage.where import not_expired

EXPIRED = "expired"
"""Stands for the status of what is past its expiry, and waits for the job that archives it."""


def memories_by_status(connection: sa.Connection, now: datetime) -> dict[str, int]:
    """How many memories all users have together, of each status that there are any of."""
    is_past = sa.and_(items.c.status == Status.ACTIVE.value, sa.not_(not_expired(now)))
    shown = sa.case((is_past, sa.literal(EXPIRED)), else_=items.c.status).label("shown")
    counted = connection.execute(sa.select(shown, sa.func.count()).group_by(shown))
    return {row[0]: row[1] for row in counted}


def count_users(connection: sa.Connection) -> int:
    """How many users have anything stored."""
    return connection.execute(sa.select(sa.func.count()).select_from(users)).scalar_one()


def waiting_vectors(connection: sa.Connection) -> dict[str, int]:
    """How many texts of all users wait for their vectors, by what they are."""
    return {
        kind.name: connection.execute(
            sa.select(sa.func.count())
            .select_from(kind.index)
            # A literal, because the partial index can only be used when the statement shows it.
            .where(kind.index.c.state == sa.literal_column("'pending'"))
        ).scalar_one()
        for kind in INDEXED
    }
