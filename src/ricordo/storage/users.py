"""Who has anything stored here."""

import sqlalchemy as sa

from ricordo.storage.tables import threads, users


def has_user(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has ever written."""
    known = sa.exists().where(users.c.user_id == user_id)
    return connection.execute(sa.select(known)).scalar_one()


def has_anything(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has memories, a history or conversations; a bare name is nothing."""
    written = sa.exists().where(users.c.user_id == user_id, users.c.revision > 0)
    talked = sa.exists().where(threads.c.user_id == user_id)
    return connection.execute(sa.select(sa.or_(written, talked))).scalar_one()


def list_users(connection: sa.Connection, after: str, limit: int) -> list[str]:
    """User ids in order, beginning after the given one."""
    wanted = sa.select(users.c.user_id).where(users.c.user_id > after).order_by(users.c.user_id)
    return list(connection.execute(wanted.limit(limit)).scalars())
