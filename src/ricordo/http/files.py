"""Whole files over HTTP: streamed exports, and imports received into a temporary file."""

import contextlib
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Final, cast

import anyio
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from ricordo.errors import ImportFailed, InvalidInput, StorageFull
from ricordo.http.problems import TooManyTransfers
from ricordo.limits import EXPORT_STALL_SECONDS

JSON_LINES: Final = "application/x-ndjson"
_CHUNK_CHARS: Final = 64 * 1024


class TransferSlots:
    """Limits concurrent transfers: one per user, a few in total.

    Each holds a database connection or a file on disk for as long as the client takes.
    """

    def __init__(self, what: str, at_once: int) -> None:
        """``what`` is ``import`` or ``export``."""
        self._what = what
        self._at_once = at_once
        self._users: set[str] = set()
        self._lock = threading.Lock()

    def take(self, user_id: str) -> None:
        """Start a transfer. Raises TooManyTransfers: the user has one under way, or no slot is
        free."""
        with self._lock:
            if user_id in self._users:
                raise TooManyTransfers(
                    f"an {self._what} for this user is under way; allowed: 1 at a time"
                )
            if len(self._users) >= self._at_once:
                raise TooManyTransfers(
                    f"too many {self._what}s are under way; allowed: {self._at_once} at a time,"
                    " try again"
                )
            self._users.add(user_id)

    def give_back(self, user_id: str) -> None:
        with self._lock:
            self._users.discard(user_id)

    @contextlib.contextmanager
    def held(self, user_id: str) -> Iterator[None]:
        self.take(user_id)
        try:
            yield
        finally:
            self.give_back(user_id)


class LinesResponse(StreamingResponse):
    """Streams lines as they are read from the store, and always closes the reader.

    Reading holds a database connection for as long as the client takes. So ``slots`` limits
    concurrent reads, and a client that stalls is disconnected.
    """

    def __init__(
        self,
        lines: object,
        filename: str,
        user_id: str,
        slots: TransferSlots,
        stall_seconds: float = EXPORT_STALL_SECONDS,
    ) -> None:
        """Read the first line at once, so that an error can still become a response. Raises
        TooManyTransfers: this user has one under way, or no slot is free."""
        # Typed as an iterator; it is a generator, which can be closed.
        self._lines = cast("Generator[str, None, None]", lines)
        self._user_id = user_id
        self._slots = slots
        self._is_over = False
        self._stall_seconds = stall_seconds
        slots.take(user_id)
        try:
            self._first = next(self._lines) + "\n"
        except BaseException:
            slots.give_back(user_id)
            raise
        headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
        super().__init__(self._chunks(), headers=headers, media_type=JSON_LINES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            with anyio.fail_after(self._stall_seconds):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        finally:
            with anyio.CancelScope(shield=True):
                await self._finish()

    async def _finish(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        try:
            await run_in_threadpool(self._lines.close)
        finally:
            self._slots.give_back(self._user_id)

    async def _chunks(self) -> AsyncIterator[str]:
        chunk = self._first
        while chunk:
            yield chunk
            chunk = await run_in_threadpool(self._next_chunk)
        await self._finish()  # before the client has the last chunk and may send the next request

    def _next_chunk(self) -> str:
        gathered: list[str] = []
        size = 0
        for line in self._lines:
            gathered.append(line + "\n")
            size += len(line)
            if size >= _CHUNK_CHARS:
                break
        return "".join(gathered)


@contextlib.asynccontextmanager
async def received_file(request: Request, user_id: str) -> AsyncIterator[Path]:
    """The request body as a private temporary file, deleted when the block ends.

    Raises:
        TooManyTransfers: no slot is free.
        InvalidInput: the body is incomplete.
        StorageFull: there is not enough space.
        ImportFailed: what the block raises, without the name of the file.
    """
    slots: TransferSlots = request.app.state.imports
    with slots.held(user_id):
        path = await _receive_body(request)
        try:
            yield path
        except ImportFailed as failed:
            raise ImportFailed(str(failed).replace(str(path), "the body")) from None
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(path.unlink, missing_ok=True)


async def _receive_body(request: Request) -> Path:
    try:
        descriptor, name = await run_in_threadpool(tempfile.mkstemp, prefix="ricordo-import-")
    except OSError as error:
        raise StorageFull(f"there is no place for the body: {error.strerror}") from None
    path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, ClientDisconnect):
            raise InvalidInput("the request ended before its body did") from None
        if isinstance(error, OSError):
            raise StorageFull(f"there is no place for the body: {error.strerror}") from None
        raise
    return path
