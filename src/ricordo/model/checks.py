"""Validation of outside values: each function returns the clean value or raises InvalidValue."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ricordo import limits
from ricordo.errors import InvalidValue, UnknownField
from ricordo.model.vocabulary import GENERAL_THEME, GLOBAL_OWNER
from ricordo.text.normalise import slug

_ALLOWED = "an ISO 8601 time such as 2026-01-31T12:00:00+00:00, or a date"


def parse_moment(field: str, value: datetime | date | str) -> datetime:
    """Parse a caller's time as UTC.

    Text without an offset, and dates, are taken as UTC. A naive ``datetime`` is refused, because it
    usually means local time. Raises InvalidValue: not a time, or outside the years 1 to 9999.
    """
    if isinstance(value, str):
        parsed = _from_text(field, value)
    elif isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidValue(field, "a datetime needs a time zone, e.g. datetime.now(UTC)")
        parsed = value
    elif isinstance(value, date):
        parsed = datetime(value.year, value.month, value.day, tzinfo=UTC)
    else:
        raise InvalidValue(field, f"expected {_ALLOWED}, got {type(value).__name__}")
    try:
        return parsed.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(field, "is outside the years 1 to 9999") from None


def _from_text(field: str, value: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidValue(field, f"expected {_ALLOWED}, got {value!r:.40}") from None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def format_moment(moment: datetime) -> str:
    """Fixed-width ISO text, which sorts by time."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")


# An escaped NUL, not one whose backslash is itself escaped.
_ENCODED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

Choice = TypeVar("Choice", bound=StrEnum)


def text(field: str, value: object, maximum: int) -> str:
    """A trimmed text of 1 to ``maximum`` characters that both databases can store."""
    trimmed = _storable(field, value).strip()
    if not trimmed:
        raise InvalidValue(field, f"must not be empty; allowed: 1 to {maximum} characters")
    return within(field, trimmed, maximum)


def optional_text(field: str, value: object, maximum: int) -> str | None:
    """Like :func:`text`; None and blank text mean "not given"."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return text(field, value, maximum)


def reference(field: str, value: object) -> str:
    """An outside identifier, kept exactly, so that similar ones are not mixed up."""
    stored = within(field, _storable(field, value), limits.MAX_REFERENCE_CHARS)
    if not stored or stored != stored.strip():
        raise InvalidValue(field, "must not be empty or have space at either end")
    if not stored.isprintable():
        raise InvalidValue(field, "must not contain control characters")
    return stored


def optional_reference(field: str, value: object) -> str | None:
    """Like :func:`reference`, passing None through."""
    return None if value is None else reference(field, value)


def user_id(value: object) -> str:
    """A user's name; what begins with ``*`` is reserved for global memories and for groups."""
    checked = reference("user_id", value)
    if checked.startswith(GLOBAL_OWNER):
        raise InvalidValue(
            "user_id",
            f"what begins with {GLOBAL_OWNER!r} is reserved for global memories and groups",
        )
    return checked


def choice(field: str, value: Any, allowed: type[Choice]) -> Choice:
    try:
        return allowed(value)
    except ValueError:
        names = ", ".join(member.value for member in allowed)
        raise InvalidValue(field, f"{shown(value)} is not one of: {names}") from None


def choices(field: str, value: object, allowed: type[Choice]) -> tuple[Choice, ...]:
    """One member or several; never none, because an empty filter would match nothing."""
    return tuple(choice(field, entry, allowed) for entry in one_or_several(field, value))


def integer(field: str, value: object, low: int, high: int) -> int:
    """An integer in a range. True and 1.0 are refused: they are usually mistakes."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidValue(field, f"{shown(value)} is not a whole number from {low} to {high}")
    return value


def optional_integer(field: str, value: object, low: int, high: int) -> int | None:
    """Like :func:`integer`, passing None through."""
    return None if value is None else integer(field, value, low, high)


def number(field: str, value: object, low: float, high: float) -> float:
    """A number in a range; never NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidValue(field, f"{shown(value)} is not a number from {low:g} to {high:g}")
    return float(value)


def question(field: str, value: object) -> str:
    """A query: any text, also an empty one."""
    return within(field, _storable(field, value).strip(), limits.MAX_QUERY_CHARS)


def memory_id(value: object) -> int:
    return integer("id", value, 1, limits.MAX_ID)


def flag(field: str, value: object) -> bool:
    """A bool, not merely something truthy."""
    if not isinstance(value, bool):
        raise InvalidValue(field, f"{shown(value)} is not true or false")
    return value


def optional_moment(field: str, value: datetime | date | str | None) -> datetime | None:
    """Like :func:`parse_moment`, passing None through."""
    return None if value is None else parse_moment(field, value)


