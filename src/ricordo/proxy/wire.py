"""Chat wire formats: the interface that ``openai.py`` and ``anthropic.py`` implement."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from ricordo.frozen import dataclass
from ricordo.storage.upstream_ids import UpstreamId

USER: Final = "user"
ASSISTANT: Final = "assistant"
TOOL: Final = "tool"
_SPACE = re.compile(r"[ \t\n\r]*")
_SPACE_BYTES: Final = b" \t\n\r"
_MOST_DIGITS: Final = 1_000  # of an integer that is parsed as one


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str
    text: str
    calls: tuple[Mapping[str, Any], ...] = ()

    @property
    def has_content(self) -> bool:
        """Whether there is anything to store: not for images alone."""
        return bool(self.text.strip() or self.calls)


NO_MESSAGE: Final = ChatMessage(ASSISTANT, "")
"""An answer that could not be parsed."""


def first_of_user(messages: Sequence[ChatMessage]) -> str:
    return next((one.text for one in messages if one.role == USER), "")


def last_of_user(messages: Sequence[ChatMessage]) -> str:
    """The user's last message, also where tools have answered since."""
    return next((one.text for one in reversed(messages) if one.role == USER), "")


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in an untrusted list; none where it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(content: object, *kinds: str) -> str:
    """The text of a message, or of its parts of these kinds, joined by line breaks."""
    if isinstance(content, str):
        return content
    found = (
        part.get(kind)
        for part in objects(content)
        for kind in kinds
        if part.get("type") in (kind, f"input_{kind}", f"output_{kind}")
    )
    return joined([text for text in found if isinstance(text, str)])


def joined(texts: Sequence[str]) -> str:
    return "\n".join(texts)


@dataclass(frozen=True, slots=True)
class Span:
    """A value, and its position in the text."""

    start: int
    end: int
    value: object


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The text of a JSON object and the spans of its members.

    Serialising a document again would change number formats, duplicate names, white space and
    escapes. So changes are inserted into the original text. Of duplicate names the last counts.
    """

    text: str
    members: Mapping[str, Span]

    @classmethod
    def read(cls, body: bytes) -> "JsonObject | None":
        """The object in a body; None where it is anything else."""
        try:
            text = body.decode("utf-8")
            return cls(text, _members(text))
        except (ValueError, RecursionError):
            return None

    def value(self, name: str) -> object:
        span = self.members.get(name)
        return None if span is None else span.value

    def raw(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def elements(self, span: Span) -> Iterator[Span]:
        """The entries of a list."""
        at = _after_space(self.text, span.start + 1)
        while self.text[at] != "]":
            entry = _read(self.text, at)
            yield entry
            at = _after_space(self.text, entry.end)
            if self.text[at] == ",":
                at = _after_space(self.text, at + 1)

    def with_inserted(self, at: int, new: str) -> str:
        return self.text[:at] + new + self.text[at:]

    def with_replaced(self, span: Span, new: str) -> str:
        return self.text[: span.start] + new + self.text[span.end :]

    def with_first(self, name: str, new: str) -> str:
        """The text with one more member before all others."""
        comma = "," if self.members else ""
        return self.with_inserted(self.text.index("{") + 1, f"{dumped(name)}:{new}{comma}")


def read_object(body: bytes) -> dict[str, object] | None:
    """The values of a JSON object; None where a body is anything else."""
    try:
        found = _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def with_last(body: bytes, added: Mapping[str, str]) -> bytes:
    """The text of a JSON object with more members after all others; their values are JSON."""
    end = body.rindex(b"}")
    is_empty = body[:end].rstrip(_SPACE_BYTES).endswith(b"{")
    members = ",".join(f"{dumped(name)}:{new}" for name, new in added.items())
    return body[:end] + f"{'' if is_empty else ','}{members}".encode() + body[end:]


def with_last_in(body: bytes, member: str, added: Mapping[str, str]) -> bytes:
    """The same in the object of a member; unchanged where that is none."""
    read = JsonObject.read(body)
    span = None if read is None else read.members.get(member)
    if read is None or span is None or not isinstance(span.value, dict):
        return body
    inner = with_last(read.raw(span).encode("utf-8"), added)
    return read.with_replaced(span, inner.decode("utf-8")).encode("utf-8")


def dumped(value: object) -> str:
    """Compact JSON; what is not valid UTF-8 is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def _whole_number(digits: str) -> int | str:
    """An integer, or its text where it is too long for Python."""
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _decimal_number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


DECODING: Final[dict[str, Any]] = {
    "parse_int": _whole_number,
    "parse_float": _decimal_number,
    "parse_constant": str,
}
"""How JSON is read that need not be all valid."""
_DECODER: Final = json.JSONDecoder(**DECODING)


def _members(text: str) -> dict[str, Span]:
    """The members of a text that is one object.

    Raises:
        ValueError: it is not a JSON object.
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
    """Read members up to the closing brace, and return its position."""
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


@dataclass(frozen=True, slots=True)
class Carrier:
    """Where memories go in an event of a stream: into it, and into objects that are members of it.

    After the event that ``is_last`` none has a place for them.
    """

    event: bool = False
    members: tuple[str, ...] = ()
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class KeptState:
    """What the upstream keeps of a conversation, so that a request only has what is new: the
    response that it goes on from, or a conversation."""

    id: str
    is_response: bool


class StreamListener(Protocol):
    """Collects the message of one streamed answer."""

    @property
    def ids(self) -> Sequence[UpstreamId]:
        """What the answer has handed out so far by which later requests can go on from it."""

    def add(self, event: dict[str, Any]) -> None: ...

    def message(self) -> ChatMessage: ...


class Wire(Protocol):
    """How requests and answers of one format are read, and where memory is inserted.

    Nothing here raises for what a client or an upstream sends: what is not understood is left as it
    is.
    """

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str:
        """Path of the chat endpoint, below the upstream's URL."""

    @property
    def count_path(self) -> str:
        """Path of the endpoint that counts the tokens of a chat."""

    @property
    def models_path(self) -> str: ...

    def key_header(self, key: str) -> tuple[str, str]: ...

    def user_in(self, request: JsonObject) -> str | None: ...

    def messages_in(self, request: JsonObject) -> list[ChatMessage]:
        """The messages in order, without system prompts and messages without text."""

    def with_system(self, request: JsonObject, text: str) -> str:
        """The request with one more system text; unchanged where there is no place for it."""

    def goes_on(self, request: JsonObject) -> KeptState | None:
        """What the upstream keeps of what was said before; None where the request has it all."""

    def carrier(self, event: dict[str, Any]) -> Carrier:
        """Where memories go in this event of a stream."""

    def message_in(self, answer: dict[str, Any]) -> ChatMessage: ...

    def ids_in(self, answer: dict[str, Any]) -> Sequence[UpstreamId]:
        """See :class:`StreamListener`."""

    def listener(self) -> StreamListener: ...

    def error(self, status: int, message: str, code: str) -> bytes:
        """Our own error in this wire format."""


class TextBuffer:
    """Collects a text of at most ``most`` characters; the rest is dropped."""

    __slots__ = ("_left", "_pieces")

    def __init__(self, most: int) -> None:
        self._left = most
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        if piece and self._left > 0:
            self._pieces.append(piece[: self._left])
            self._left -= len(piece)

    def joined(self) -> str:
        return "".join(self._pieces)
