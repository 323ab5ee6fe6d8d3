"""The request that is being answered, known wherever work is done for it."""

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from ricordo.limits import MAX_REQUEST_ID_CHARS

_ALLOWED: Final = re.compile(rf"[A-Za-z0-9._-]{{1,{MAX_REQUEST_ID_CHARS}}}")


@dataclass(slots=True)
class CurrentRequest:
    """A request as logs tell of it. ``key_id`` is there once its key is known, ``error`` once it
    was answered with one."""

    id: str
    key_id: str | None = None
    error: Exception | None = None


current_request: Final[ContextVar[CurrentRequest | None]] = ContextVar(
    "ricordo_request", default=None
)


def new_request_id(given: str | None) -> str:
    """The caller's own id where it can stand in a log and a header, else a new one."""
    if given is not None and _ALLOWED.fullmatch(given):
        return given
    return secrets.token_hex(16)


def request_id() -> str | None:
    """The id of the request that is being answered, if any is."""
    request = current_request.get()
    return None if request is None else request.id


def note_key(key_id: str) -> None:
    """Whoever found out which key a request comes with says so, for its log line and its span."""
    request = current_request.get()
    if request is not None:
        request.key_id = key_id


def note_error(error: Exception) -> None:
    """Whoever answers an error with a problem says so, for its log line."""
    request = current_request.get()
    if request is not None:
        request.error = error
