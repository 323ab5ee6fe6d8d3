"""Several processes that answer at one address: started, replaced where they end, and stopped."""

import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ricordo.errors import InvalidValue, in_log
from ricordo.settings import Settings
from ricordo.wiring import TEMPORARY

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_PAUSE_SECONDS: Final = 1.0
"""Before a worker is replaced that ended so soon after it was started, or never was ready."""
_FAILED: Final = 70

_log = logging.getLogger("ricordo.workers")


def check_may_share(settings: Settings) -> None:
    """Check that so many processes can share an address and a store. Raises InvalidValue: this
    system, or the store, allows only one."""
    if settings.workers == 1:
        return
    if not hasattr(os, "fork"):
        raise InvalidValue("setting workers", "this system cannot fork processes; allowed here: 1")
    if settings.url == TEMPORARY:
        raise InvalidValue("setting workers", "a temporary store is of one process; allowed: 1")


class Place:
    """What a worker process knows of its supervisor."""

    def __init__(self, ready: int, supervisor: int) -> None:
        self._ready = ready
        self._supervisor = supervisor

    def is_ready(self) -> None:
        """Tell the supervisor that requests are answered."""
        with contextlib.suppress(OSError):  # it is gone, which on_orphaned tells
            os.write(self._ready, b"+")

    def on_orphaned(self, stop: Callable[[], None]) -> None:
        """Have something called once the supervisor is gone, however it ended."""

        def wait() -> None:
            os.read(self._supervisor, 1)  # nothing is ever written: this is its end
            stop()

        threading.Thread(target=wait, name="ricordo-orphaned", daemon=True).start()


@dataclass(slots=True)
class _Worker:
    """A process. Its pipe says when it is ready, and is closed when it ends, however it does."""

    pid: int
    pipe: int
    started_at: float
    is_ready: bool = False


class Supervisor:
    """Keeps so many processes running, each of which does the same work.

    It holds no store, no threads and no connections, so that it can fork at any time.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[Place], None],
        *,
        on_ready: Callable[[], None],
        on_stopping: Callable[[], None],
        on_ended: Callable[[int], None],
    ) -> None:
        """``work`` runs in each process, until it is told to stop by SIGTERM. ``on_ready`` is
        called once, when all are ready, ``on_stopping`` once before they are told to stop;
        ``on_ended`` with the id of each process that ended."""
        self._count = count
        self._work = work
        self._on_ready = on_ready
        self._on_stopping = on_stopping
        self._on_ended = on_ended
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._stop_signals: list[int] = []
        self._waits_until = 0.0
        self._has_served = False

    def run(self) -> bool:
        """Run until SIGTERM or SIGINT, or until the workers of the start fail: then False."""
        self._alive, self._held = os.pipe()  # held by the supervisor alone: its end is our end
        with self._noting_signals():
            while not self._stop_signals and self._keep_up():
                self._look(self._pause())
            has_failed = not self._stop_signals
            self._stop()
        return not has_failed

    def _keep_up(self) -> bool:
        """Start what is missing; False where that is of no use."""
        if self._has_failed_to_start():
            return False
        while len(self._workers) < self._count and time.monotonic() >= self._waits_until:
            self._start()
        return True

    def _has_failed_to_start(self) -> bool:
        return not self._has_served and self._waits_until > 0

    def _pause(self) -> float | None:
        if len(self._workers) == self._count:
            return None
        return max(0.0, self._waits_until - time.monotonic())

    def _look(self, seconds: float | None) -> None:
        """Wait until something happens, at most so long, and note it."""
        for key, _ in self._selector.select(seconds):
            if isinstance(key.fileobj, socket.socket):
                with contextlib.suppress(BlockingIOError):
                    key.fileobj.recv(1_024)
                continue
            worker: _Worker = key.data
            if os.read(worker.pipe, 1):
                self._note_ready(worker)
            else:
                self._note_ended(worker)

    def _note_ready(self, worker: _Worker) -> None:
        worker.is_ready = True
        is_all = len(self._workers) == self._count
        if is_all and not self._has_served and all(one.is_ready for one in self._workers.values()):
            self._has_served = True
            self._on_ready()

    def _note_ended(self, worker: _Worker) -> None:
        self._selector.unregister(worker.pipe)
        os.close(worker.pipe)
        del self._workers[worker.pid]
        _, status = os.waitpid(worker.pid, 0)
        self._on_ended(worker.pid)
        if self._stop_signals:
            return
        code = os.waitstatus_to_exitcode(status)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        _log.warning("worker %d ended (%s) and is replaced", worker.pid, how)
        now = time.monotonic()
        if not worker.is_ready or now < worker.started_at + _PAUSE_SECONDS:
            self._waits_until = now + _PAUSE_SECONDS

    def _start(self) -> None:
        pipe, end = os.pipe()
        # A signal between the fork and the child's own handlers would be noted here, and lost.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os._exit(self._run_child(pipe, end, before))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(end)
        worker = self._workers[pid] = _Worker(pid, pipe, time.monotonic())
        self._selector.register(pipe, selectors.EVENT_READ, worker)

    def _run_child(self, pipe: int, end: int, mask: "set[signal.Signals] | set[int]") -> int:
        """The whole life of a worker; its exit code."""
        try:
            signal.set_wakeup_fd(-1)
            for number in _STOP_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            self._selector.close()
            for held in (self._held, pipe, *(worker.pipe for worker in self._workers.values())):
                os.close(held)
            self._work(Place(end, self._alive))
        except Exception as error:  # noqa: BLE001 - nothing is above it but the end of the process
            _log.error("worker %d cannot work: %s", os.getpid(), in_log(error), exc_info=True)
            return _FAILED
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return 0

    def _stop(self) -> None:
        """Have all workers finish; a further signal is passed on to them."""
        sent = 0
        self._on_stopping()
        for worker in self._workers.values():
            os.kill(worker.pid, signal.SIGTERM)
        while self._workers:
            self._look(None)
            for number in self._stop_signals[max(1, sent) :]:
                for worker in self._workers.values():
                    os.kill(worker.pid, number)
            sent = len(self._stop_signals)
        os.close(self._held)
        os.close(self._alive)
        self._selector.close()

    @contextlib.contextmanager
    def _noting_signals(self) -> Iterator[None]:
        """Note signals that ask to stop, and wake up for them."""
        waking, woken = socket.socketpair()
        waking.setblocking(False)
        woken.setblocking(False)
        self._selector.register(woken, selectors.EVENT_READ)
        former = {
            number: signal.signal(number, lambda got, _: self._stop_signals.append(got))
            for number in _STOP_SIGNALS
        }
        wakeup = signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in former.items():
                signal.signal(number, handler)
            waking.close()
            woken.close()
