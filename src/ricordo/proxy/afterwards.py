"""What is done for memory after an answer, while nobody waits for it."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from ricordo.errors import in_log
from ricordo.limits import MAX_WAITING_EXCHANGES

_log = logging.getLogger(__name__)

_THREADS: Final = 2


class Afterwards:
    """Runs work in threads of its own, so that it delays no chat and no cancelled request ends it.

    What fails is told to the log and to nobody else.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ricordo-proxy-after")
        self._lock = threading.Lock()
        self._waiting: set[Future[None]] = set()
        self._is_closed = False

    def do(self, work: Callable[[], None]) -> None:
        """Have something done soon. It is not done where too much waits already, or after the end:
        whoever asks for it has a chat to finish, and no use for an error."""
        with self._lock:
            refusal = self._refusal()
            if refusal is None:
                done = self._pool.submit(_quietly, work)
                self._waiting.add(done)
        if refusal is None:
            done.add_done_callback(self._forget)
        else:
            _log.warning("a chat is not remembered: %s", refusal)

    async def drain(self) -> None:
        """Wait until all that was to be done is done."""
        while True:
            with self._lock:
                waiting = list(self._waiting)
            if not waiting:
                return
            await asyncio.wait([asyncio.wrap_future(one) for one in waiting])

    async def close(self) -> None:
        """Finish what there is, and take no more."""
        await self.drain()
        with self._lock:
            self._is_closed = True
        await self.drain()  # what came in between
        self._pool.shutdown(wait=False)

    def _refusal(self) -> str | None:
        if self._is_closed:
            return "the service has stopped"
        has_room = len(self._waiting) < MAX_WAITING_EXCHANGES
        return None if has_room else f"{MAX_WAITING_EXCHANGES} others wait"

    def _forget(self, done: Future[None]) -> None:
        with self._lock:
            self._waiting.discard(done)


def _quietly(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the chat is over, and the log is all that is left
        _log.warning("a chat is not remembered: %s", in_log(error))
