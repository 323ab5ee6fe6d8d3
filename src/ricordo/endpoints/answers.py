"""What an endpoint answered: read within limits, distrusted, and told to people in one line.

What is wrong is raised as an error of the caller's, who gives its class.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ricordo.endpoints.timing import Deadline

ErrorOf = Callable[[str], Exception]
"""Makes the error to raise of what is wrong."""

_MAX_SAID_CHARS: Final = 300


def check_not_compressed(encoding: str | None, error: ErrorOf) -> None:
    """A little that unpacks to a lot would get around every limit; it is not asked for."""
    if encoding is not None and encoding.lower() != "identity":
        raise error("the answer is compressed, which was not asked for")


def bounded(
    parts: Iterable[bytes],
    *,
    max_bytes: int,
    deadline: Deadline,
    too_large: ErrorOf,
    too_late: ErrorOf,
) -> Iterator[bytes]:
    """The parts of a body, as long as they are within its limits in size and time."""
    size = 0
    for part in parts:
        size += len(part)
        if size > max_bytes:
            raise too_large(f"the answer is larger than {max_bytes} bytes")
        if deadline.has_passed:
            raise too_late("the answer did not end in time")
        yield part


def read_json(content: bytes, error: ErrorOf) -> Any:
    """The value of a body that must be JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        what = "an HTML page" if _looks_like_html(content) else "not JSON"
        raise error(f"the answer is {what}; is base_url right?") from None


def may_pass(status: int, content: bytes) -> bool:
    """Whether the same request may go well later, given the status of an answer that did not."""
    if status == 429:
        return not _says_quota_is_used_up(content)
    # 501 is what llama.cpp says to what it was not started for.
    return status == 408 or (status >= 500 and status != 501)


def said(content: bytes, secret: str | None) -> str:
    """What an endpoint says is wrong, in one line and without the key."""
    text = content[: 8 * _MAX_SAID_CHARS].decode("utf-8", "replace")
    try:
        found = _message_in(json.loads(content)) or text
    except (ValueError, RecursionError):
        found = "an HTML page" if _looks_like_html(content) else text
    return one_line(found, secret)


def one_line(text: str, secret: str | None) -> str:
    """A message fit to be shown: short, printable, without the key."""
    shown = text.replace(secret, "[key]") if secret else text
    line = " ".join("".join(c if c.isprintable() else " " for c in shown).split())
    return line[:_MAX_SAID_CHARS].rstrip() or "no explanation"


def _says_quota_is_used_up(content: bytes) -> bool:
    """Whether a "too many requests" will not go away by waiting."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return False
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and "insufficient_quota" in (
        error.get("code"),
        error.get("type"),
    )


def _message_in(body: Any) -> str | None:
    """``{"error": {"message": …}}`` and what others made of it."""
    if isinstance(body, list) and body:
        body = body[0]
    for name in ("error", "message", "detail"):
        found = body.get(name) if isinstance(body, dict) else None
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str) and found.strip():
            return found
    return None


def _looks_like_html(content: bytes) -> bool:
    start = content[:200].lstrip().lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))
