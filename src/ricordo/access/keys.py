"""API keys of the service: format, creation and validation."""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, Protocol

from ricordo import limits
from ricordo.clock import Clock
from ricordo.errors import InvalidValue, KeyNotFound, NotAuthenticated, StorageError, in_log
from ricordo.model import checks
from ricordo.model.checks import category_slugs
from ricordo.model.record import Page
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import KeyKind, Permission

PREFIX: Final = "rk_"
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_ID_CHARS: Final = 12
_RANDOM_CHARS: Final = 52  # of five bits each: more than 256
_SHAPE: Final = re.compile(
    rf"{PREFIX}([{_ALPHABET}]{{{_ID_CHARS}}})_[{_ALPHABET}]{{{_RANDOM_CHARS}}}", re.ASCII
)
_NOBODYS_HASH: Final = hashlib.sha256(b"").hexdigest()
"""The hash of no secret, since those are not empty."""


def new_id() -> str:
    return _random(_ID_CHARS)


def new_secret(key_id: str) -> str:
    """A whole new key, as callers send it."""
    return f"{PREFIX}{key_id}_{_random(_RANDOM_CHARS)}"


def hash_of(secret: str) -> str:
    """The stored hash of a key.

    A fast hash is right: slow ones protect guessable passwords, not 256 random bits, and every
    request would pay for it.
    """
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


def id_in(secret: object) -> str:
    """The id in a presented key. Raises NotAuthenticated: it cannot be a key of ours."""
    found = _SHAPE.fullmatch(secret) if isinstance(secret, str) else None
    if found is None:
        raise refused()
    return found.group(1)


def is_the_one(secret: str, kept_hash: str | None) -> bool:
    """Compare a key with a stored hash, in constant time also for None."""
    is_same = hmac.compare_digest(hash_of(secret), kept_hash or _NOBODYS_HASH)
    return is_same and kept_hash is not None


def refused() -> NotAuthenticated:
    """The same error for every invalid key, so that it reveals nothing."""
    return NotAuthenticated(
        "no valid key: it is missing or unknown, was revoked or has expired;"
        " `ricordo keys create` makes one"
    )


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


_log = logging.getLogger(__name__)
_USE: Final = timedelta(minutes=limits.KEY_USE_MINUTES)
_NOTED_KEYS: Final = 1_024


class KeyRows(Protocol):
    def insert(self, key: ApiKey, secret_hash: str) -> None: ...

    def find(self, key_id: str) -> tuple[ApiKey, str] | None: ...

    def page(
        self, user_id: str | None, include_revoked: bool, limit: int, cursor: str | None
    ) -> Page[ApiKey]: ...

    def revoke(self, key_id: str, now: datetime) -> ApiKey: ...

    def note_use(self, key_id: str, now: datetime) -> None: ...

    def has_live(self, now: datetime) -> bool: ...


class KeyRing:
    """The keys of one store. Thread-safe.

    Keys are looked up on every request, so that a revoked one is refused at once in every process.
    """

    def __init__(self, rows: KeyRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._noted: dict[str, datetime] = {}

    def create(
        self,
        name: str,
        *,
        user: str | None,
        agent: str | None,
        categories: Iterable[str] | str | None,
        permissions: Iterable[Permission | str] | Permission | str,
        expires_days: int | None,
    ) -> CreatedKey:
        """Create a key with its secret, which is not stored. Raises InvalidValue: a value is not
        allowed, or does not go with the others; Conflict: there are too many keys."""
        days = checks.optional_integer("expires_days", expires_days, 1, limits.MAX_KEY_DAYS)
        now = self._clock()
        key = ApiKey(
            id=new_id(),
            name=_name(name),
            kind=_kind(user, agent),
            user_id=None if user is None else checks.user_id(user),
            agent_id=checks.optional_reference("agent", agent),
            categories=_categories(categories, agent),
            permissions=_permissions(permissions, user, agent),
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
            revoked_at=None,
            last_used_at=None,
        )
        secret = new_secret(key.id)
        self._rows.insert(key, hash_of(secret))
        return CreatedKey(key=key, secret=secret)

    def page(
        self, user: str | None, include_revoked: bool, limit: int, cursor: str | None
    ) -> Page[ApiKey]:
        """Keys, the newest first; of one user or of all.

        Raises:
            InvalidValue, InvalidCursor.
        """
        whose = None if user is None else checks.user_id(user)
        revoked = checks.flag("include_revoked", include_revoked)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        return self._rows.page(whose, revoked, size, cursor)

    def get(self, key_id: str) -> ApiKey:
        """One key, also a revoked or expired one. Raises KeyNotFound: there is no such key."""
        found = self._rows.find(checks.reference("id", key_id))
        if found is None:
            raise KeyNotFound(key_id)
        return found[0]

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; idempotent. Raises KeyNotFound: there is no such key."""
        return self._rows.revoke(checks.reference("id", key_id), self._clock())

    def has_live(self) -> bool:
        return self._rows.has_live(self._clock())

    def authenticate(self, secret: str | None) -> ApiKey:
        """The key of a presented secret. Raises NotAuthenticated: it is missing, malformed,
        unknown, revoked or expired; which of these, the error does not tell."""
        found = self._rows.find(id_in(secret))
        key, kept_hash = (None, None) if found is None else found
        now = self._clock()
        if not is_the_one(str(secret), kept_hash) or key is None or not key.is_live(now):
            raise refused()
        if key.last_used_at is None or key.last_used_at <= now - _USE:
            self._note_use(key.id, now)
        return key

    def _note_use(self, key_id: str, now: datetime) -> None:
        """Record the use of a key, unless this process has just done so.

        A busy store delays at most one request, and refuses none.
        """
        noted = self._noted.get(key_id)
        if noted is not None and noted > now - _USE:
            return
        if len(self._noted) >= _NOTED_KEYS:
            self._noted.clear()
        self._noted[key_id] = now
        try:
            self._rows.note_use(key_id, now)
        except StorageError as problem:  # a good key stays good; it is noted another time
            _log.warning("when a key was last used is not noted: %s", in_log(problem))


def _name(given: object) -> str:
    name = checks.text("name", given, limits.MAX_KEY_NAME_CHARS)
    if not name.isprintable():
        raise InvalidValue("name", "must not contain control characters")
    return name


def _kind(user: str | None, agent: str | None) -> KeyKind:
    if agent is not None and user is None:
        raise InvalidValue("agent", "the key of an agent acts for one user: name the user, too")
    if agent is not None:
        return KeyKind.AGENT
    return KeyKind.SERVICE if user is None else KeyKind.USER


def _categories(given: Iterable[str] | str | None, agent: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if agent is None:
        raise InvalidValue("categories", "only the key of an agent has them: name the agent, too")
    slugs = category_slugs(given)
    if not slugs:
        raise InvalidValue("categories", "are none; allowed: at least one, or leave them out")
    return tuple(sorted(slugs))


def _permissions(
    given: Iterable[Permission | str] | Permission | str, user: str | None, agent: str | None
) -> tuple[Permission, ...]:
    wanted = () if not given else checks.choices("permissions", given, Permission)
    if agent is not None and set(wanted) - {Permission.SHARE}:
        raise InvalidValue("permissions", f"the key of an agent can only have {Permission.SHARE}")
    if wanted and user is not None and agent is None:
        raise InvalidValue(
            "permissions", "reach beyond one user: only a key without user and agent has them"
        )
    return tuple(sorted(set(wanted)))
