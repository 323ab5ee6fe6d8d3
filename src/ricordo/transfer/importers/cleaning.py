"""Making foreign values storable: what cannot be kept is replaced, shortened or left out.

The checks of the model refuse such values, which is right for callers but would lose a whole
export for one stray character in it.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.checks import parse_moment, theme_slug

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"


def text(value: object) -> str:
    """Trimmed text without NUL characters and lone surrogates; empty for anything but text."""
    if not isinstance(value, str):
        return ""
    return _LONE_SURROGATE.sub(_REPLACEMENT, value.replace("\x00", "")).strip()


def title(value: object) -> str | None:
    """A title in one line, cut to what a thread can have."""
    line = " ".join(text(value).split())
    return line[: limits.MAX_THREAD_TITLE_CHARS].rstrip() or None


def theme(value: object) -> str | None:
    """The slug of a theme, or None where nothing can be made of it."""
    try:
        return theme_slug(text(value))
    except InvalidValue:
        return None


def tags(values: Iterable[object]) -> tuple[str, ...]:
    """Those that can be tags, as many as a memory may have."""
    cleaned = dict.fromkeys(text(value) for value in values)
    fitting = [tag for tag in cleaned if 0 < len(tag) <= limits.MAX_TAG_CHARS]
    return tuple(fitting[: limits.MAX_TAGS])


def reference(value: object) -> str | None:
    """A foreign identifier, or None where it could not be stored exactly as it is."""
    try:
        return checks.optional_reference("reference", value)
    except InvalidValue:
        return None


def thread_id(system: str, value: object) -> str | None:
    """What a conversation of another system is called here, or None without a usable id."""
    return reference(f"{system}:{value}") if isinstance(value, str) and value else None


def moment(value: object) -> datetime | None:
    """A time given as ISO 8601 or in seconds since 1970; None where it is neither."""
    try:
        if isinstance(value, str):
            return parse_moment("time", value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
