"""Streamed answers: reading and changing server-sent events on their way through."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from ricordo.providers.event_stream import DATA, EventReader
from ricordo.proxy.upstream import UpstreamCall, UpstreamFault
from ricordo.proxy.wire import (
    NO_MESSAGE,
    Carrier,
    ChatMessage,
    StreamListener,
    Wire,
    read_object,
    with_last,
    with_last_in,
)
from ricordo.storage.upstream_ids import UpstreamId

if TYPE_CHECKING:
    import httpx2

_LINE_END = re.compile(rb"[\r\n]")
_MAX_EVENT_BYTES: Final = 1024 * 1024  # larger events pass unread

Event = dict[str, Any]


class EventSplicer:
    """Inserts members into the JSON of the events that carry them.

    Everything else passes unchanged. Bytes are held back only up to the end of a line, and only
    until the last of those events has come.
    """

    def __init__(self, added: Mapping[str, str], carrier: Callable[[Event], Carrier]) -> None:
        self._added = added
        self._carrier = carrier
        self._pending = b""
        self._is_searching = True

    def feed(self, chunk: bytes) -> bytes:
        if not self._is_searching:
            return chunk
        searched, pending = len(self._pending), self._pending + chunk
        out: list[bytes] = []
        start = 0
        while self._is_searching and (end := _LINE_END.search(pending, max(start, searched))):
            out += self._splice(pending[start : end.start()]), end.group()
            start = end.end()
        self._pending = pending[start:]
        if not self._is_searching or len(self._pending) > _MAX_EVENT_BYTES:
            self._is_searching = False
            out.append(self.flush())
        return b"".join(out)

    def flush(self) -> bytes:
        """What was held back, at the end of the stream."""
        rest, self._pending = self._pending, b""
        return rest

    def _splice(self, line: bytes) -> bytes:
        if not line.startswith(DATA):
            return line
        data = line[len(DATA) :]
        event = read_object(data)
        carrier = Carrier() if event is None else self._carrier(event)
        self._is_searching = not carrier.is_last
        for member in carrier.members:
            data = with_last_in(data, member, self._added)
        return DATA + (with_last(data, self._added) if carrier.event else data)


class StreamFilter(Protocol):
    """Passes an answer on, and may collect its message."""

    @property
    def ids(self) -> Sequence[UpstreamId]:
        """See :class:`StreamListener`."""

    def feed(self, chunk: bytes) -> bytes: ...

    def flush(self) -> bytes: ...

    def message(self) -> ChatMessage: ...


class PassThrough:
    """Passes everything on, and collects at most the ids."""

    def __init__(self, listener: StreamListener | None = None) -> None:
        self._ear = None if listener is None else _Ear(listener)

    @property
    def ids(self) -> Sequence[UpstreamId]:
        return () if self._ear is None else self._ear.listener.ids

    def feed(self, chunk: bytes) -> bytes:
        if self._ear is not None:
            self._ear.feed(chunk)
        return chunk

    def flush(self) -> bytes:
        return b""

    def message(self) -> ChatMessage:
        return NO_MESSAGE


class MemoryStreamFilter:
    """Adds what the model was shown to the events that carry it, and collects the message."""

    def __init__(self, wire: Wire, shown: Mapping[str, str]) -> None:
        self._splicer = EventSplicer(shown, wire.carrier)
        self._ear = _Ear(wire.listener())

    @property
    def ids(self) -> Sequence[UpstreamId]:
        return self._ear.listener.ids

    def feed(self, chunk: bytes) -> bytes:
        self._ear.feed(chunk)
        return self._splicer.feed(chunk)

    def flush(self) -> bytes:
        return self._splicer.flush()

    def message(self) -> ChatMessage:
        """The message; the beginning of one that is incomplete."""
        return self._ear.finish().message()


class _Ear:
    """Reads events for a listener."""

    def __init__(self, listener: StreamListener) -> None:
        self.listener = listener
        self._reader = EventReader(_MAX_EVENT_BYTES)

    def feed(self, chunk: bytes) -> None:
        self._listen(self._reader.feed(chunk))

    def finish(self) -> StreamListener:
        self._listen(self._reader.finish())
        return self.listener

    def _listen(self, events: Iterator[bytes]) -> None:
        for data in events:
            event = read_object(data)
            if event is not None:
                self.listener.add(event)


class AnswerStream:
    """The bytes of an answer. The consumer must call ``aclose`` in the end.

    However it ends (complete, cut off by the upstream, or abandoned by the client), the upstream's
    connection is released and ``ended`` is called once.
    """

    def __init__(
        self,
        response: "httpx2.Response",
        stream_filter: StreamFilter,
        call: UpstreamCall,
        *,
        first: bytes = b"",
        chunks: AsyncIterator[bytes],
        gives: Callable[[Sequence[UpstreamId]], Awaitable[None]],
        ended: Callable[[], None],
    ) -> None:
        """``first`` was already read from ``chunks``. ``gives`` is waited for before new ids go
        out."""
        self._response = response
        self._filter = stream_filter
        self._call = call
        self._first = first
        self._chunks = chunks
        self._gives = gives
        self._given = 0
        self._ended = ended
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """The next bytes.

        Raises:
            UpstreamFault: the answer is incomplete, and must not look complete.
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
        """Release the upstream; may be called again."""
        if self._closing is None:
            self._call.left()  # no effect where it ended before
            self._closing = asyncio.create_task(self._response.aclose())
            self._ended()
        # Finish also where the caller is cancelled.
        await asyncio.shield(self._closing)

    async def _next(self) -> bytes:
        first, self._first = self._first, b""
        if out := await self._fed(first):
            return out
        async for chunk in self._chunks:
            if out := await self._fed(chunk):
                return out
        self._call.answered(self._response.status_code)
        if rest := self._filter.flush():
            return rest
        raise StopAsyncIteration

    async def _fed(self, chunk: bytes) -> bytes:
        out = self._filter.feed(chunk)
        ids = self._filter.ids
        if len(ids) > self._given:
            new, self._given = ids[self._given :], len(ids)
            await self._gives(new)
        return out


async def gathered(
    response: "httpx2.Response", chunks: AsyncIterator[bytes], most: int
) -> tuple[bytes, bool]:
    """Up to ``most`` bytes of a response, and whether they are all; then it is closed.

    Raises:
        UpstreamFault: the answer is incomplete.
    """
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
    except BaseException:
        await asyncio.shield(asyncio.create_task(response.aclose()))
        raise
    if is_all:
        await response.aclose()
    return b"".join(parts), is_all
