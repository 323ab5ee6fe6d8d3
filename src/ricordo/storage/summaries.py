"""The narrative of each user."""

from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import Event
from ricordo.storage.tables import history, summaries
from ricordo.storage.writing import Writing

_FORGETTING: Final = (Event.DELETE, Event.TTL, Event.PURGE)


def find_summary(connection: sa.Connection, user_id: str) -> sa.RowMapping | None:
    """What is stored as a user's narrative, or None."""
    wanted = sa.select(summaries).where(summaries.c.user_id == user_id)
    return connection.execute(wanted).mappings().first()


def put_summary(writing: Writing, content: str, revision: int, made_by: str) -> None:
    """Keep a narrative of a revision in place of the one before.

    Not where something was forgotten since, or the whole user: it may tell of that.
    """
    if writing.revision < revision or _was_anything_forgotten(writing, since=revision):
        return
    drop_summary(writing.connection, writing.user_id)
    row = {
        "user_id": writing.user_id,
        "content": content,
        "revision": revision,
        "made_by": made_by,
        "updated_at": writing.now,
    }
    writing.connection.execute(sa.insert(summaries).values(**row))
    writing.keeps_user = True


def drop_summary(connection: sa.Connection, user_id: str) -> bool:
    """Forget a narrative, because it may tell of something that is gone; whether there was one."""
    gone = connection.execute(sa.delete(summaries).where(summaries.c.user_id == user_id))
    return gone.rowcount > 0


def _was_anything_forgotten(writing: Writing, since: int) -> bool:
    forgotten = sa.exists().where(
        history.c.user_id == writing.user_id,
        history.c.revision > since,
        history.c.event.in_([event.value for event in _FORGETTING]),
    )
    return writing.connection.execute(sa.select(forgotten)).scalar_one()
