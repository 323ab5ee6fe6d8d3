"""Server-sent events, read from a stream that is cut anywhere."""

from collections.abc import Iterator
from typing import Final

DATA: Final = b"data:"


class EventReader:
    """The data of each event; events above ``max_bytes`` are skipped."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._line_length = 0
        self._data: list[bytes] = []
        self._size = 0
        self._is_after_return = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that are complete now."""
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

    def finish(self) -> Iterator[bytes]:
        """An event that only lacks the empty line after it."""
        yield from self._end_line()
        yield from self._end_event()

    def _add_to_line(self, part: bytes) -> None:
        # Of a line that is too large keep only the beginning, which says what it is.
        room = max(self._max_bytes - self._size, len(DATA) - self._line_length, 0)
        self._line += part[:room]
        self._line_length += len(part)
        self._size += len(part)

    def _end_line(self) -> Iterator[bytes]:
        line, length = bytes(self._line), self._line_length
        self._line, self._line_length = bytearray(), 0
        if not length:
            yield from self._end_event()
        elif line.startswith(DATA):
            self._data.append(line[len(DATA) :])
        else:
            self._size -= length

    def _end_event(self) -> Iterator[bytes]:
        data, size = self._data, self._size
        self._data, self._size = [], 0
        if data and size <= self._max_bytes:
            yield b"\n".join(data)
