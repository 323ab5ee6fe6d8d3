"""Storing chats beside the requests that wait for it or not."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from ricordo.errors import in_log
from ricordo.limits import MAX_WAITING_EXCHANGES

_log = logging.getLogger(__name__)
_WRITERS: Final = 4  # whose commits SQLite shares


class BackgroundWrites:
    """Stores chats in threads of its own, which no cancelled request ends.

    Errors are only logged. What is asked for first begins first.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_WRITERS, thread_name_prefix="ricordo-proxy-write")
        self._lock = threading.Lock()
        self._waiting: set[Future[bool]] = set()
        self._is_closed = False

    def do(self, work: Callable[[], None]) -> "Future[bool] | None":
        """Run something soon; the result is whether it succeeded. It is dropped with a warning
        where too much is queued, or after :meth:`close`: the chat itself must not fail."""
        with self._lock:
            refusal = None
            if self._is_closed:
                refusal = "the service has stopped"
            elif len(self._waiting) >= MAX_WAITING_EXCHANGES:
                refusal = f"{MAX_WAITING_EXCHANGES} others wait"
            else:
                done = self._pool.submit(log_errors, work)
                self._waiting.add(done)
        if refusal is None:
            done.add_done_callback(self._forget)
            return done
        _log.warning("a chat is not remembered: %s", refusal)
        return None

    async def drain(self) -> None:
        """Wait until the queue is empty."""
        while True:
            with self._lock:
                waiting = list(self._waiting)
            if not waiting:
                return
            await asyncio.wait([asyncio.wrap_future(one) for one in waiting])

    async def close(self) -> None:
        """Finish the queue and accept no more."""
        await self.drain()
        with self._lock:
            self._is_closed = True
        await self.drain()  # what came in between
        self._pool.shutdown(wait=False)

    def _forget(self, done: Future[bool]) -> None:
        with self._lock:
            self._waiting.discard(done)


def log_errors(work: Callable[[], None]) -> bool:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - no chat may fail because of memory
        _log.warning("a chat is not remembered: %s", in_log(error))
        return False
    return True
