"""Stored responses of idempotent requests."""

from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo.frozen import dataclass
from ricordo.limits import IDEMPOTENCY_HOURS, IDEMPOTENCY_LEASE_SECONDS
from ricordo.storage.backend import RaceLost
from ricordo.storage.database import Database, retried
from ricordo.storage.sql import Condition, Moment, PreparedStatement
from ricordo.storage.tables import kept_answers

_reserve: Final = PreparedStatement(
    sa.text(
        "INSERT INTO kept_answers (user_id, idempotency_key, request_hash, at)"
        " VALUES (:user_id, :name, :request_hash, :now)"
        " ON CONFLICT (user_id, idempotency_key) DO NOTHING RETURNING user_id"
    ).bindparams(sa.bindparam("now", type_=Moment))
)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The response of a request; without a status while it is in progress."""

    request_hash: str
    status: int | None
    headers: dict[str, str]
    body: bytes


@retried
def reserve(database: Database, user_id: str, name: str, request_hash: str) -> KeptAnswer | None:
    """Take a key for a request; None where it was free, else its stored response.

    Also removes expired responses.
    """
    with database.transaction_for([user_id]) as connection:
        now = database.clock()
        trim_answers(connection, user_id, now)
        # The server of a request that began too long ago has died. A start in the future means that
        # the clock was set back since.
        lease = timedelta(seconds=IDEMPOTENCY_LEASE_SECONDS)
        at = kept_answers.c.at
        abandoned = sa.or_(at < now - lease, at > now + lease)
        in_progress = kept_answers.c.status.is_(None)
        connection.execute(
            sa.delete(kept_answers).where(*_place(user_id, name), in_progress, abandoned)
        )
        row = {"user_id": user_id, "name": name, "request_hash": request_hash, "now": now}
        if _reserve.run(connection, row):
            return None
        wanted = sa.select(kept_answers).where(*_place(user_id, name))
        found = connection.execute(wanted).one_or_none()
    if found is None:
        raise RaceLost("the key was freed at this very moment; try again")
    return KeptAnswer(found.request_hash, found.status, found.headers or {}, found.body or b"")


@retried
def keep(database: Database, user_id: str, name: str, answer: KeptAnswer) -> None:
    """Store the response of the request that has the key.

    Creates the user if needed, so that the response can be erased with them. Nothing is stored if
    the key was lost: the request took too long, or the user was erased meanwhile.
    """
    with database.write(user_id) as writing:
        kept = writing.connection.execute(
            sa.update(kept_answers)
            .where(*_in_progress(user_id, name, answer.request_hash))
            .values(status=answer.status, headers=answer.headers, body=answer.body)
        )
        writing.keeps_user = kept.rowcount == 1


@retried
def release(database: Database, user_id: str, name: str, request_hash: str) -> None:
    """Free the key, if the request still has it."""
    with database.transaction_for([user_id]) as connection:
        own = _in_progress(user_id, name, request_hash)
        connection.execute(sa.delete(kept_answers).where(*own))


def drop_answers(connection: sa.Connection, user_id: str) -> None:
    """Delete all stored responses of a user: they may quote what is being purged.

    Requests in progress keep their keys.
    """
    connection.execute(
        sa.delete(kept_answers).where(
            kept_answers.c.user_id == user_id, kept_answers.c.status.is_not(None)
        )
    )


def trim_answers(connection: sa.Connection, user_id: str, now: datetime) -> int:
    """Delete responses that are too old, or dated in the future; returns how many."""
    life = timedelta(hours=IDEMPOTENCY_HOURS)
    at = kept_answers.c.at
    gone = sa.delete(kept_answers).where(
        kept_answers.c.user_id == user_id, sa.or_(at < now - life, at > now + life)
    )
    return connection.execute(gone).rowcount


def _place(user_id: str, name: str) -> tuple[Condition, ...]:
    return kept_answers.c.user_id == user_id, kept_answers.c.idempotency_key == name


def _in_progress(user_id: str, name: str, request_hash: str) -> tuple[Condition, ...]:
    """The key while this request is in progress; after a timeout another may have it."""
    in_progress = kept_answers.c.status.is_(None)
    return *_place(user_id, name), in_progress, kept_answers.c.request_hash == request_hash
