"""Rows that tell stretches of conversations in short."""

from typing import Final

import sqlalchemy as sa

from ricordo.model.conversation import Compaction
from ricordo.storage.columns import Words
from ricordo.storage.conversation_tables import compactions
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import threads, turns
from ricordo.storage.writing import Writing

_COLUMNS: Final = [column for column in compactions.c if column.name != "user_id"]
_user: Final = sa.bindparam("user_id", type_=Words)
_thread: Final = sa.bindparam("thread_id", type_=Words)
_reached: Final = (
    sa.select(sa.func.max(compactions.c.last_position))
    .where(compactions.c.user_id == _user, compactions.c.thread_id == _thread)
    .scalar_subquery()
)
# On the path of every message that is recorded.
_open_turns: Final = Prepared(
    sa.select(threads.c.turn_count - sa.func.coalesce(_reached, 0)).where(
        threads.c.user_id == _user, threads.c.thread_id == _thread
    )
)


def count_open_turns(connection: sa.Connection, user_id: str, thread_id: str) -> int:
    """How many turns of a conversation no compaction tells; none where it does not exist."""
    rows = _open_turns.run(connection, {"user_id": user_id, "thread_id": thread_id})
    return int(rows[0][0]) if rows else 0


def last_compaction(connection: sa.Connection, user_id: str, thread_id: str) -> Compaction | None:
    """The latest stretch of a conversation that was told in short."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(compactions.c.user_id == user_id, compactions.c.thread_id == thread_id)
        .order_by(compactions.c.last_position.desc())
        .limit(1)
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else Compaction(**row)


def put_compaction(writing: Writing, made: Compaction) -> None:
    """Keep what a stretch of a conversation was about."""
    row = {column.name: getattr(made, column.name) for column in _COLUMNS}
    writing.connection.execute(sa.insert(compactions).values(user_id=writing.user_id, **row))
    writing.keeps_user = True


def drop_compactions(writing: Writing, thread_id: str, from_position: int) -> int:
    """Forget what tells a turn of a conversation in short, and all that was built on it."""
    where = sa.and_(
        compactions.c.user_id == writing.user_id,
        compactions.c.thread_id == thread_id,
        compactions.c.last_position >= from_position,
    )
    return writing.connection.execute(sa.delete(compactions).where(where)).rowcount


def compactions_of_day(
    connection: sa.Connection, user_id: str, day: str, limit: int
) -> list[Compaction]:
    """The latest of what a user's conversations of a day were about, in order."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(compactions.c.user_id == user_id, compactions.c.day == day)
        .order_by(
            compactions.c.at.desc(),
            compactions.c.thread_id.desc(),
            compactions.c.last_position.desc(),
        )
        .limit(limit)
    )
    rows = connection.execute(wanted).mappings().all()
    return [Compaction(**row) for row in reversed(rows)]


def id_of_turn(
    connection: sa.Connection, user_id: str, thread_id: str, position: int
) -> int | None:
    """Which turn stands at a place of a conversation, if any."""
    wanted = sa.select(turns.c.id).where(
        turns.c.user_id == user_id, turns.c.thread_id == thread_id, turns.c.position == position
    )
    found: int | None = connection.execute(wanted).scalar()
    return found
