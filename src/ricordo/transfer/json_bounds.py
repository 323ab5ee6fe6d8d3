"""Parsing untrusted JSON within bounds: a few bytes can stand for gigabytes of values.

Size, nesting and number of values are checked before parsing. A long list is read entry by entry,
so that one entry is in memory and not the file.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NoReturn

from ricordo import limits
from ricordo.frozen import dataclass

_BLANK: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
# Up to the next character that counts. Possessive: never backtracks.
_TO_BRACKET: Final = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+([\[\]{}])", re.DOTALL)
_TO_SIGN: Final = re.compile(rb'(?:[^"\[\]{},]++|' + _STRING + rb")*+([\[\]{},])", re.DOTALL)


class OutOfBounds(ValueError):
    """A text that is too large, too deep or has too many values; the message says which."""


def bounded_value(raw: bytes) -> Any:
    """Parse JSON in UTF-8.

    Raises:
        OutOfBounds: it is too large, too deep, or has too many values.
        ValueError, RecursionError: it is not JSON in UTF-8.
    """
    if len(raw) > limits.MAX_IMPORT_ENTRY_BYTES:
        raise _too_large()
    opened = raw.count(b"[") + raw.count(b"{")
    if opened > limits.MAX_IMPORT_DEPTH:  # otherwise it cannot be deeper
        depth = values = 0
        for sign in _signs(_TO_BRACKET, raw):
            depth, values = _deeper(sign, depth, values)
    if (
        raw.count(b",") + opened >= limits.MAX_IMPORT_ENTRY_VALUES
    ):  # an upper bound: some may be in strings
        begun = (sign for sign in _signs(_TO_SIGN, raw) if sign in b",[{")
        if next(islice(begun, limits.MAX_IMPORT_ENTRY_VALUES - 1, None), None):
            raise _too_many()
    return json.loads(
        raw.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite_float
    )


def _signs(pattern: "re.Pattern[bytes]", raw: bytes) -> Iterator[bytes]:
    """The characters that count, up to the end or to a string without an end.

    Each match begins where the last one ended: a search would try every later byte of that string,
    and read to its end each time.
    """
    at = 0
    while found := pattern.match(raw, at):
        yield found[1]
        at = found.end()


@dataclass(frozen=True, slots=True)
class JsonListing:
    """The entries of a JSON list, read again on each iteration.

    Iterating raises the errors of :func:`bounded_value`, with their position.
    """

    chunks: Callable[[], Iterator[bytes]]

    def __iter__(self) -> Iterator[Any]:
        return _Entries(self.chunks()).read()


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The values of JSON Lines with the numbers of their lines, read again on each iteration.

    Iterating raises the errors of :func:`bounded_value`, with their line.
    """

    chunks: Callable[[], Iterator[bytes]]

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        passed = 0
        for number, line in enumerate(_lines(self.chunks()), start=1):
            if number > limits.MAX_IMPORTED_ENTRIES:
                raise OutOfBounds(f"more than {limits.MAX_IMPORTED_ENTRIES} lines")
            if line.strip(_BLANK):
                try:
                    value = _located(line, passed, number - 1)
                except OutOfBounds as problem:
                    raise OutOfBounds(f"line {number}: {problem}") from None
                yield number, value
            passed += len(line)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines with their ends; one that is too large is cut just above the limit."""
    rest = bytearray()
    for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield bytes(rest + line + b"\n")
            rest.clear()
        rest += last
        if len(rest) > limits.MAX_IMPORT_ENTRY_BYTES:
            break
    if rest:
        yield bytes(rest)


def _are_lines(chunks: Iterable[bytes]) -> bool:
    """Whether the first line is an object or a text of its own, and another line follows it."""
    pieces = iter(chunks)
    beginning = next(pieces, b"")
    if beginning.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANK)[:1] not in (b"{", b'"'):
        return False
    filled = (line for line in _lines(chain([beginning], pieces)) if line.strip(_BLANK))
    try:
        bounded_value(next(filled).removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return False
    return next(filled, None) is not None


def opened_value(chunks: Callable[[], Iterator[bytes]]) -> Any:
    """Parse JSON in UTF-8; a list becomes a :class:`JsonListing`, and JSON Lines become
    :class:`JsonLines`.

    Raises:
        OutOfBounds, ValueError, RecursionError: as for :func:`bounded_value`.
    """
    if _are_lines(chunks()):
        return JsonLines(chunks)
    contents = bytearray()
    for chunk in chunks():
        contents += chunk
        if contents.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANK).startswith(b"["):
            return JsonListing(chunks)
        if len(contents) > limits.MAX_IMPORT_ENTRY_BYTES:
            raise _too_large()
    return _located(bytes(contents), 0, 0)


class _Entries:
    """One iteration over a list."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = bytearray()
        self._at = 0  # scanned up to here
        self._passed = 0  # bytes and lines before the buffer
        self._lines = 0

    def read(self) -> Iterator[Any]:
        sign = self._next(_TO_SIGN)
        if sign != b"[" or self._buffer[: self._at - 1].removeprefix(_BYTE_ORDER_MARK).strip(
            _BLANK
        ):
            raise ValueError("Expecting a list: line 1")
        self._drop()
        for number in range(1, limits.MAX_IMPORTED_ENTRIES + 1):
            try:
                end = self._end_of_entry()
                raw = bytes(self._buffer[: self._at - 1]) if end else bytes(self._buffer)
                if end == b"]" and number == 1 and not raw.strip(_BLANK):
                    break
                entry = _located(raw, self._passed, self._lines)
            except OutOfBounds as problem:
                raise OutOfBounds(f"entry {number}: {problem}") from None
            yield entry
            if not end:
                raise ValueError(f"Expecting ',' or ']': line {self._line()}")
            self._drop()
            if end == b"]":
                break
        else:
            raise OutOfBounds(f"more than {limits.MAX_IMPORTED_ENTRIES} entries")
        self._drop()
        while not self._buffer.strip(_BLANK):
            self._lines += self._buffer.count(b"\n")
            self._buffer.clear()
            if not self._more():
                return
        raise ValueError(f"Extra data: line {self._line()}")

    def _end_of_entry(self) -> bytes:
        """Scan to the delimiter after the next entry and return it; empty at the end."""
        depth = values = 0
        while sign := self._next(_TO_BRACKET if depth else _TO_SIGN):
            if depth == 0 and sign in b",]":
                return sign
            if depth == 0 and sign == b"}":
                raise ValueError(f"Expecting ',' or ']': line {self._line()}")
            depth, values = _deeper(sign, depth, values)
        return b""

    def _next(self, pattern: "re.Pattern[bytes]") -> bytes:
        while True:
            found = pattern.match(self._buffer, self._at)
            if found:
                self._at = found.end()
                return found[1]
            # A long string is scanned again from its start, so read as much of it as possible.
            wanted = 2 * (len(self._buffer) - self._at)
            if not self._more():
                return b""
            while len(self._buffer) - self._at < wanted and self._more():
                pass

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        self._buffer += chunk
        if len(self._buffer) > limits.MAX_IMPORT_ENTRY_BYTES + len(chunk):
            raise _too_large()
        return bool(chunk)

    def _drop(self) -> None:
        self._passed += self._at
        self._lines += self._buffer.count(b"\n", 0, self._at)
        del self._buffer[: self._at]
        self._at = 0

    def _line(self) -> int:
        return self._lines + self._buffer.count(b"\n", 0, self._at) + 1


def _located(raw: bytes, passed: int, lines: int) -> Any:
    """Parse a part of a longer text, with errors that give the position in the whole."""
    if not passed:
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
    try:
        return bounded_value(raw)
    except json.JSONDecodeError as problem:
        raise ValueError(f"{problem.msg}: line {lines + problem.lineno}") from None
    except UnicodeDecodeError as problem:
        problem.start += passed
        raise


def _deeper(sign: bytes, depth: int, values: int) -> tuple[int, int]:
    if sign not in b"[{":
        return depth - 1, values
    if depth >= limits.MAX_IMPORT_DEPTH:
        raise OutOfBounds(f"nested more than {limits.MAX_IMPORT_DEPTH} deep")
    if values >= limits.MAX_IMPORT_ENTRY_VALUES:
        raise _too_many()
    return depth + 1, values + 1


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is larger than a number can be")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _too_many() -> OutOfBounds:
    return OutOfBounds(f"more than {limits.MAX_IMPORT_ENTRY_VALUES} values")


def _too_large() -> OutOfBounds:
    return OutOfBounds(f"larger than {limits.MAX_IMPORT_ENTRY_BYTES} bytes")
