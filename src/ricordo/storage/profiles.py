"""Reading the rows that a user's profile consists of."""

from datetime import datetime

import sqlalchemy as sa

from ricordo.model.item import Item
from ricordo.model.profile import PROFILE_THEME
from ricordo.storage.items import find_items
from ricordo.storage.tables import items, turns
from ricordo.storage.where import not_expired


def keyed_profile_items(connection: sa.Connection, user_id: str, now: datetime) -> list[Item]:
    """A user's own active memories of the theme ``profile`` that have a key, fields or not."""
    where = (
        (items.c.user_id == user_id)
        & (items.c.status == sa.literal_column("'active'"))
        & (items.c.theme == PROFILE_THEME)
        & items.c.key.is_not(None)
        & not_expired(now)
    )
    return find_items(connection, where)


def last_turn_id(connection: sa.Connection, user_id: str, thread_id: str) -> int | None:
    """The latest turn of a conversation; None where nothing was said in it."""
    wanted = (
        sa.select(turns.c.id)
        .where(turns.c.user_id == user_id, turns.c.thread_id == thread_id)
        .order_by(turns.c.position.desc())
        .limit(1)
    )
    found: int | None = connection.execute(wanted).scalar_one_or_none()
    return found
