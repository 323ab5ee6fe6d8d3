"""Server-sent events: reading them however they are cut, and adding to one of them."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ricordo.proxy.json_text import read_object, with_last

_LINE_END = re.compile(rb"[\r\n]")
_DATA: Final = b"data:"
_MAX_EVENT_BYTES: Final = 1024 * 1024  # of an event that is read; larger ones only pass

MayCarry = Callable[[dict[str, Any]], bool | None]


class EventSplicer:
    """Puts a member into the JSON of the first event that may carry it.

    Everything else comes out as it went in. Bytes are held back only up to the end of a line, and
    only until that event has come.
    """

    def __init__(self, name: str, value: str, may_carry: MayCarry) -> None:
        self._name = name
        self._value = value
        self._may_carry = may_carry
        self._held = b""
        self._is_looking = True

    def feed(self, chunk: bytes) -> bytes:
        """What may go out now."""
        if not self._is_looking:
            return chunk
        looked_at, held = len(self._held), self._held + chunk
        out: list[bytes] = []
        start = 0
        while self._is_looking and (end := _LINE_END.search(held, max(start, looked_at))):
            out += self._passed(held[start : end.start()]), end.group()
            start = end.end()
        self._held = held[start:]
        if not self._is_looking or len(self._held) > _MAX_EVENT_BYTES:
            self._is_looking = False
            out.append(self.flush())
        return b"".join(out)

    def flush(self) -> bytes:
        """What was held back, now that no more comes."""
        rest, self._held = self._held, b""
        return rest

    def _passed(self, line: bytes) -> bytes:
        """A whole line, with the member in it where it is the one."""
        if not line.startswith(_DATA):
            return line
        data = line[len(_DATA) :]
        event = read_object(data)
        verdict = False if event is None else self._may_carry(event)
        self._is_looking = verdict is None
        return _DATA + with_last(data, self._name, self._value) if verdict else line


class EventReader:
    """Reads the events of a stream as JSON objects; whatever else there is, it skips."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._line_length = 0
        self._data: list[bytes] = []
        self._size = 0
        self._is_after_return = False

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """The events that have come to their end."""
        if self._is_after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the other half of a line end
            self._is_after_return = False
        if not chunk:
            return
        self._is_after_return = chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            self._add_to_line(line)
            yield from self._end_line()
        self._add_to_line(rest)

    def finish(self) -> Iterator[dict[str, Any]]:
        """An event that only lacks the empty line after it."""
        yield from self._end_line()
        yield from self._end_event()

    def _add_to_line(self, part: bytes) -> None:
        # Of what is too large just the beginning is kept, so that it is known what line it is.
        room = max(_MAX_EVENT_BYTES - self._size, len(_DATA) - self._line_length, 0)
        self._line += part[:room]
        self._line_length += len(part)
        self._size += len(part)

    def _end_line(self) -> Iterator[dict[str, Any]]:
        line, length = bytes(self._line), self._line_length
        self._line, self._line_length = bytearray(), 0
        if not length:
            yield from self._end_event()
        elif line.startswith(_DATA):
            self._data.append(line[len(_DATA) :])
        else:
            self._size -= length

    def _end_event(self) -> Iterator[dict[str, Any]]:
        data, size = self._data, self._size
        self._data, self._size = [], 0
        event = read_object(b"\n".join(data)) if data and size <= _MAX_EVENT_BYTES else None
        if event is not None:
            yield event
