"""What users allow programs that sign in with OAuth 2.1: clients, codes and tokens.

Codes and tokens are random and kept only as hashes. A code and a refresh token are good once; a
second use ends the grant, because somebody has a copy.
"""

import base64
import contextlib
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from ricordo import limits
from ricordo.access.keys import hash_of, new_id
from ricordo.clock import Clock
from ricordo.errors import GrantNotFound, InvalidValue, NotAuthenticated, StorageError, in_log
from ricordo.frozen import dataclass, field
from ricordo.model import checks
from ricordo.model.scope import ApiKey, Client, Grant, Token
from ricordo.model.vocabulary import AccessScope, TokenKind

ACCESS_PREFIX: Final = "ra_"
_PREFIX_OF: Final = {
    TokenKind.CODE: "rc_",
    TokenKind.ACCESS: ACCESS_PREFIX,
    TokenKind.REFRESH: "rr_",
}
_TOKEN_BYTES: Final = 32
_CLIENT_PREFIX: Final = "rp_"
_CLIENT_ID: Final = re.compile(rf"{_CLIENT_PREFIX}[a-z2-7]{{1,50}}")
_MAX_TOKEN_CHARS: Final = 100  # ours are shorter
_LIFE: Final = {
    TokenKind.CODE: timedelta(seconds=limits.OAUTH_CODE_SECONDS),
    TokenKind.ACCESS: timedelta(seconds=limits.OAUTH_ACCESS_SECONDS),
    TokenKind.REFRESH: timedelta(days=limits.OAUTH_REFRESH_DAYS),
}
_USE: Final = timedelta(minutes=limits.KEY_USE_MINUTES)
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_PRIVATE_SCHEME: Final = re.compile(r"[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+")  # RFC 8252, 7.1
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])?(?::[0-9]{1,5})?")
_KNOWN_SCHEMES: Final = ("cursor", "vscode", "vscode-insiders", "windsurf")
_log = logging.getLogger(__name__)


