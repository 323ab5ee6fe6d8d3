"""JSON that is changed at one place and stays as it is, byte for byte, everywhere else.

Reading and writing a document anew would keep its values at best: numbers change their form,
doubled names vanish, white space and escapes go. So nothing is written anew here; what is added is
put between the characters that are there.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_SPACE = re.compile(r"[ \t\n\r]*")
_SPACE_BYTES: Final = b" \t\n\r"
_MOST_DIGITS: Final = 1_000  # of a whole number that is read as one


@dataclass(frozen=True, slots=True)
class Span:
    """A value, and where it stands in the text."""

    start: int
    end: int
    value: object


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The text of a JSON object, and where its members are; of those with one name, the last."""

    text: str
    members: Mapping[str, Span]

    @classmethod
    def read(cls, body: bytes) -> "JsonObject | None":
        """The object that a body holds; None where it is anything else."""
        try:
            text = body.decode("utf-8")
            return cls(text, _members(text))
        except (ValueError, RecursionError):
            return None

    def value(self, name: str) -> object:
        """The value of a member; None where there is none."""
        span = self.members.get(name)
        return None if span is None else span.value

    def raw(self, span: Span) -> str:
        """A value as it was written."""
        return self.text[span.start : span.end]

    def elements(self, span: Span) -> Iterator[Span]:
        """The entries of a list, one after the other."""
        at = _after_space(self.text, span.start + 1)
        while self.text[at] != "]":
            entry = _read(self.text, at)
            yield entry
            at = _after_space(self.text, entry.end)
            if self.text[at] == ",":
                at = _after_space(self.text, at + 1)

    def with_inserted(self, at: int, new: str) -> str:
        """The text with something more in it."""
        return self.text[:at] + new + self.text[at:]

    def with_replaced(self, span: Span, new: str) -> str:
        """The text with another value in the place of one."""
        return self.text[: span.start] + new + self.text[span.end :]

    def with_first(self, name: str, new: str) -> str:
        """The text with one more member, before all others."""
        comma = "," if self.members else ""
        return self.with_inserted(self.text.index("{") + 1, f"{dumped(name)}:{new}{comma}")


def read_object(body: bytes) -> dict[str, object] | None:
    """The values of a JSON object; None where a body is anything else."""
    try:
        found = _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def with_last(body: bytes, name: str, new: str) -> bytes:
    """The text of a JSON object with one more member, after all others."""
    end = body.rindex(b"}")
    is_empty = body[:end].rstrip(_SPACE_BYTES).endswith(b"{")
    added = f"{'' if is_empty else ','}{dumped(name)}:{new}"
    return body[:end] + added.encode("utf-8") + body[end:]


def dumped(value: object) -> str:
    """A value as compact JSON; what cannot be UTF-8 is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def _whole_number(digits: str) -> int | str:
    """A number, or its text where it is so long that Python would refuse or take its time."""
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _broken_number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


_DECODER: Final = json.JSONDecoder(
    parse_int=_whole_number, parse_float=_broken_number, parse_constant=str
)


def _members(text: str) -> dict[str, Span]:
    """The members of the one object that a text is.

    Raises:
        ValueError: it is no JSON object.
    """
    at = _after_space(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("not an object")
    found: dict[str, Span] = {}
    at = _after_space(text, at + 1)
    if text[at : at + 1] != "}":
        at = _read_members(text, at, found)
    if _after_space(text, at + 1) != len(text):
        raise ValueError("something after the object")
    return found


def _read_members(text: str, at: int, found: dict[str, Span]) -> int:
    """Read members up to the closing brace; where that is."""
    while True:
        if text[at : at + 1] != '"':
            raise ValueError("no name")
        name = _read(text, at)
        at = _after_space(text, name.end)
        if text[at : at + 1] != ":":
            raise ValueError("no value")
        value = _read(text, _after_space(text, at + 1))
        found[str(name.value)] = value
        at = _after_space(text, value.end)
        if text[at : at + 1] == "}":
            return at
        if text[at : at + 1] != ",":
            raise ValueError("no end")
        at = _after_space(text, at + 1)


def _read(text: str, at: int) -> Span:
    value, end = _DECODER.raw_decode(text, at)
    return Span(at, end, value)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