def tags(value: object) -> tuple[str, ...]:
    """A list of distinct, trimmed tags in the order given."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise InvalidValue("tags", f"expected a list of texts, got {shown(value)}")
    checked = dict.fromkeys(text("tags", entry, limits.MAX_TAG_CHARS) for entry in value)
    if len(checked) > limits.MAX_TAGS:
        raise InvalidValue("tags", f"{len(checked)} tags; allowed: at most {limits.MAX_TAGS}")
    return tuple(checked)


def texts(field: str, value: object, maximum: int) -> tuple[str, ...]:
    """One text or several, each of 1 to ``maximum`` characters."""
    return tuple(text(field, entry, maximum) for entry in one_or_several(field, value))


def json_object(field: str, value: object, maximum_bytes: int) -> dict[str, Any]:
    """A JSON object of bounded size."""
    if not isinstance(value, Mapping):
        raise InvalidValue(field, f"expected an object, got {shown(value)}")
    return dict(json.loads(_as_json(field, dict(value), maximum_bytes)))


def json_list(field: str, value: object, maximum_bytes: int) -> list[Any]:
    """A JSON array of bounded size."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise InvalidValue(field, f"expected a list, got {shown(value)}")
    return list(json.loads(_as_json(field, list(value), maximum_bytes)))


def path(field: str, value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value) or "\x00" in str(value):
        raise InvalidValue(field, f"{shown(value)} is not the path of a file")
    return Path(_storable(field, str(value)))


def entries(field: str, value: object, maximum: int) -> list[Any]:
    """A list of at most so many entries; does not read further."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise InvalidValue(field, f"expected a list, got {type(value).__name__}")
    found = list(islice(value, maximum + 1))
    if len(found) > maximum:
        raise InvalidValue(field, f"more than {maximum} entries, the most allowed")
    return found


def known_fields(what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Refuse unknown names. Raises UnknownField: lists the unknown names and the allowed ones."""
    allowed_names = allowed if isinstance(allowed, frozenset) else frozenset(allowed)
    unknown = [str(name) for name in given if name not in allowed_names]
    if unknown:
        raise UnknownField(what, unknown, allowed_names)


def one_or_several(field: str, value: object) -> tuple[object, ...]:
    """One value or several; never none, because an empty filter would match nothing."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return (value,)
    entries = tuple(value)
    if not 1 <= len(entries) <= limits.MAX_FILTER_VALUES:
        raise InvalidValue(
            field, f"{len(entries)} values; allowed: 1 to {limits.MAX_FILTER_VALUES}"
        )
    return entries


def _storable(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue(field, f"expected text, got {type(value).__name__}")
    if "\x00" in value:
        raise InvalidValue(field, "must not contain NUL characters")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidValue(field, "is not valid Unicode (lone surrogates)") from None
    return value


def within(field: str, value: str, maximum: int) -> str:
    """A text of at most so many characters."""
    if len(value) > maximum:
        raise InvalidValue(field, f"{len(value)} characters; allowed: at most {maximum}")
    return value


def _as_json(field: str, value: object, maximum_bytes: int) -> str:
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(encoded.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidValue(field, f"cannot be stored as JSON: {problem}") from None
    if _ENCODED_NUL.search(encoded):
        raise InvalidValue(field, "must not contain NUL characters")
    if size > maximum_bytes:
        raise InvalidValue(field, f"{size} bytes as JSON; allowed: at most {maximum_bytes}")
    return encoded


def shown(value: object) -> str:
    """A value in an error message, cut where it is long."""
    try:
        rendered = repr(value)
    except (ValueError, RecursionError):  # an endless number; lists in lists in lists
        rendered = f"this {type(value).__name__}"
    return rendered if len(rendered) <= 60 else f"{rendered[:57]}..."


def theme_slug(value: object) -> str:
    """The slug of a theme; without a name ``general``. Raises InvalidValue: too long, or without
    any letter or digit."""
    name = optional_text("theme", value, limits.MAX_THEME_CHARS)
    if name is None:
        return GENERAL_THEME
    made = slug(name)
    if not made or len(made) > limits.MAX_THEME_CHARS:
        raise InvalidValue("theme", f"{name!r} has no letters or digits to make a name of")
    return made


def category_slugs(given: object) -> frozenset[str]:
    """The slugs of one or several categories. Empty means no category, not all. Raises
    InvalidValue: one of them cannot be a name, or there are too many."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        named = entries("categories", given, limits.MAX_FILTER_VALUES)
    else:
        named = [given]
    return frozenset(theme_slug(text("categories", name, limits.MAX_THEME_CHARS)) for name in named)
