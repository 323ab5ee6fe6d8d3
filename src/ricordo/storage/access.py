"""Rows of API keys, of ended sessions, and of programs that sign in with OAuth.

Keys and tokens are looked up before the user is known, so every transaction here acts for all
users.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import Conflict, GrantNotFound, KeyNotFound
from ricordo.limits import MAX_API_KEYS
from ricordo.model.record import Page
from ricordo.model.scope import ApiKey, Client, Grant, Token
from ricordo.model.vocabulary import AccessScope, KeyKind, Permission, TokenKind
from ricordo.storage.database import Database, retried
from ricordo.storage.sql import page_by_time
from ricordo.storage.tables import api_keys, ended_sessions, grant_tokens, grants, oauth_clients

_CURSOR: Final = "keys"
SHOWN: Final = [column for column in api_keys.c if column is not api_keys.c.secret_hash]


class StoredKeys:
    def __init__(self, database: Database) -> None:
        self.database = database

    @retried
    def insert(self, key: ApiKey, secret_hash: str) -> None:
        """Store a new key with the hash of its secret.

        Creates the key's user if needed, so that it can be erased. Raises Conflict: there are too
        many keys.
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
        """Keys, the newest first; of one user, or all. Raises InvalidCursor: the cursor was not
        given out by this call."""
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
        """Revoke a key, if it was not revoked before. Raises KeyNotFound: there is no such key."""
        ended = sa.update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
        with self.database.transaction() as connection:
            connection.execute(ended.values(revoked_at=now))
            row = connection.execute(sa.select(*SHOWN).where(api_keys.c.id == key_id)).mappings()
            found = row.one_or_none()
        if found is None:
            raise KeyNotFound(key_id)
        return key_of(found)

    def note_use(self, key_id: str, now: datetime) -> None:
        """Record when a key was last used. Raises StorageError: the database could not do it."""
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


_GIVES_WAY: timedelta = timedelta(hours=1)


