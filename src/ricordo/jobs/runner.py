"""The thread that works off the queue inside an ordinary process."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ricordo import forks
from ricordo.errors import StorageError
from ricordo.jobs.handlers import Handler
from ricordo.jobs.queue import JobQueue
from ricordo.limits import MAX_JOBS_PER_RUN
from ricordo.model.job import Job, Postpone

_SHORTEST_PAUSE_SECONDS: Final = 0.01

_log = logging.getLogger(__name__)


class ThreadRunner:
    """Runs due jobs one after another; sleeps until the next is due or somebody queues one."""

    def __init__(
        self,
        queue: JobQueue,
        handlers: Mapping[str, Handler],
        poll_seconds: float,
        between: Callable[[], object] = lambda: None,
    ) -> None:
        """``between`` is called whenever the queue has been worked off."""
        self._queue = queue
        self._handlers = handlers
        self._kinds = frozenset(handlers)
        self._poll_seconds = poll_seconds
        self._between = between
        self._wanted = False
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def reset_after_fork(self) -> Any:
        """Threads do not survive a fork; the child's own starts with its first queued job."""
        inherited = (self._lock, self._wake, self._stop, self._thread)
        self._set_up()
        return inherited

    def start(self) -> None:
        """Begin working in the background."""
        self._wanted = True
        self._start_thread()

    def wake(self) -> None:
        """There is a new job in the queue."""
        if self._wanted:
            self._start_thread()
        self._wake.set()

    def stop(self) -> None:
        """Finish the job at hand and end the thread."""
        self._wanted = False
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def run_due(self, limit: int = MAX_JOBS_PER_RUN) -> int:
        """Run what is due now in the calling thread; how many jobs there were."""
        done = 0
        while done < limit and self._run_next():
            done += 1
        return done

    def _run_next(self) -> bool:
        job = self._queue.claim(self._kinds)
        if job is not None:
            self._run(job)
        return job is not None

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="ricordo-jobs", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                while self._run_next():
                    if self._stop.is_set():
                        return
                self._between()
                self._queue.trim()
                pause = self._pause()
            except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
                _log.warning("the job queue cannot be worked off now: %s", error)
                pause = self._poll_seconds
            self._wake.wait(max(pause, _SHORTEST_PAUSE_SECONDS))

    def _pause(self) -> float:
        due = self._queue.seconds_until_due(self._kinds)
        return self._poll_seconds if due is None else min(due, self._poll_seconds)

    def _run(self, job: Job) -> None:
        try:
            with self._heartbeats(job):
                self._handlers[job.kind](job)
        except Postpone as wait:
            self._queue.postpone(job, wait.until, str(wait))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is put on its job
            _log.warning("job %s (%s) failed: %s", job.id, job.kind, error, exc_info=True)
            self._queue.fail(job, f"{type(error).__name__}: {error}")
        else:
            self._queue.finish(job)

    @contextlib.contextmanager
    def _heartbeats(self, job: Job) -> Iterator[None]:
        """Keep the lease alive while a handler works."""
        finished = threading.Event()
        interval = self._queue.lease.total_seconds() / 3

        def beat() -> None:
            while not finished.wait(interval):
                try:
                    if not self._queue.heartbeat(job):
                        return
                except StorageError as error:
                    _log.warning("no heartbeat for job %s: %s", job.id, error)

        beating = threading.Thread(target=beat, name=f"ricordo-heartbeat-{job.id}", daemon=True)
        beating.start()
        try:
            yield
        finally:
            finished.set()
            beating.join()
