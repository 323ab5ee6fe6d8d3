"""An answer on its way through: bytes come, bytes go, and at the end everything is let go of."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from ricordo.proxy.upstream import UpstreamCall, UpstreamFault, fault
from ricordo.proxy.wire import NOTHING_HEARD, ChatMessage, Wire, read_object, with_last

if TYPE_CHECKING:
    import httpx2

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


class StreamFilter(Protocol):
    """Lets an answer pass, and may hear it."""

    def feed(self, chunk: bytes) -> bytes:
        """What may go out, now that this has come."""
        ...

    def flush(self) -> bytes:
        """What may go out, now that no more comes."""
        ...

    def heard(self) -> ChatMessage:
        """What was said, as far as it came."""
        ...


class PassThrough:
    """Lets everything pass and hears nothing."""

    def feed(self, chunk: bytes) -> bytes:
        """The same."""
        return chunk

    def flush(self) -> bytes:
        """Nothing: nothing was held back."""
        return b""

    def heard(self) -> ChatMessage:
        """Nothing."""
        return NOTHING_HEARD


class MemoryStreamFilter:
    """Adds the memories to the first event, and hears what is said."""

    def __init__(self, wire: Wire, memories: str) -> None:
        self._splicer = EventSplicer("memories", memories, wire.may_carry)
        self._reader = EventReader()
        self._ear = wire.ear()

    def feed(self, chunk: bytes) -> bytes:
        """The chunk, perhaps with the memories in it."""
        for event in self._reader.feed(chunk):
            self._ear.hear(event)
        return self._splicer.feed(chunk)

    def flush(self) -> bytes:
        """The rest of a stream that ended early."""
        return self._splicer.flush()

    def heard(self) -> ChatMessage:
        """The answer; of one that broke off, its beginning."""
        for event in self._reader.finish():
            self._ear.hear(event)
        return self._ear.heard()


class AnswerStream:
    """The bytes of an answer as they come. Whoever takes it must call ``aclose`` in the end.

    However it ends (read to the end, broken off by the upstream, given up by the client), the
    upstream's connection is released and ``ended`` is called, once.
    """

    def __init__(
        self,
        response: "httpx2.Response",
        tap: StreamFilter,
        call: UpstreamCall,
        *,
        first: bytes = b"",
        chunks: AsyncIterator[bytes] | None = None,
        ended: Callable[[], None],
    ) -> None:
        """A stream of a response; ``first`` was read from its ``chunks`` already."""
        self._response = response
        self._tap = tap
        self._call = call
        self._first = first
        self._chunks = response.aiter_raw() if chunks is None else chunks
        self._ended = ended
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """The next bytes.

        Raises:
            UpstreamFault: the answer broke off. Its end must not be made to look right.
        """
        if self._closing is not None:
            raise StopAsyncIteration
        try:
            return await self._next()
        except UpstreamFault as error:
            self._call.failed(error.code)
            await self.aclose()
            raise
        except BaseException:  # also cancellation: the client may have gone
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Let go of the upstream; harmless when it was done before."""
        if self._closing is None:
            self._call.left()  # unless it has come to its end before
            self._closing = asyncio.create_task(self._response.aclose())
            self._ended()
        # Not cut short where whoever closes is itself cancelled.
        await asyncio.shield(self._closing)

    async def _next(self) -> bytes:
        import httpx2

        first, self._first = self._first, b""
        if out := self._tap.feed(first):
            return out
        try:
            async for chunk in self._chunks:
                if out := self._tap.feed(chunk):
                    return out
        except (httpx2.HTTPError, OSError) as error:
            raise fault(error) from None
        self._call.answered(self._response.status_code)
        if rest := self._tap.flush():
            return rest
        raise StopAsyncIteration


async def gathered(
    response: "httpx2.Response", chunks: AsyncIterator[bytes], most: int
) -> tuple[bytes, bool]:
    """The bytes of a response and whether they are all; no more than ``most`` are waited for.

    A response that was read to its end is let go of.

    Raises:
        UpstreamFault: the answer broke off.
    """
    import httpx2

    parts: list[bytes] = []
    size = 0
    is_all = True
    try:
        async for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > most:
                is_all = False
                break
    except (httpx2.HTTPError, OSError) as error:
        await response.aclose()
        raise fault(error) from None
    except BaseException:
        await asyncio.shield(asyncio.create_task(response.aclose()))
        raise
    if is_all:
        await response.aclose()
    return b"".join(parts), is_all
