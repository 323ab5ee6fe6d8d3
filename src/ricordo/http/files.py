"""Whole files over HTTP: sent while they are read, and received without holding them in memory."""

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
_PREFIX: Final = "ricordo-import-"


class TransferSlots:
    """How many files a service sends or receives at once: one of a user, a few of all. Each has a
    connection to the database or a file on the disk, for as long as the client takes."""

    def __init__(self, what: str, at_once: int) -> None:
        """``what`` is one of them: an import, an export."""
        self._what = what
        self._at_once = at_once
        self._users: set[str] = set()
        self._lock = threading.Lock()

    def take(self, user_id: str) -> None:
        """Begin with a user's file.

        Raises:
            TooManyTransfers: the user's last one is not over, or others have taken all places.
        """
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
        """It is over."""
        with self._lock:
            self._users.discard(user_id)

    @contextlib.contextmanager
    def held(self, user_id: str) -> Iterator[None]:
        """Begin with a user's file, for as long as the block runs."""
        self.take(user_id)
        try:
            yield
        finally:
            self.give_back(user_id)


class LinesResponse(StreamingResponse):
    """Lines as they are read from the store. However it ends, the reading ends with it.

    Reading holds a connection to the database, for as long as the client takes. So only as many
    read at once as there are ``slots``, and who takes nothing for long is cut off.
    """

    def __init__(
        self,
        lines: object,
        filename: str,
        user_id: str,
        slots: TransferSlots,
        stall_seconds: float = EXPORT_STALL_SECONDS,
    ) -> None:
        """What is wrong from the start is raised here, so that it can still be told.

        Raises:
            TooManyTransfers: this user reads already, or too many do.
        """
        # The library speaks of an iterator; it is a generator, which can be closed.
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
        """Send it."""

        async def send_in_time(message: Message) -> None:
            with anyio.fail_after(self._stall_seconds):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        finally:
            with anyio.CancelScope(shield=True):
                await self._let_go()

    async def _let_go(self) -> None:
        """End the reading, once."""
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
        await self._let_go()  # before the client knows that it has all: it may ask again then

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
    """The body of a request as a file that only we can read, for as long as the block runs.

    Raises:
        TooManyTransfers: others are under way.
        InvalidInput: the body broke off.
        StorageFull: it does not fit.
        ImportFailed: what the block raises, without the name of the file.
    """
    slots: TransferSlots = request.app.state.imports
    with slots.held(user_id):
        path = await _received(request)
        try:
            yield path
        except ImportFailed as failed:
            raise ImportFailed(str(failed).replace(str(path), "the body")) from None
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(path.unlink, missing_ok=True)


async def _received(request: Request) -> Path:
    try:
        descriptor, name = await run_in_threadpool(tempfile.mkstemp, prefix=_PREFIX)
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
