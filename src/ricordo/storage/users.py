"""Who has anything stored here."""

import sqlalchemy as sa

from ricordo.storage.tables import (
    history,
    items,
    proposals,
    summaries,
    themes,
    threads,
    users,
)
from ricordo.storage.writing import OWNER_ACTED


def has_user(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has ever written."""
    known = sa.exists().where(users.c.user_id == user_id)
    return connection.execute(sa.select(known)).scalar_one()


def has_anything(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has memories, themes, conversations, proposals or a narrative, or ever did
    anything.

    That others shared something with them is not theirs.
    """
    acted = sa.exists().where(history.c.user_id == user_id, history.c.actor != OWNER_ACTED)
    tables = (items, themes, threads, proposals, summaries)
    own = [sa.exists().where(table.c.user_id == user_id) for table in tables]
    return connection.execute(sa.select(sa.or_(acted, *own))).scalar_one()


def list_users(connection: sa.Connection, after: str, limit: int) -> list[str]:
    """User ids in order, beginning after the given one."""
    wanted = sa.select(users.c.user_id).where(users.c.user_id > after).order_by(users.c.user_id)
    return list(connection.execute(wanted.limit(limit)).scalars())
