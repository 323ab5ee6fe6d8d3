"""Rows of responses that a model's endpoint keeps, each with its conversation."""

import hashlib
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo.limits import RESPONSE_DAYS
from ricordo.storage.database import Database, retried
from ricordo.storage.sql import PreparedStatement, Words, upsert
from ricordo.storage.tables import upstream_responses

_put: Final = upsert(upstream_responses, replacing=True)
_find: Final = PreparedStatement(
    sa.select(upstream_responses.c.thread_id).where(
        upstream_responses.c.user_id == sa.bindparam("user_id", type_=Words),
        upstream_responses.c.response_hash == sa.bindparam("response_hash", type_=Words),
    )
)


def thread_of_response(database: Database, user_id: str, response_id: str) -> str | None:
    """The conversation of a response; None for one that this user did not get here."""
    with database.read(user_id) as view:
        key = {"user_id": user_id, "response_hash": _hash(response_id)}
        found = _find.run(view.connection, key)
    return found[0][0] if found else None


@retried
def note_response(database: Database, user_id: str, response_id: str, thread_id: str) -> None:
    """Remember which conversation a response is part of, unless the user was erased meanwhile."""
    with database.write(user_id) as writing:
        if writing.is_first:
            return
        row = {
            "user_id": user_id,
            "response_hash": _hash(response_id),
            "thread_id": thread_id,
            "at": writing.now,
        }
        _put.run(writing.connection, row)


def trim_responses(connection: sa.Connection, user_id: str, now: datetime) -> int:
    """Forget responses that are too old; returns how many."""
    gone = sa.delete(upstream_responses).where(
        upstream_responses.c.user_id == user_id,
        upstream_responses.c.at < now - timedelta(days=RESPONSE_DAYS),
    )
    return connection.execute(gone).rowcount


def _hash(response_id: str) -> str:
    """Ids can be of any length."""
    return hashlib.sha256(response_id.encode("utf-8", "replace")).hexdigest()
