"""The memories that name a conversation as where they come from."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from ricordo.limits import MAX_FORMED_MEMORIES
from ricordo.model.item import Item
from ricordo.model.vocabulary import Status
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.where import not_expired


def items_of_messages(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    message_ids: Collection[str],
    now: datetime,
) -> list[Item]:
    """A user's memories of any status but deleted that name one of these messages of a thread."""
    return _found(connection, user_id, thread_id, items.c.message_id.in_(message_ids), now)


def items_from_moments(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    moments: Collection[datetime],
    now: datetime,
) -> list[Item]:
    """The same for those that name no message, and hold from one of these times on."""
    unnamed = items.c.message_id.is_(None) & items.c.valid_from.in_(moments)
    return _found(connection, user_id, thread_id, unnamed, now)


def _found(
    connection: sa.Connection,
    user_id: str,
    thread_id: str,
    which: sa.ColumnElement[bool],
    now: datetime,
) -> list[Item]:
    where = sa.and_(
        items.c.user_id == user_id,
        items.c.thread_id.is_not(None),  # the partial index can only be used when this is said
        items.c.thread_id == thread_id,
        which,
        items.c.status != Status.DELETED.value,
        not_expired(now),
    )
    return find_items(connection, where, MAX_FORMED_MEMORIES)
