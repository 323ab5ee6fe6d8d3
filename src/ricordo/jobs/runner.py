"""Running jobs: worker threads, heartbeats, and the context of a handler."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from ricordo import fork_safety
from ricordo.clock import Clock
from ricordo.errors import StorageError, in_log
from ricordo.jobs.queue import JobQueue, kinds_in
from ricordo.limits import MAX_JOBS_PER_RUN
from ricordo.model.activity import Job, Postpone
from ricordo.model.vocabulary import Lane

_REPORT_SECONDS: Final = 1.0
"""The minimum interval between progress writes."""

_TRIM_SECONDS: Final = 3_600.0
THREADS: Final = (Lane.FAST, Lane.SLOW, Lane.DELIVERY, Lane.DELIVERY)
"""The lanes of the threads of a program; one receiver that hangs does not hold up all."""

_SHORTEST_PAUSE_SECONDS: Final = 0.01

_log = logging.getLogger(__name__)


class JobLost(Exception):
    """The job was given to another worker, because this one seemed dead."""


class JobContext:
    """One run of a job by a worker.

    A handler that works in steps calls :meth:`report` between them. When its time is up, or the
    worker stops, that call ends the run: the job is queued again behind those that are due, and
    finished steps stay.
    """

    def __init__(
        self,
        job: Job,
        clock: Clock,
        seconds: float,
        stopping: threading.Event,
        heartbeat: Callable[[str], bool],
    ) -> None:
        """``heartbeat`` stores progress, and returns False where another worker has the job."""
        self.job = job
        self._clock = clock
        self._ends_at = time.monotonic() + seconds
        self._stopping = stopping
        self._heartbeat = heartbeat
        self._reported_at = time.monotonic()
        self._lost = threading.Event()

    def report(self, progress: str) -> None:
        """Report progress between two steps. Raises Postpone: the time is up, or the worker stops;
        JobLost: another worker has the job now."""
        now = time.monotonic()
        is_over = now >= self._ends_at or self._stopping.is_set()
        if is_over or now - self._reported_at >= _REPORT_SECONDS:
            self._reported_at = now
            if not self._heartbeat(progress):
                self._lost.set()
        if self._lost.is_set():
            raise JobLost(f"job {self.job.id} was given to another worker")
        if is_over:
            raise Postpone(self._clock(), progress)

    def note_lost(self) -> None:
        """A heartbeat was refused: another worker has the job."""
        self._lost.set()


Handler = Callable[[JobContext], object]


class JobRunner:
    """Takes jobs from the queue and runs them, one at a time per calling thread."""

    def __init__(
        self,
        queue: JobQueue,
        handlers: Mapping[str, Handler],
        run_seconds: float,
        maintain: Callable[[], object] = lambda: None,
    ) -> None:
        """``run_seconds`` is how long a job runs before others get their turn; ``maintain`` is
        called whenever the queue is empty."""
        self.queue = queue
        self.kinds = frozenset(handlers)
        self._handlers = handlers
        self._run_seconds = run_seconds
        self._maintain = maintain
        self._trim_at = 0.0
        self._stopping = threading.Event()
        fork_safety.reset_in_child(self)

    def reset_after_fork(self) -> Any:
        """Its lock may belong to a thread that the child does not have."""
        inherited, self._stopping = self._stopping, threading.Event()
        return inherited

    def stop(self) -> None:
        """End stepwise jobs after the current step; they are continued later."""
        self._stopping.set()

    def maintain(self) -> None:
        """Maintain the store and the queue, when a worker starts or is idle."""
        self._maintain()
        if time.monotonic() >= self._trim_at:
            self._trim_at = time.monotonic() + _TRIM_SECONDS
            self.queue.trim()

    def run_due(self, limit: int = MAX_JOBS_PER_RUN) -> int:
        """Run what is due now in the calling thread; how many jobs."""
        done = 0
        while done < limit and self.run_next():
            done += 1
        return done

    def run_next(self, lane: Lane | None = None) -> bool:
        """Run the job that has been due longest, of a lane or of all; False where none is."""
        return self._run_claimed(self.queue.claim(kinds_in(self.kinds, lane)))

    def run_one(self, job_id: int) -> bool:
        """Run this job; False where it is not due, or another worker has it."""
        return self._run_claimed(self.queue.claim(self.kinds, only=job_id))

    def _run_claimed(self, job: Job | None) -> bool:
        if job is not None:
            self._run(job)
        return job is not None

    def _run(self, job: Job) -> None:
        job_context = JobContext(
            job,
            self.queue.database.clock,
            self._run_seconds,
            self._stopping,
            lambda progress: self.queue.heartbeat(job, progress),
        )
        try:
            with self._heartbeats(job_context):
                self._handlers[job.kind](job_context)
        except Postpone as wait:
            self.queue.postpone(job, wait.until, str(wait))
        except JobLost as lost:
            _log.warning("%s", lost)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is put on its job
            message = in_log(error)  # the row has the full message
            _log.warning("job %s (%s) failed: %s", job.id, job.kind, message, exc_info=True)
            self.queue.fail(job, f"{type(error).__name__}: {error}")
        else:
            self.queue.finish(job)

    @contextlib.contextmanager
    def _heartbeats(self, job_context: JobContext) -> Iterator[None]:
        """Renew the lease while a handler works."""
        finished = threading.Event()
        interval = self.queue.lease.total_seconds() / 3
        job = job_context.job

        def beat() -> None:
            while not finished.wait(interval):
                try:
                    if not self.queue.heartbeat(job):
                        job_context.note_lost()
                        return
                except StorageError as error:
                    _log.warning("no heartbeat for job %s: %s", job.id, in_log(error))

        beating = threading.Thread(target=beat, name=f"ricordo-heartbeat-{job.id}", daemon=True)
        beating.start()
        try:
            yield
        finally:
            finished.set()
            beating.join()


class _WorkerThread:
    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.wake = threading.Event()
        self.thread: threading.Thread | None = None


class ThreadRunner:
    """Runs due jobs in threads, one per lane entry; they sleep until a job is due or queued."""

    def __init__(
        self, runner: JobRunner, poll_seconds: float, lanes: Sequence[Lane] = THREADS
    ) -> None:
        """One thread per entry of ``lanes``; the first also maintains the queue."""
        self._runner = runner
        self._poll_seconds = poll_seconds
        self._lanes = tuple(lanes)
        self._wanted = False
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._workers = [_WorkerThread(lane) for lane in self._lanes]

    def reset_after_fork(self) -> Any:
        """Threads do not survive a fork; the child's start with its first queued job."""
        inherited = (self._lock, self._stop, self._workers)
        self._set_up()
        return inherited

    def start(self) -> None:
        self._wanted = True
        self._start_threads()

    def wake(self) -> None:
        if self._wanted:
            self._start_threads()
        for worker in self._workers:
            worker.wake.set()

    def stop(self) -> None:
        """End the threads: stepwise jobs after the current step, others when done."""
        self._wanted = False
        self._stop.set()
        self._runner.stop()
        for worker in self._workers:
            worker.wake.set()
        for worker in self._workers:
            if worker.thread is not None and worker.thread is not threading.current_thread():
                worker.thread.join()

    def _start_threads(self) -> None:
        with self._lock:
            for number, worker in enumerate(self._workers):
                if worker.thread is None or not worker.thread.is_alive():
                    name = f"ricordo-jobs-{worker.lane}-{number}"
                    worker.thread = threading.Thread(
                        target=self._work, args=(worker,), name=name, daemon=True
                    )
                    worker.thread.start()

    def _work(self, worker: _WorkerThread) -> None:
        maintains = worker is self._workers[0]
        while not self._stop.is_set():
            worker.wake.clear()
            try:
                while self._due(worker.lane) == 0 and self._runner.run_next(worker.lane):
                    if self._stop.is_set():
                        return
                if maintains:
                    self._runner.maintain()
                due = self._due(worker.lane)
                pause = self._poll_seconds if due is None else min(due, self._poll_seconds)
            except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
                _log.warning("the job queue cannot be worked off now: %s", in_log(error))
                pause = self._poll_seconds
            worker.wake.wait(max(pause, _SHORTEST_PAUSE_SECONDS))

    def _due(self, lane: Lane) -> float | None:
        """Seconds until a job of a lane is due. That only reads, as taking one would not."""
        return self._runner.queue.seconds_until_due(kinds_in(self._runner.kinds, lane))


class Background(Protocol):
    """Threads of this process, or a broker that wakes workers elsewhere."""

    def start(self) -> None: ...

    def wake(self) -> None: ...

    def stop(self) -> None: ...