class OAuthRefusal(Exception):
    """A request that the authorisation server refuses, by the names of the protocol."""

    def __init__(self, error: str, description: str) -> None:
        self.error = error
        self.description = description
        super().__init__(f"{error}: {description}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """New tokens, which are shown only once."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    grant: Grant


class GrantRows(Protocol):
    def add_client(self, client: Client) -> None: ...

    def client(self, client_id: str) -> Client | None: ...

    def insert(self, grant: Grant, code: Token) -> None: ...

    def find(self, token_hash: str, kind: TokenKind) -> tuple[Token, Grant, ApiKey] | None: ...

    def exchange(self, used: Token, tokens: Iterable[Token], now: datetime) -> bool: ...

    def revoke(self, user_id: str, grant_id: str) -> Grant: ...

    def note_use(self, grant_id: str, now: datetime) -> None: ...


class Grants:
    """The grants of one store, for one resource. Thread-safe.

    Tokens are looked up on every request, together with the key that the user signed in with: what
    was taken back or has expired is refused at once in every process.
    """

    def __init__(self, rows: GrantRows, clock: Clock, resource: str) -> None:
        self._rows = rows
        self._clock = clock
        self.resource = resource

    def register(self, name: object, redirect_uris: object) -> Client:
        """A new program, which anybody can register. Raises OAuthRefusal: what it says of itself is
        not allowed; Conflict: there are too many."""
        client = described_client(f"{_CLIENT_PREFIX}{new_id()}", name, redirect_uris, self._clock())
        self._rows.add_client(client)
        return client

    def client(self, client_id: str) -> Client | None:
        return self._rows.client(client_id) if _CLIENT_ID.fullmatch(client_id) else None

    def allow(
        self,
        key: ApiKey,
        user: str,
        client: Client,
        scopes: Iterable[AccessScope],
        *,
        redirect_uri: str,
        challenge: str,
    ) -> str:
        """What a user allows who is signed in with a key; the code for the program. Raises
        Conflict: this user has allowed too many programs something."""
        now = self._clock()
        code = _new_secret(TokenKind.CODE)
        grant_id = new_id()
        token = _token(
            code,
            TokenKind.CODE,
            user,
            grant_id,
            now,
            redirect_uri=redirect_uri,
            challenge=challenge,
        )
        grant = Grant(
            id=grant_id,
            user_id=user,
            key_id=key.id,
            client_id=client.id,
            client_name=client.name,
            scopes=tuple(sorted(set(scopes))),
            resource=self.resource,
            created_at=now,
            expires_at=token.expires_at,
            last_used_at=None,
        )
        self._rows.insert(grant, token)
        return code

    def redeem(self, code: str, client_id: str, redirect_uri: str, verifier: str) -> Issued:
        """Tokens for a code. Raises OAuthRefusal: it is not good, or not for this program."""
        token, grant = self._found(code, TokenKind.CODE, client_id)
        proof = hashlib.sha256(verifier.encode("utf-8")).digest()
        shown = base64.urlsafe_b64encode(proof).rstrip(b"=").decode("ascii")
        is_proven = bool(_VERIFIER.fullmatch(verifier)) and hmac.compare_digest(
            shown, token.challenge or ""
        )
        if token.used_at is None and not (is_proven and redirect_uri == token.redirect_uri):
            raise _invalid_grant()
        return self._issue(token, grant)

    def refresh(self, token: str, client_id: str, scopes: Iterable[str] = ()) -> Issued:
        """The next tokens. Raises OAuthRefusal: the token is not good, not of this program, or more
        is asked for."""
        found, grant = self._found(token, TokenKind.REFRESH, client_id)
        if not set(scopes) <= set(grant.scopes):
            raise OAuthRefusal("invalid_scope", "more than the user allowed")
        return self._issue(found, grant)

    def authenticate(self, token: str) -> tuple[Grant, ApiKey]:
        """The grant of an access token, and the key behind it. Raises NotAuthenticated: it is
        unknown, of another resource, was revoked or has expired."""
        found = self._find(token, TokenKind.ACCESS)
        now = self._clock()
        if found is None or not _is_good(*found, now) or found[1].resource != self.resource:
            raise NotAuthenticated(
                "no valid token: it is unknown, of another service, was revoked or has expired"
            )
        _, grant, key = found
        if grant.last_used_at is None or grant.last_used_at <= now - _USE:
            try:
                self._rows.note_use(grant.id, now)
            except StorageError as problem:  # a good token stays good; it is noted another time
                _log.warning("when a grant was last used is not noted: %s", in_log(problem))
        return grant, key

    def end(self, token: str, client_id: str) -> None:
        """End the grant of a token that its program gives back. Unknown ones are no error."""
        for kind in (TokenKind.REFRESH, TokenKind.ACCESS):
            found = self._find(token, kind)
            if found is not None and found[1].client_id == client_id:
                with contextlib.suppress(GrantNotFound):  # somebody else was faster
                    self._rows.revoke(found[1].user_id, found[1].id)

    def _find(self, secret: str, kind: TokenKind) -> tuple[Token, Grant, ApiKey] | None:
        if len(secret) > _MAX_TOKEN_CHARS or not secret.startswith(_PREFIX_OF[kind]):
            return None
        return self._rows.find(hash_of(secret), kind)

    def _found(self, secret: str, kind: TokenKind, client_id: str) -> tuple[Token, Grant]:
        found = self._find(secret, kind)
        if found is None or found[1].client_id != client_id or not _is_good(*found, self._clock()):
            raise _invalid_grant()
        return found[:2]

    def _issue(self, used: Token, grant: Grant) -> Issued:
        now = self._clock()
        issued = {kind: _new_secret(kind) for kind in (TokenKind.ACCESS, TokenKind.REFRESH)}
        tokens = [
            _token(secret, kind, grant.user_id, grant.id, now) for kind, secret in issued.items()
        ]
        if not self._rows.exchange(used, tokens, now):
            raise _invalid_grant()
        return Issued(
            access=issued[TokenKind.ACCESS], refresh=issued[TokenKind.REFRESH], grant=grant
        )


def scopes_of(asked: str | None) -> tuple[AccessScope, ...]:
    """The scopes that a program asks for; all where it names none.

    Others than ours, such as ``offline_access``, are left out: tokens say what they are good for.
    Raises OAuthRefusal: none of them is ours.
    """
    known = {scope.value: scope for scope in AccessScope}
    if asked is None or not asked.split():
        return tuple(AccessScope)
    found = tuple(known[name] for name in dict.fromkeys(asked.split()) if name in known)
    if not found:
        raise OAuthRefusal("invalid_scope", f"allowed: {' '.join(known)}")
    return found


def checked_challenge(challenge: str | None, method: str | None) -> str:
    """The challenge of PKCE, which every program has to send. Raises OAuthRefusal: there is none,
    or it is not made with S256."""
    if method != "S256" or challenge is None or not _CHALLENGE.fullmatch(challenge):
        raise OAuthRefusal("invalid_request", "send a code_challenge made with S256")
    return challenge


def described_client(client_id: str, name: object, redirect_uris: object, now: datetime) -> Client:
    """A program as it says it is. Raises OAuthRefusal: something is missing or not allowed."""
    given = redirect_uris if isinstance(redirect_uris, list) else []
    if not 1 <= len(given) <= limits.MAX_REDIRECT_URIS:
        wanted = f"send 1 to {limits.MAX_REDIRECT_URIS} redirect_uris"
        raise OAuthRefusal("invalid_redirect_uri", wanted)
    for uri in given:
        check_redirect_uri(uri)
    shown = urlsplit(given[0]).hostname or given[0] if name is None else name
    try:
        called = checks.text("client_name", shown, limits.MAX_CLIENT_NAME_CHARS)
    except InvalidValue as problem:
        raise OAuthRefusal("invalid_client_metadata", str(problem)) from None
    if not called.isprintable():
        problem_text = "client_name must not contain control characters"
        raise OAuthRefusal("invalid_client_metadata", problem_text)
    return Client(
        id=client_id, name=called, redirect_uris=tuple(dict.fromkeys(given)), created_at=now
    )


def check_redirect_uri(uri: object) -> None:
    """Refuse an address that no code may be sent to.

    Allowed: https; http on this very machine, for programs there; and schemes of programs: with a
    dot, as RFC 8252 has it, or of well-known editors. Raises OAuthRefusal: it is another.
    """
    parts = _split(uri)
    if parts is not None and not parts.fragment:
        scheme = parts.scheme
        if scheme == "https" and parts.hostname:
            return
        if scheme == "http" and _is_this_machine(parts):
            return
        if _PRIVATE_SCHEME.fullmatch(scheme) or scheme in _KNOWN_SCHEMES:
            return
    raise OAuthRefusal(
        "invalid_redirect_uri",
        "allowed: https://…, http://127.0.0.1:PORT/…, and the scheme of a program such as"
        " com.example.app:/…",
    )


def is_redirect_of(client: Client, uri: str) -> bool:
    """Whether a program may be answered at an address: exactly one that it named, but on this very
    machine at any port (RFC 8252, 7.3)."""
    if uri in client.redirect_uris:
        return True
    parts = _split(uri)
    if parts is None or parts.scheme != "http" or not _is_this_machine(parts):
        return False
    return any(
        known is not None
        and known.scheme == "http"
        and _without_port(known) == _without_port(parts)
        for known in map(_split, client.redirect_uris)
    )


def _without_port(parts: SplitResult) -> tuple[str | None, str, str, str]:
    return parts.hostname, parts.path, parts.query, parts.fragment


def _split(uri: object) -> SplitResult | None:
    """The parts of an address that is fit to be sent in a header."""
    if not isinstance(uri, str) or len(uri) > limits.MAX_URL_CHARS:
        return None
    if not uri.isascii() or not uri.isprintable() or set(uri) & set(' "<>\\^`{|}'):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts if _HOST.fullmatch(parts.netloc) else None


def _is_this_machine(parts: SplitResult) -> bool:
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _is_good(token: Token, grant: Grant, key: ApiKey, now: datetime) -> bool:
    """Whether a token may be used; of one that was used, the second use has to be noticed."""
    return token.expires_at > now and token.grant_id == grant.id and key.is_live(now)


def _invalid_grant() -> OAuthRefusal:
    """The same for whatever is wrong with a code or token, so that it reveals nothing."""
    return OAuthRefusal(
        "invalid_grant",
        "it is unknown, was used before, has expired or was revoked, or is of another program,"
        " address or secret",
    )


def _new_secret(kind: TokenKind) -> str:
    return _PREFIX_OF[kind] + secrets.token_urlsafe(_TOKEN_BYTES)


def _token(
    secret: str,
    kind: TokenKind,
    user: str,
    grant_id: str,
    now: datetime,
    *,
    redirect_uri: str | None = None,
    challenge: str | None = None,
) -> Token:
    return Token(
        hash=hash_of(secret),
        user_id=user,
        grant_id=grant_id,
        kind=kind,
        created_at=now,
        expires_at=now + _LIFE[kind],
        redirect_uri=redirect_uri,
        challenge=challenge,
    )
