"""Rows of programs that sign in with OAuth, of what users allowed them, and of their tokens.

Like keys, tokens are looked up before the user is known: these transactions act for all users.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import Conflict, GrantNotFound
from ricordo.model.grant import Client, Grant, Token
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import AccessScope, TokenKind
from ricordo.storage.database import Database, retried
from ricordo.storage.keys import SHOWN, key_of
from ricordo.storage.tables import api_keys, grant_tokens, grants, oauth_clients

_GIVES_WAY: timedelta = timedelta(hours=1)


class StoredGrants:
    def __init__(self, database: Database) -> None:
        self.database = database

    @retried
    def add_client(self, client: Client) -> None:
        """Store a program.

        Where there are too many, the oldest that nobody allowed anything gives way.

        Raises:
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

        Creates the user if needed, so that they can be erased.

        Raises:
            Conflict: this user has allowed too many programs something.
        """
        with self.database.write(grant.user_id) as writing:
            writing.keeps_user = True
            with writing.acting_for_all():
                _insert(writing.connection, grant, code)

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
        """End a grant of a user, with its tokens; what it was.

        Raises:
            GrantNotFound: this user gave none with this id.
        """
        with self.database.transaction() as connection:
            which = (grants.c.id == grant_id, grants.c.user_id == user_id)
            row = connection.execute(sa.select(grants).where(*which)).mappings().one_or_none()
            if row is None:
                raise GrantNotFound(grant_id)
            _end(connection, *which)
        return _grant(row)

    def note_use(self, grant_id: str, now: datetime) -> None:
        """Record when a program last used what it was allowed.

        Raises:
            StorageError: the database could not do it.
        """
        with self.database.transaction() as connection:
            used = sa.update(grants).where(grants.c.id == grant_id)
            connection.execute(used.values(last_used_at=now))


def _insert(connection: sa.Connection, grant: Grant, code: Token) -> None:
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
