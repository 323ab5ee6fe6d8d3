"""Telling a broker of queued jobs, so that workers elsewhere run them.

A message says no more than which job is due. The row is the truth: a message that is lost is sent
again by the sweep, and one that comes twice finds nothing left to do.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from ricordo import forks
from ricordo.errors import in_log
from ricordo.jobs.broker import BrokerUnreachable, Messenger, checked_url, masked
from ricordo.jobs.lanes import kinds_in, lane_of
from ricordo.jobs.queue import JobQueue
from ricordo.model.vocabulary import Lane

_FIRST_RETRY_SECONDS: Final = 0.5
_LONGEST_RETRY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 2.5
_PATIENCE: Final = timedelta(minutes=15)
"""After how long a job is told of again while its queue is not empty: it most likely just waits
for its turn, and every further message would only make the queue longer."""

_log = logging.getLogger(__name__)


def send_waiting(
    queue: JobQueue,
    kinds: frozenset[str],
    messenger: Messenger,
    resend_after: timedelta | None = None,
) -> int:
    """Send a message for each due job of these kinds that none was sent for; how many.

    ``resend_after`` sends another one for jobs whose message is older and which still wait.

    Raises:
        BrokerUnreachable: the broker did not take all of them; the rest counts as not sent.
    """
    messenger.connect()  # nothing is written while there is nobody to tell
    waiting = queue.take_unsent(kinds, resend_after)
    sent = 0
    try:
        for job_id, kind in waiting:
            messenger.send(job_id, lane_of(kind))
            sent += 1
    finally:
        if sent < len(waiting):
            queue.note_unsent([job_id for job_id, _ in waiting[sent:]])
    return sent


def sweep(queue: JobQueue, kinds: frozenset[str], messenger: Messenger) -> int:
    """Send messages for what has become due since, and for those that were lost; how many.

    A job that waits although the queue of its lane is empty has lost its message, unless a worker
    has just fetched it.

    Raises:
        BrokerUnreachable: the broker does not answer.
    """
    lengths = messenger.lengths()
    return sum(
        send_waiting(
            queue,
            kinds_in(kinds, lane),
            messenger,
            resend_after=_PATIENCE if lengths[lane] else queue.lease,
        )
        for lane in Lane
    )


class BrokerWaker:
    """Tells the broker of new jobs, in a thread of its own: no write ever waits for a broker."""

    def __init__(
        self,
        queue: JobQueue,
        kinds: frozenset[str],
        url: str,
        poll_seconds: float,
        between: Callable[[], object] = lambda: None,
    ) -> None:
        """``between`` is called every ``poll_seconds``.

        Raises:
            InvalidValue: not the address of a broker that is known, or Celery is not installed.
        """
        self._queue = queue
        self._kinds = kinds
        self._url = checked_url(url)
        self._poll_seconds = poll_seconds
        self._between = between
        self._messenger = Messenger(self._url)
        self._wanted = False
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_asked = False
        self._failures = 0
        self._retry_at = 0.0
        self._house_at = 0.0

    def reset_after_fork(self) -> Any:
        """The thread does not survive a fork; the child's own starts with its first queued job."""
        inherited = (self._lock, self._stop, self._wake, self._thread, self._messenger.abandon())
        self._set_up()
        return inherited

    def start(self) -> None:
        """Begin."""
        self._wanted = True
        self._start_thread()

    def wake(self) -> None:
        """There is a new job in the queue."""
        self._is_asked = True
        if self._wanted:
            self._start_thread()
        self._wake.set()

    def stop(self) -> None:
        """Send what there is if the broker answers soon, and end the thread."""
        self._wanted = False
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS)

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._work, name="ricordo-waker", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        while True:
            is_last = self._stop.is_set()
            self._wake.clear()
            if self._is_asked and (is_last or time.monotonic() >= self._retry_at):
                self._send()
            if is_last:
                self._messenger.close()
                return
            self._keep_house()
            self._wake.wait(self._pause())

    def _send(self) -> None:
        self._is_asked = False
        try:
            while send_waiting(self._queue, self._kinds, self._messenger):
                pass
        except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
            self._is_asked = True
            self._note_failure(error)
        else:
            if self._failures:
                _log.info("workers are woken again at %s", masked(self._url))
            self._failures = 0

    def _note_failure(self, error: Exception) -> None:
        """Say once that it does not work; try again, ever less often."""
        if self._failures == 0 and not self._stop.is_set():
            what = "the broker" if isinstance(error, BrokerUnreachable) else "waking workers"
            _log.warning(
                "%s at %s fails, jobs wait until it works again: %s",
                what,
                masked(self._url),
                error if isinstance(error, BrokerUnreachable) else in_log(error),
            )
        pause = min(_FIRST_RETRY_SECONDS * 2.0 ** min(self._failures, 30), _LONGEST_RETRY_SECONDS)
        self._failures += 1
        self._retry_at = time.monotonic() + pause

    def _keep_house(self) -> None:
        if time.monotonic() < self._house_at:  # not with every wake-up
            return
        self._house_at = time.monotonic() + self._poll_seconds
        try:
            self._between()
        except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
            _log.warning("the queue cannot be kept in order now: %s", in_log(error))

    def _pause(self) -> float:
        if not self._is_asked:
            return self._poll_seconds
        return min(self._poll_seconds, max(0.0, self._retry_at - time.monotonic()))
