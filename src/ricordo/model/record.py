"""Values of the model as JSON, and pages of them."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Generic, TypeVar

from ricordo import limits
from ricordo.errors import InvalidCursor, InvalidValue
from ricordo.frozen import dataclass
from ricordo.model.checks import format_moment, parse_moment


class Record:
    """A frozen dataclass that can be shown as a JSON-ready object."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field by name; times as ISO 8601 with offset."""
        return {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}  # type: ignore[arg-type]


def plain(value: object) -> object:
    """A value of the model as JSON."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, datetime):
        return format_moment(value)
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: plain(entry) for name, entry in value.items()}
    return value


Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Page(Record, Generic[Entry]):
    """Some entries, and where to go on; ``next_cursor`` is None on the last page."""

    items: tuple[Entry, ...]
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def encode_cursor(kind: str, position: list[Any]) -> str:
    """An opaque cursor for a position. ``kind`` names the list and its order."""
    packed = json.dumps([kind, *position], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(packed.encode("utf-8")).decode("ascii").rstrip("=")


def decode_cursor(kind: str, cursor: str, types: tuple[type | tuple[type, ...], ...]) -> list[Any]:
    """Decode a cursor of the expected kind and shape. Raises InvalidCursor: garbled, or given out
    by a call with another order."""
    if not isinstance(cursor, str) or len(cursor) > limits.MAX_CURSOR_CHARS:
        raise InvalidCursor("cursor is not one that this call gave out")
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        unpacked = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeError, binascii.Error, ValueError, RecursionError):
        raise InvalidCursor("cursor is not one that this call gave out") from None
    if not isinstance(unpacked, list) or unpacked[:1] != [kind]:
        raise InvalidCursor("cursor belongs to a list in another order; start from the beginning")
    position = unpacked[1:]
    if len(position) != len(types) or not all(map(_fits, position, types)):
        raise InvalidCursor("cursor is not one that this call gave out")
    return position


def cursor_moment(text: str) -> datetime:
    """Parse a time from a cursor. Raises InvalidCursor: it is not a time."""
    try:
        return parse_moment("cursor", text)
    except InvalidValue:
        raise InvalidCursor("cursor is not one that this call gave out") from None


def _fits(value: object, wanted: type | tuple[type, ...]) -> bool:
    """True where a value has the wanted type and both databases can compare it."""
    allowed = wanted if isinstance(wanted, tuple) else (wanted,)
    if type(value) not in allowed:
        return False
    if isinstance(value, int):
        return abs(value) <= limits.MAX_ID
    if isinstance(value, str):
        return _is_storable(value)
    return True


def _is_storable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\x00" not in value
