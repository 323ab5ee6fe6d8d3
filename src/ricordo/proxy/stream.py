"""An answer on its way through: bytes come, bytes go, and at the end everything is let go of."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Self

from ricordo.proxy.calls import Call
from ricordo.proxy.tapping import Tap
from ricordo.proxy.upstream import UpstreamFault, fault

if TYPE_CHECKING:
    import httpx2


class AnswerStream:
    """The bytes of an answer as they come. Whoever takes it must call ``aclose`` in the end.

    However it ends (read to the end, broken off by the upstream, given up by the client), the
    upstream's connection is released and ``ended`` is called, once.
    """

    def __init__(
        self,
        response: "httpx2.Response",
        tap: Tap,
        call: Call,
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