class StoredGrants:
    def __init__(self, database: Database) -> None:
        self.database = database

    @retried
    def add_client(self, client: Client) -> None:
        """Store a program.

        Where there are too many, the oldest that nobody allowed anything gives way. Raises
        Conflict: there are too many that users have allowed something.
        """
        row = {column.name: getattr(client, column.name) for column in oauth_clients.c}
        with self.database.transaction() as connection:
            count = sa.select(sa.func.count()).select_from(oauth_clients)
            if connection.execute(count).scalar_one() >= limits.MAX_OAUTH_CLIENTS:
                allowed = sa.exists().where(grants.c.client_id == oauth_clients.c.id)
                oldest = (
                    sa.select(oauth_clients.c.id)
                    .where(~allowed, oauth_clients.c.created_at < client.created_at - _GIVES_WAY)
                    .order_by(oauth_clients.c.created_at)
                    .limit(1)
                )
                found = connection.execute(oldest).scalar_one_or_none()
                if found is None:
                    raise Conflict("there are too many registered programs")
                connection.execute(sa.delete(oauth_clients).where(oauth_clients.c.id == found))
            connection.execute(
                sa.insert(oauth_clients).values(
                    **{**row, "redirect_uris": list(row["redirect_uris"])}
                )
            )

    def client(self, client_id: str) -> Client | None:
        wanted = sa.select(oauth_clients).where(oauth_clients.c.id == client_id)
        with self.database.read_all() as view:
            row = view.connection.execute(wanted).mappings().one_or_none()
        return (
            None if row is None else Client(**{**row, "redirect_uris": tuple(row["redirect_uris"])})
        )

    @retried
    def insert(self, grant: Grant, code: Token) -> None:
        """Store what a user allows, and remove what has expired of theirs.

        Creates the user if needed, so that they can be erased. Raises Conflict: this user has
        allowed too many programs something.
        """
        with self.database.write(grant.user_id) as writing:
            writing.keeps_user = True
            with writing.acting_for_all():
                _insert_grant(writing.connection, grant, code)

    def find(self, token_hash: str, kind: TokenKind) -> tuple[Token, Grant, ApiKey] | None:
        """A token with its grant and the key behind it; also a used or expired one."""
        columns = [
            *(column.label(f"token_{column.name}") for column in grant_tokens.c),
            *(column.label(f"grant_{column.name}") for column in grants.c),
            *(column.label(f"key_{column.name}") for column in SHOWN),
        ]
        wanted = (
            sa.select(*columns)
            .join(grants, grants.c.id == grant_tokens.c.grant_id)
            .join(api_keys, api_keys.c.id == grants.c.key_id)
            .where(grant_tokens.c.hash == token_hash, grant_tokens.c.kind == kind.value)
        )
        with self.database.read_all() as view:
            row = view.connection.execute(wanted).mappings().one_or_none()
        if row is None:
            return None
        token = {column.name: row[f"token_{column.name}"] for column in grant_tokens.c}
        token["kind"] = TokenKind(token["kind"])
        grant = {column.name: row[f"grant_{column.name}"] for column in grants.c}
        key = {column.name: row[f"key_{column.name}"] for column in SHOWN}
        return Token(**token), _grant(grant), key_of(key)

    @retried
    def exchange(self, used: Token, tokens: Iterable[Token], now: datetime) -> bool:
        """Use a code or refresh token once, for new tokens that replace the access token.

        One that was used before ends the grant with all its tokens: somebody has a copy. False
        then, and where the grant was ended meanwhile.
        """
        same = grant_tokens.c.grant_id == used.grant_id
        with self.database.transaction() as connection:
            taken = sa.update(grant_tokens).where(
                grant_tokens.c.hash == used.hash, grant_tokens.c.used_at.is_(None)
            )
            if not connection.execute(taken.values(used_at=now)).rowcount:
                _end(connection, grants.c.id == used.grant_id)
                return False
            past = sa.or_(
                grant_tokens.c.kind == TokenKind.ACCESS.value, grant_tokens.c.expires_at <= now
            )
            connection.execute(sa.delete(grant_tokens).where(same, past))
            oldest = (
                sa.select(grant_tokens.c.hash)
                .where(same, grant_tokens.c.used_at.is_not(None))
                .order_by(grant_tokens.c.used_at.desc(), grant_tokens.c.hash)
                .offset(limits.MAX_USED_REFRESH_TOKENS)
            )
            hashes = connection.execute(oldest).scalars().all()
            if hashes:
                connection.execute(sa.delete(grant_tokens).where(grant_tokens.c.hash.in_(hashes)))
            rows = [_row(token) for token in tokens]
            connection.execute(sa.insert(grant_tokens), rows)
            lasting = max(row["expires_at"] for row in rows)
            kept = sa.update(grants).where(grants.c.id == used.grant_id)
            return bool(
                connection.execute(kept.values(expires_at=lasting, last_used_at=now)).rowcount
            )

    def of_user(self, user_id: str) -> tuple[Grant, ...]:
        """What a user allows at present, the newest first."""
        live = api_keys.c.expires_at.is_(None) | (api_keys.c.expires_at > self.database.clock())
        wanted = (
            sa.select(grants)
            .join(api_keys, api_keys.c.id == grants.c.key_id)
            .where(grants.c.user_id == user_id, live)
            .where(grants.c.last_used_at.is_not(None))
            .where(grants.c.expires_at > self.database.clock(), api_keys.c.revoked_at.is_(None))
            .order_by(grants.c.created_at.desc(), grants.c.id)
        )
        with self.database.read_all() as view:
            return tuple(map(_grant, view.connection.execute(wanted).mappings()))

    @retried
    def revoke(self, user_id: str, grant_id: str) -> Grant:
        """End a grant of a user, with its tokens; what it was. Raises GrantNotFound: this user gave
        none with this id."""
        with self.database.transaction() as connection:
            which = (grants.c.id == grant_id, grants.c.user_id == user_id)
            row = connection.execute(sa.select(grants).where(*which)).mappings().one_or_none()
            if row is None:
                raise GrantNotFound(grant_id)
            _end(connection, *which)
        return _grant(row)

    def note_use(self, grant_id: str, now: datetime) -> None:
        """Record when a program last used what it was allowed. Raises StorageError: the database
        could not do it."""
        with self.database.transaction() as connection:
            used = sa.update(grants).where(grants.c.id == grant_id)
            connection.execute(used.values(last_used_at=now))


def _insert_grant(connection: sa.Connection, grant: Grant, code: Token) -> None:
    mine = grants.c.user_id == grant.user_id
    _end(connection, mine, grants.c.expires_at <= grant.created_at)
    count = connection.execute(sa.select(sa.func.count()).where(mine)).scalar_one()
    if count >= limits.MAX_GRANTS_PER_USER:
        raise Conflict(f"{count} programs are connected, the most allowed: disconnect one first")
    row = {column.name: getattr(grant, column.name) for column in grants.c}
    connection.execute(sa.insert(grants).values(**{**row, "scopes": list(grant.scopes)}))
    connection.execute(sa.insert(grant_tokens).values(**_row(code)))


def _end(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> int:
    """Remove grants with their tokens; how many."""
    ended = connection.execute(sa.select(grants.c.id).where(*which)).scalars().all()
    if ended:
        connection.execute(sa.delete(grant_tokens).where(grant_tokens.c.grant_id.in_(ended)))
        connection.execute(sa.delete(grants).where(grants.c.id.in_(ended)))
    return len(ended)


def _row(token: Token) -> dict[str, Any]:
    return {column.name: getattr(token, column.name) for column in grant_tokens.c}


def _grant(row: Any) -> Grant:
    return Grant(**{**row, "scopes": tuple(map(AccessScope, row["scopes"]))})
