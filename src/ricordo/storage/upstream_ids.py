"""Rows of ids that a model's endpoint gave to a user, each with its conversation here."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo.frozen import dataclass
from ricordo.limits import RESPONSE_DAYS
from ricordo.model.vocabulary import UpstreamKind
from ricordo.storage.database import Database, retried
from ricordo.storage.sql import PreparedStatement, Words, upsert
from ricordo.storage.tables import upstream_ids, users


@dataclass(frozen=True, slots=True)
class UpstreamId:
    kind: UpstreamKind
    id: str

    @property
    def hashed(self) -> str:
        """Ids can be of any length."""
        prefix = "" if self.kind is UpstreamKind.RESPONSE else f"{self.kind} "
        return hashlib.sha256(f"{prefix}{self.id}".encode("utf-8", "surrogatepass")).hexdigest()


_AT_ONCE: Final = 500  # ids in one query
_put: Final = upsert(upstream_ids, replacing=False)
_find: Final = PreparedStatement(
    sa.select(upstream_ids.c.thread_id).where(
        upstream_ids.c.user_id == sa.bindparam("user_id", type_=Words),
        upstream_ids.c.id_hash == sa.bindparam("id_hash", type_=Words),
    )
)


def thread_of_response(database: Database, user_id: str, response_id: str) -> str | None:
    """The conversation of a response; None for one that this user did not get here."""
    key = {"user_id": user_id, "id_hash": UpstreamId(UpstreamKind.RESPONSE, response_id).hashed}
    with database.read(user_id) as view:
        found = _find.run(view.connection, key)
    return found[0][0] if found else None


def known_ids(
    database: Database, user_id: str, ids: Iterable[UpstreamId], agent: str | None = None
) -> tuple[set[UpstreamId], bool]:
    """Those of the ids that the user got here, or this ``agent`` of theirs; and whether the user
    exists."""
    hashes = {one.hashed: one for one in ids}
    own = upstream_ids.c.user_id == user_id
    if agent is not None:
        own &= upstream_ids.c.agent_id == agent
    found: set[UpstreamId] = set()
    with database.read(user_id) as view:
        is_user = sa.select(sa.exists().where(users.c.user_id == user_id))
        exists = bool(view.connection.execute(is_user).scalar_one())
        asked = list(hashes) if exists else []
        for start in range(0, len(asked), _AT_ONCE):
            some = upstream_ids.c.id_hash.in_(asked[start : start + _AT_ONCE])
            rows = view.connection.execute(sa.select(upstream_ids.c.id_hash).where(own, some))
            found.update(hashes[one] for one in rows.scalars())
    return found, exists


@retried
def note_ids(
    database: Database,
    user_id: str,
    ids: Mapping[UpstreamId, str],
    *,
    agent: str | None = None,
    is_new: bool = False,
) -> None:
    """Remember that a user, or their ``agent``, got these ids, each with its conversation. What is
    noted stays.

    Without ``is_new`` no user is made: who had been there is one who was erased meanwhile.
    """
    with database.write(user_id) as writing:
        if writing.is_first and not is_new:
            return
        writing.keeps_user = True
        for one, thread_id in ids.items():
            row = {
                "user_id": user_id,
                "id_hash": one.hashed,
                "kind": one.kind.value,
                "thread_id": thread_id,
                "agent_id": agent,
                "at": writing.now,
            }
            _put.run(writing.connection, row)


@retried
def forget_id(database: Database, user_id: str, gone: UpstreamId) -> None:
    """Forget what the endpoint has deleted."""
    with database.write(user_id) as writing:
        own = upstream_ids.c.user_id == user_id
        one = upstream_ids.c.id_hash == gone.hashed
        writing.connection.execute(sa.delete(upstream_ids).where(own, one))


def trim_ids(connection: sa.Connection, user_id: str, now: datetime) -> int:
    """Forget responses and items that are too old; returns how many. Conversations last."""
    gone = sa.delete(upstream_ids).where(
        upstream_ids.c.user_id == user_id,
        upstream_ids.c.kind != UpstreamKind.CONVERSATION.value,
        upstream_ids.c.at < now - timedelta(days=RESPONSE_DAYS),
    )
    return connection.execute(gone).rowcount
