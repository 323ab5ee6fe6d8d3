"""Sessions of the web page, in encrypted cookies.

Each request checks the cookie again, in any process: a revoked key or a signed-out session is
refused at once.
"""

import json
import logging
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Self

from cryptography.fernet import Fernet, InvalidToken
from starlette.requests import Request
from starlette.responses import Response

from ricordo.errors import EmbedderRefused, in_log
from ricordo.frozen import dataclass, field, replace
from ricordo.providers.encryption import SecretBox
from ricordo.settings import Settings

_TOKEN_BYTES: Final = 24
PATH: Final = "/ui"
"""Cookies are sent below this path only, never to the API, which takes keys."""

_log = logging.getLogger(__name__)
_KEPT: Final = ("id", "key_id", "user", "notice", "reverse", "token")


def _new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


class Reverse(NamedTuple):
    """A form that takes back what was just done: where it goes, and its fields."""

    path: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The content of the cookie.

    ``id`` stays the same when the cookie is renewed, and so does the time when it expires. ``user``
    is the user whose memory is shown. ``token`` is the CSRF token. ``notice`` is shown once, with a
    button for ``reverse``, and neither quotes a memory. ``began_at`` is in seconds; None before the
    first cookie.
    """

    id: str = field(default_factory=_new_token)
    key_id: str | None = None
    user: str | None = None
    notice: str | None = None
    reverse: Reverse | None = None
    token: str = field(default_factory=_new_token, repr=False)
    began_at: int | None = None

    def signed_in(self, key_id: str) -> Self:
        """A new session for a key: nothing carries over."""
        return type(self)(key_id=key_id)

    def with_user(self, user: str | None) -> Self:
        """The session with another user and a new token, so that forms on pages of the former user
        expire."""
        return replace(self, user=user, notice=None, reverse=None, token=_new_token())

    def with_notice(self, notice: str | None, reverse: Reverse | None = None) -> Self:
        return replace(self, notice=notice, reverse=reverse)


class SessionCookies:
    def __init__(self, secret: SecretBox, settings: Settings) -> None:
        self._seconds = settings.page_session_hours * 3_600
        self._fernet = Fernet(_key_from(secret))

    def read(self, request: Request) -> Session | None:
        """The session of a request; None where there is no valid one."""
        sealed = request.cookies.get(_name(request))
        if not sealed:
            return None
        try:
            opened = self._fernet.decrypt(sealed.encode("utf-8"), ttl=self._seconds)
            began_at = self._fernet.extract_timestamp(sealed)
        except (InvalidToken, UnicodeError):
            return None
        values: dict[str, Any] = json.loads(opened)
        if "id" not in values:  # of an old release whose sessions could not be ended
            return None
        # A cookie of another release may have other fields.
        known = {name: values[name] for name in _KEPT if name in values}
        if known.get("reverse") is not None:
            known["reverse"] = Reverse(*known["reverse"])
        return Session(**known, began_at=began_at)

    def put(self, request: Request, response: Response, session: Session) -> None:
        values = {name: getattr(session, name) for name in _KEPT}
        now = int(time.time())
        began_at = session.began_at or now
        sealed = self._fernet.encrypt_at_time(json.dumps(values).encode("utf-8"), began_at)
        response.set_cookie(
            _name(request),
            sealed.decode("ascii"),
            max_age=max(0, began_at + self._seconds - now),
            path=PATH,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )

    def ends_at(self, session: Session) -> datetime:
        """When the session expires, also for copies of its cookie."""
        began_at = int(time.time()) if session.began_at is None else session.began_at
        return datetime.fromtimestamp(began_at + self._seconds, UTC)

    def drop(self, request: Request, response: Response) -> None:
        response.delete_cookie(
            _name(request),
            path=PATH,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )


def _name(request: Request) -> str:
    """The cookie name, per port: browsers share cookies between the ports of one machine."""
    port = request.url.port
    return "ricordo_session" if port is None else f"ricordo_session_{port}"


def _key_from(secret: SecretBox) -> bytes:
    """The key shared by all processes; where it cannot be stored, a key of this process."""
    try:
        return secret.key_for("ricordo web session")
    except EmbedderRefused as problem:
        _log.warning(
            "sessions of the web page end with this process (setting secret_key): %s",
            in_log(problem),
        )
        return Fernet.generate_key()
