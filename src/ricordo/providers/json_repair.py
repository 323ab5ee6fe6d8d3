"""Finds the JSON object in a model's answer, whatever is around it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NoReturn, TypeVar

from ricordo.frozen import dataclass
from ricordo.limits import MAX_ANSWER_DEPTH, MAX_MODEL_ANSWER_CHARS

# Lenient JSON: single quotes, line breaks inside strings, ``True``, ``False`` and ``None``,
# unquoted names, trailing commas, and a text that ends inside of brackets or a string. Never
# backtracks, so it is linear, and it invents no values: what it cannot read is an error.

_SPACE = re.compile(r"[ \t\r\n\ufeff\xa0]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: Final[dict[str, bool | None]] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
# Up to the next character that may end the string or that changes what follows it.
_RUN = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'"}
_TO_ESCAPE = re.compile(r"\\.|\"", re.DOTALL)


class NotReadable(ValueError):
    """What begins with a brace stops making sense at ``end``."""

    def __init__(self, problem: str, end: int) -> None:
        self.start = -1
        self.end = end
        super().__init__(problem)


class _AtEnd(Exception):
    """The text ended where a value was expected."""


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """An object, its position, and whether the text ended before it did."""

    value: dict[str, object]
    start: int
    end: int
    is_open: bool


def readings(text: str) -> Iterator[ParsedJson | NotReadable]:
    """The outermost objects in a text, and errors for what is none.

    Nothing is read twice, so it takes one pass.
    """
    start = text.find("{")
    while start >= 0:
        reader = _Reader(text, start)
        found: ParsedJson | NotReadable
        try:
            value = reader.braces(1)
            if reader.is_open and not value:
                raise NotReadable("the text ends before it says anything", reader.at)
            found = ParsedJson(value, start, reader.at, reader.is_open)
        except NotReadable as problem:
            problem.start = start
            found = problem
        yield found
        start = text.find("{", max(start + 1, found.end))


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.is_open = False

    def braces(self, depth: int) -> dict[str, object]:
        self._enter(depth)
        found: dict[str, object] = {}
        while not self._closes("}"):
            name = self._name()
            try:
                self._expect(":")
                found[name] = self._value(depth)
            except _AtEnd:  # a name without a value is dropped
                break
            if not self._goes_on("}"):
                break
        return found

    def _list(self, depth: int) -> list[object]:
        self._enter(depth)
        found: list[object] = []
        while not self._closes("]"):
            found.append(self._value(depth))
            if not self._goes_on("]"):
                break
        return found

    def _enter(self, depth: int) -> None:
        if depth > MAX_ANSWER_DEPTH:
            # What follows is not searched: it may be a part of this one.
            problem = f"it is nested deeper than {MAX_ANSWER_DEPTH} levels"
            raise NotReadable(problem, len(self.text))
        self.at += 1

    def _value(self, depth: int) -> object:
        match self._next():
            case "":
                self.is_open = True
                raise _AtEnd
            case "{":
                return self.braces(depth + 1)
            case "[":
                return self._list(depth + 1)
            case '"' | "'" as quote:
                return self._string(quote)
            case _:
                return self._number_or_word()

    def _name(self) -> str:
        quote = self._next()
        if quote in ('"', "'"):
            return self._string(quote)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise self._error("a name was expected")
        self.at = word.end()
        return word.group()

    def _number_or_word(self) -> object:
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            self.at = number.end()
            written = number.group()
            try:
                return float(written) if number["fraction"] else int(written)
            except ValueError:  # more digits than Python allows
                raise self._error("a number is too long") from None
        word = _WORD.match(self.text, self.at)
        if word is None or word.group() not in _WORDS:
            raise self._error("a value was expected")
        self.at = word.end()
        return _WORDS[word.group()]

    def _string(self, quote: str) -> str:
        begin = self.at = self.at + 1
        text, run = self.text, _RUN[quote]
        while True:
            match = run.match(text, self.at)
            self.at = len(text) if match is None else match.end()
            if self.at >= len(text):
                self.at, self.is_open = len(text), True
                return self._decoded(text[begin:], quote)
            if text[self.at] == "\\":
                self.at += 2
            elif quote == "'" and self._is_inside_word():
                self.at += 1
            else:
                self.at += 1
                return self._decoded(text[begin : self.at - 1], quote)

    def _is_inside_word(self) -> bool:
        """Whether the single quote here is an apostrophe, as in "it's"."""
        around = self.text[self.at - 1], self.text[self.at + 1 : self.at + 2]
        return all(character.isalpha() for character in around)

    def _decoded(self, written: str, quote: str) -> str:
        """Decode escapes by the rules of JSON, but allow line breaks."""
        if quote == "'":
            written = _TO_ESCAPE.sub(_in_double_quotes, written)
        try:
            decoded: str = json.loads(f'"{written}"', strict=False)
        except ValueError:
            raise self._error("a string has an escape that JSON does not know") from None
        return decoded

    def _expect(self, sign: str) -> None:
        found = self._next()
        if not found:
            self.is_open = True
            raise _AtEnd
        if found != sign:
            raise self._error(f"{sign!r} was expected")
        self.at += 1

    def _goes_on(self, closing: str) -> bool:
        """Skip a comma; False after the closing bracket, or at the end of the text."""
        found = self._next()
        if found == ",":
            self.at += 1
            return True
        if self._closes(closing):
            return False
        raise self._error(f"',' or {closing!r} was expected")

    def _closes(self, closing: str) -> bool:
        """Whether the bracket closes here, or would if the text continued."""
        found = self._next()
        if found == closing:
            self.at += 1
        elif not found:
            self.is_open = True
        return found in (closing, "")

    def _next(self) -> str:
        """The next character after space; empty at the end, or before a code fence."""
        space = _SPACE.match(self.text, self.at)
        self.at = self.at if space is None else space.end()
        if self.text.startswith("```", self.at):
            return ""
        return self.text[self.at : self.at + 1]

    def _error(self, problem: str) -> NotReadable:
        return NotReadable(problem, self.at)


def _in_double_quotes(match: re.Match[str]) -> str:
    found = match.group()
    return {"\\'": "'", '"': '\\"'}.get(found, found)


Result = TypeVar("Result")


def read_object(
    text: str, accept: Callable[[dict[str, object]], Result], *, close_open_ends: bool = True
) -> Result:
    """The first JSON object in the text that is accepted, as ``accept`` returns it.

    ``accept`` raises ValueError for what it rejects. An object that the text ends inside of is
    closed there, unless ``close_open_ends`` is off. Nested objects are not tried on their own.

    Raises:
        ValueError: there is none. Where there was an object, it is what ``accept`` raised.
    """
    if len(text) > MAX_MODEL_ANSWER_CHARS:
        raise ValueError(f"it is longer than {MAX_MODEL_ANSWER_CHARS} characters")
    # The first of each says most: what follows an answer is seldom one.
    unreadable: ValueError | None = None
    refused: ValueError | None = None
    for found in _objects(text, close_open_ends):
        if isinstance(found, NotReadable):
            unreadable = unreadable or ValueError(f"it is not valid JSON: {found}")
            continue
        try:
            return accept(found)
        except ValueError as problem:
            refused = refused or problem
    raise refused or unreadable or ValueError("it is not a JSON object")


def without_thinking(text: str) -> str:
    """The text after a model's thinking; none if it never ends. The opening mark may be missing.

    In a text that begins with an object, the mark is a part of that object.
    """
    if text.lstrip().startswith("{"):
        return text
    _, end, answer = text.rpartition("</think>")
    return "" if not end and has_thinking(text) else answer


def has_thinking(text: str) -> bool:
    """Whether a text begins with a model's thinking."""
    start = text.lstrip()
    return start.startswith("<think>") or (not start.startswith("{") and "</think>" in text)


def _objects(text: str, close_open_ends: bool) -> Iterator[dict[str, object] | NotReadable]:
    """Every object in the text, and errors for what is none."""
    whole = _strict(text)
    if whole is not None:
        yield whole
        return
    # The mark may also be a part of the answer, so all that may be one comes second.
    begins = text.lstrip().startswith("<think>")
    whole_answer = text.partition("</think>")[2] if begins else text
    for source in dict.fromkeys((without_thinking(text), whole_answer)):
        for found in readings(source):
            if isinstance(found, NotReadable):
                yield found
            elif close_open_ends or not found.is_open:
                yield found.value


def _strict(text: str) -> dict[str, object] | None:
    """The whole text as a strict JSON object."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not _is_too_deep(value) else None


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_ANSWER_DEPTH + 1):
        lists = [list(one.values()) if isinstance(one, dict) else one for one in level]
        level = [part for one in lists if isinstance(one, list) for part in one]
        if not level:
            return False
    return True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
