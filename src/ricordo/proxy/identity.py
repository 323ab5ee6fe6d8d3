"""For whom a chat is, and which conversation it belongs to."""

import hashlib
from collections.abc import Mapping
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.model import checks

THREAD_HEADERS: Final = ("x-ricordo-thread", "x-openwebui-chat-id")
_DIGITS: Final = 16


def user_in_body(named: str | None) -> str | None:
    """The user that the body of a request names; None for nobody, which means without memory.

    What it says may be meant for the upstream's own purposes, so a name there that nobody can have
    is no error.
    """
    try:
        return checks.user_id(named) if named else None
    except InvalidValue:
        return None


def thread_of(headers: Mapping[str, str], first_message: str) -> str | None:
    """The conversation that a request goes on with.

    Where no header names it, it is told by what the user said first, which all requests of a
    conversation have in common; None where there is nothing to tell it by.

    Raises:
        InvalidValue: a header has a name that no conversation can have.
    """
    named = _first(headers, THREAD_HEADERS)
    if named is not None:
        return checks.reference("thread", named)
    said = first_message.strip()
    if not said:
        return None
    digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()
    return f"chat-{digest[:_DIGITS]}"


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The first of some headers that says anything; its bytes are UTF-8 where they are no ASCII."""
    given = {name.lower(): value for name, value in headers.items()}
    for name in names:
        value = given.get(name, "").strip()
        if value:
            try:
                return value.encode("latin-1").decode("utf-8")
            except UnicodeError:
                return value
    return None
