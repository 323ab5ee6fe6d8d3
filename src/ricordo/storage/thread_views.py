"""Up to which revision each conversation has been told of changes."""

from collections import Counter
from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import Event
from ricordo.storage.columns import Moment
from ricordo.storage.conversation_tables import thread_views
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import history
from ricordo.storage.writing import Writing

_put: Final = Prepared(
    sa.text(
        "INSERT INTO thread_views (user_id, thread_id, revision, looked_at)"
        " VALUES (:user_id, :thread_id, :revision, :now)"
        " ON CONFLICT (user_id, thread_id) DO UPDATE"
        " SET revision = excluded.revision, looked_at = excluded.looked_at"
    ).bindparams(sa.bindparam("now", type_=Moment))
)


def seen_revision(connection: sa.Connection, user_id: str, thread_id: str) -> int | None:
    """What a conversation has been told of; None where it has never looked."""
    wanted = sa.select(thread_views.c.revision).where(
        thread_views.c.user_id == user_id, thread_views.c.thread_id == thread_id
    )
    return connection.execute(wanted).scalar_one_or_none()


def note_seen(writing: Writing, thread_id: str, revision: int) -> None:
    """A conversation of the writing user is being told of all changes up to a revision."""
    given = {
        "user_id": writing.user_id,
        "thread_id": thread_id,
        "revision": revision,
        "now": writing.now,
    }
    _put.run(writing.connection, given)
    writing.keeps_user = True


def count_changes(connection: sa.Connection, user_id: str, since: int) -> Counter[Event]:
    """How many changes of each kind a user's history has after a revision."""
    counted = (
        sa.select(history.c.event, sa.func.count())
        .where(history.c.user_id == user_id, history.c.revision > since)
        .group_by(history.c.event)
    )
    return Counter({Event(event): count for event, count in connection.execute(counted)})
