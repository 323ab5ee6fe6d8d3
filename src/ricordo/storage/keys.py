"""Rows of API keys and of ended sessions.

Keys are looked up before the user is known, so every transaction here acts for all users.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import Conflict, KeyNotFound
from ricordo.limits import MAX_API_KEYS
from ricordo.model.record import Page
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import KeyKind, Permission
from ricordo.storage.database import Database, retried
from ricordo.storage.paging import page_by_time
from ricordo.storage.tables import api_keys, ended_sessions

_CURSOR: Final = "keys"
SHOWN: Final = [column for column in api_keys.c if column is not api_keys.c.secret_hash]


class StoredKeys:
    def __init__(self, database: Database) -> None:
        self.database = database

    @retried
    def insert(self, key: ApiKey, secret_hash: str) -> None:
        """Store a new key with the hash of its secret.

        Creates the key's user if needed, so that it can be erased.

        Raises:
            Conflict: there are too many keys.
        """
        if key.user_id is None:
            with self.database.transaction() as connection:
                _insert(connection, key, secret_hash)
            return
        with self.database.write(key.user_id) as writing:
            writing.keeps_user = True
            with writing.acting_for_all():
                _insert(writing.connection, key, secret_hash)

    def find(self, key_id: str) -> tuple[ApiKey, str] | None:
        wanted = sa.select(api_keys).where(api_keys.c.id == key_id)
        with self.database.read_all() as view:
            row = view.connection.execute(wanted).mappings().one_or_none()
        return None if row is None else (key_of(row), row["secret_hash"])

    def page(
        self, user_id: str | None, include_revoked: bool, limit: int, cursor: str | None
    ) -> Page[ApiKey]:
        """Keys, the newest first; of one user, or all.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        wanted = sa.select(*SHOWN)
        if user_id is not None:
            wanted = wanted.where(api_keys.c.user_id == user_id)
        if not include_revoked:
            wanted = wanted.where(api_keys.c.revoked_at.is_(None))
        created_at, key_id = api_keys.c.created_at, api_keys.c.id
        with self.database.read_all() as view:
            return page_by_time(
                view.connection, wanted, key_of, _CURSOR, created_at, key_id, limit, cursor
            )

    @retried
    def revoke(self, key_id: str, now: datetime) -> ApiKey:
        """Revoke a key, if it was not revoked before.

        Raises:
            KeyNotFound: there is no such key.
        """
        ended = sa.update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
        with self.database.transaction() as connection:
            connection.execute(ended.values(revoked_at=now))
            row = connection.execute(sa.select(*SHOWN).where(api_keys.c.id == key_id)).mappings()
            found = row.one_or_none()
        if found is None:
            raise KeyNotFound(key_id)
        return key_of(found)

    def note_use(self, key_id: str, now: datetime) -> None:
        """Record when a key was last used.

        Raises:
            StorageError: the database could not do it.
        """
        used = sa.update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=now)
        with self.database.transaction() as connection:
            connection.execute(used)

    def has_live(self, now: datetime) -> bool:
        lasting = sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
        wanted = sa.select(sa.exists().where(api_keys.c.revoked_at.is_(None), lasting))
        with self.database.read_all() as view:
            return view.connection.execute(wanted).scalar_one()


def _insert(connection: sa.Connection, key: ApiKey, secret_hash: str) -> None:
    count = connection.execute(sa.select(sa.func.count()).select_from(api_keys)).scalar_one()
    if count >= MAX_API_KEYS:
        raise Conflict(f"there are {count} keys, the most allowed")
    row = {column.name: getattr(key, column.name) for column in SHOWN}
    row["categories"] = None if key.categories is None else list(key.categories)
    row["permissions"] = list(key.permissions)
    connection.execute(sa.insert(api_keys).values(**row, secret_hash=secret_hash))


def key_of(row: Mapping[str, Any] | sa.RowMapping) -> ApiKey:
    values: dict[str, Any] = {column.name: row[column.name] for column in SHOWN}
    values["kind"] = KeyKind(values["kind"])
    values["permissions"] = tuple(map(Permission, values["permissions"]))
    if values["categories"] is not None:
        values["categories"] = tuple(values["categories"])
    return ApiKey(**values)


@retried
def end_session(database: Database, session_id: str, until: datetime) -> None:
    """End a session, and delete ended sessions whose cookies have expired."""
    row = {"id": session_id, "until": until}
    with database.transaction() as connection:
        past = ended_sessions.c.until < database.clock()
        again = ended_sessions.c.id == session_id
        connection.execute(sa.delete(ended_sessions).where(sa.or_(past, again)))
        connection.execute(sa.insert(ended_sessions).values(**row))


def session_has_ended(database: Database, session_id: str) -> bool:
    wanted = sa.select(ended_sessions.c.id).where(ended_sessions.c.id == session_id)
    with database.read_all() as view:
        return view.connection.execute(wanted).one_or_none() is not None
