"""Who has anything stored here."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from ricordo.storage.columns import Moment
from ricordo.storage.conversation_tables import (
    checkpoints,
    graph_checkpoints,
    graph_writes,
    store_entries,
)
from ricordo.storage.tables import (
    history,
    items,
    proposals,
    summaries,
    themes,
    threads,
    upkeep,
    users,
)
from ricordo.storage.writing import OWNER_ACTED


def has_user(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has ever written."""
    known = sa.exists().where(users.c.user_id == user_id)
    return connection.execute(sa.select(known)).scalar_one()


def has_anything(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has memories, themes, conversations, proposals, a narrative or states of
    programs, or ever did anything.

    That others shared something with them is not theirs.
    """
    acted = sa.exists().where(history.c.user_id == user_id, history.c.actor != OWNER_ACTED)
    remembered = (items, themes, threads, proposals, summaries)
    kept = (checkpoints, graph_checkpoints, graph_writes, store_entries)
    tables = (*remembered, *kept)
    own = [sa.exists().where(table.c.user_id == user_id) for table in tables]
    return connection.execute(sa.select(sa.or_(acted, *own))).scalar_one()


def list_users(connection: sa.Connection, after: str, limit: int) -> list[str]:
    """User ids in order, beginning after the given one."""
    wanted = sa.select(users.c.user_id).where(users.c.user_id > after).order_by(users.c.user_id)
    return list(connection.execute(wanted.limit(limit)).scalars())


def last_rounds(connection: sa.Connection, after: str, limit: int) -> list[tuple[str, datetime]]:
    """Users in order, beginning after the given one, and when each was last looked after.

    For those who never were, it is when they came.
    """
    since = sa.func.coalesce(upkeep.c.upkept_at, users.c.created_at, type_=Moment)
    wanted = (
        sa.select(users.c.user_id, since)
        .select_from(users.outerjoin(upkeep, users.c.user_id == upkeep.c.user_id))
        .where(users.c.user_id > after)
        .order_by(users.c.user_id)
        .limit(limit)
    )
    return [(user_id, moment) for user_id, moment in connection.execute(wanted)]


def hold_users(connection: sa.Connection, wanted: Collection[str]) -> list[str]:
    """Those of the users who are there and stay until the transaction ends, in order.

    Those whom somebody writes for, or erases, at this very moment are left out.
    """
    there = (
        sa.select(users.c.user_id)
        .where(users.c.user_id.in_(sorted(wanted)))
        .order_by(users.c.user_id)
        .with_for_update(read=True, key_share=True, skip_locked=True)
    )
    return list(connection.execute(there).scalars())
