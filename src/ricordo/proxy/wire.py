"""What a wire format of chats has to tell the proxy. Each has a module of its own."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """The text of a message, and the tools that it calls."""

    role: str
    text: str
    calls: tuple[Mapping[str, Any], ...] = ()

    @property
    def says_anything(self) -> bool:
        """Whether there is anything to remember: not for pictures alone."""
        return bool(self.text.strip() or self.calls)


NOTHING_HEARD: Final = ChatMessage(ASSISTANT, "")
"""An answer that could not be read."""


def first_of_user(said: Sequence[ChatMessage]) -> str:
    """What the user said first; nothing where only others spoke."""
    return next((one.text for one in said if one.role == USER), "")


def last_of_user(said: Sequence[ChatMessage]) -> str:
    """What the user said last, also where tools have answered since."""
    return next((one.text for one in reversed(said) if one.role == USER), "")


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list from outside; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(content: object, *kinds: str) -> str:
    """The text of a message: all of it, or that of its parts of these kinds, a line each."""
    if isinstance(content, str):
        return content
    found = (part.get(kind) for part in objects(content) for kind in kinds if _is(part, kind))
    return joined([text for text in found if isinstance(text, str)])


def joined(texts: Sequence[str]) -> str:
    """Parts of a message as one text, like :func:`text_of` puts them together."""
    return "\n".join(texts)


def _is(part: Mapping[str, Any], kind: str) -> bool:
    return part.get("type") in (kind, f"input_{kind}", f"output_{kind}")


# Reading and writing a document anew would keep its values at best: numbers change their form,
# doubled names vanish, white space and escapes go. So nothing is written anew here; what is added
# is put between the characters that are there.

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


class StreamListener(Protocol):
    """Listens to the events of one streamed answer."""

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        ...

    def heard(self) -> ChatMessage:
        """What was said so far."""
        ...


class Wire(Protocol):
    """How requests and answers of one kind are read, and where memory is put into them.

    Nothing here raises for what a caller or an upstream sends: what is not understood is left as
    it is.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def path(self) -> str:
        """Where chats are posted, below the address of the upstream."""
        ...

    @property
    def models_path(self) -> str:
        """Where models are listed, below the address of the upstream."""
        ...

    def key_header(self, key: str) -> tuple[str, str]:
        """How a request to the upstream shows its key."""
        ...

    def user_in(self, request: JsonObject) -> str | None:
        """The user that the body names."""
        ...

    def said_in(self, request: JsonObject) -> list[ChatMessage]:
        """The messages of a request in order, without system prompts and what has no text."""
        ...

    def with_system(self, request: JsonObject, text: str) -> str:
        """The request with one more system text; the same where there is no place for it."""
        ...

    def may_carry(self, event: dict[str, Any]) -> bool | None:
        """Whether memories go into this event of a stream; None: perhaps into a later one."""
        ...

    def said_by(self, answer: dict[str, Any]) -> ChatMessage:
        """What an answer says that is not streamed."""
        ...

    def ear(self) -> StreamListener:
        """A listener for one streamed answer."""
        ...

    def error(self, status: int, message: str, code: str) -> bytes:
        """An error of ours in the form that clients of this wire format read."""
        ...


class TextBuffer:
    """Pieces of one text; what is beyond ``most`` characters is not kept."""

    __slots__ = ("_left", "_pieces")

    def __init__(self, most: int) -> None:
        self._left = most
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """Put one more at the end."""
        if piece and self._left > 0:
            self._pieces.append(piece[: self._left])
            self._left -= len(piece)

    def joined(self) -> str:
        """The text so far."""
        return "".join(self._pieces)
