"""What a user allowed a program that signed in with OAuth."""

from datetime import datetime

from ricordo.frozen import dataclass
from ricordo.model.record import Record
from ricordo.model.vocabulary import AccessScope, TokenKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that asks users for access. ``redirect_uris`` is where it may be answered."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(Record):
    """What a user allowed a program, until they or the end of their key take it back.

    ``key_id`` is the key that they signed in with: the program has its limits. ``expires_at`` is
    when the last of its tokens expires, unless the program asks for new ones before.
    """

    id: str
    user_id: str
    key_id: str
    client_id: str
    client_name: str
    scopes: tuple[AccessScope, ...]
    resource: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A code or token without its secret. A code is good for one ``redirect_uri``, and for who
    knows the secret behind the ``challenge``."""

    hash: str
    user_id: str
    grant_id: str
    kind: TokenKind
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    redirect_uri: str | None = None
    challenge: str | None = None
