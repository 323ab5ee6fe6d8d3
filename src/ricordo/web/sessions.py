"""Who is signed in, as a cookie of the browser: sealed, so that nobody can read or make one.

What a cookie says is checked anew with each request, in any process of the service: a key that was
revoked lets nobody in any more, nor does a session that was signed out of.
"""

import json
import logging
import secrets
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from cryptography.fernet import Fernet, InvalidToken
from starlette.requests import Request
from starlette.responses import Response

from ricordo.errors import EmbedderRefused, in_log
from ricordo.providers.encryption import SecretBox
from ricordo.settings import Settings

_PURPOSE: Final = "ricordo web session"
_TOKEN_BYTES: Final = 24
_SECONDS_PER_HOUR: Final = 3_600
PATH: Final = "/ui"
"""Below it the browser sends the cookie; never to the API, which takes keys only."""

_log = logging.getLogger(__name__)


def _new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the browser brings along.

    ``id`` stays the same however often its cookie is renewed. ``key_id`` is the key that somebody
    signed in with, ``user`` whose memory they look at. ``token`` has to come back with every form:
    only pages of this session know it. ``notice`` is shown once; it never quotes what is
    remembered. ``began_at`` is when its first cookie was made, in seconds; None before that.
    However often a cookie is renewed, it ends when it was to end.
    """

    id: str = field(default_factory=_new_token)
    key_id: str | None = None
    user: str | None = None
    notice: str | None = None
    token: str = field(default_factory=_new_token, repr=False)
    began_at: int | None = None

    def signed_in(self, key_id: str) -> Self:
        """A session of its own for a key: nothing of what was before it counts."""
        return type(self)(key_id=key_id)

    def looking_at(self, user: str | None) -> Self:
        """The same session with another user. Pages that are still open show the one before, so
        that their forms are no longer good."""
        return replace(self, user=user, token=_new_token())

    def noting(self, notice: str | None) -> Self:
        """The same session with something to say on the next page."""
        return replace(self, notice=notice)


_KEPT: Final = ("id", "key_id", "user", "notice", "token")


class SessionCookies:
    """Puts sessions into cookies and reads them again."""

    def __init__(self, secret: SecretBox, settings: Settings) -> None:
        self._seconds = settings.page_session_hours * _SECONDS_PER_HOUR
        self._fernet = Fernet(_key_from(secret))

    def read(self, request: Request) -> Session | None:
        """The session of a request; None where there is none that is ours and still good."""
        sealed = request.cookies.get(_name(request))
        if not sealed:
            return None
        try:
            opened = self._fernet.decrypt(sealed.encode("utf-8"), ttl=self._seconds)
            began_at = self._fernet.extract_timestamp(sealed)
        except (InvalidToken, UnicodeError):
            return None
        values: dict[str, Any] = json.loads(opened)
        if "id" not in values:  # of a release whose sessions could not be ended
            return None
        # A cookie of another release may have more, or less.
        known = {name: values[name] for name in _KEPT if name in values}
        return Session(**known, began_at=began_at)

    def put(self, request: Request, response: Response, session: Session) -> None:
        """Let the browser keep a session."""
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
        """When the cookie of a session is no longer good, however it was copied."""
        began_at = int(time.time()) if session.began_at is None else session.began_at
        return datetime.fromtimestamp(began_at + self._seconds, UTC)

    def drop(self, request: Request, response: Response) -> None:
        """Let the browser forget its session."""
        response.delete_cookie(
            _name(request),
            path=PATH,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )


def _name(request: Request) -> str:
    """The name of the cookie: browsers share cookies between the ports of one machine."""
    port = request.url.port
    return "ricordo_session" if port is None else f"ricordo_session_{port}"


def _key_from(secret: SecretBox) -> bytes:
    """The key of all processes of this store; where it cannot be kept, one of this process."""
    try:
        return secret.key_for(_PURPOSE)
    except EmbedderRefused as problem:
        _log.warning(
            "sessions of the web page end with this process (setting secret_key): %s",
            in_log(problem),
        )
        return Fernet.generate_key()
