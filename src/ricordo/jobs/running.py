"""Running a claimed job: signs of life while it works, and what becomes of it afterwards."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ricordo import forks
from ricordo.errors import StorageError, in_log
from ricordo.jobs.lanes import kinds_in
from ricordo.jobs.queue import JobQueue
from ricordo.jobs.stint import JobLost, Stint
from ricordo.limits import MAX_JOBS_PER_RUN
from ricordo.model.job import Job, Postpone
from ricordo.model.vocabulary import Lane

_TRIM_SECONDS: Final = 3_600.0

Handler = Callable[[Stint], None]

_log = logging.getLogger(__name__)


class JobRunner:
    """Takes jobs from the queue and runs them, one per calling thread at a time."""

    def __init__(
        self,
        queue: JobQueue,
        handlers: Mapping[str, Handler],
        run_seconds: float,
        between: Callable[[], object] = lambda: None,
    ) -> None:
        """``run_seconds`` is how long a job works before others get their turn; ``between`` is
        called whenever a worker has worked off the queue."""
        self.queue = queue
        self.kinds = frozenset(handlers)
        self._handlers = handlers
        self._run_seconds = run_seconds
        self._between = between
        self._trim_at = 0.0
        self._stopping = threading.Event()
        forks.reset_in_child(self)

    def reset_after_fork(self) -> Any:
        """A lock inside may have been held by a thread that the child does not have."""
        inherited, self._stopping = self._stopping, threading.Event()
        return inherited

    def stop(self) -> None:
        """End jobs that work in steps after the step at hand; they go on another time."""
        self._stopping.set()

    def keep_house(self) -> None:
        """What a worker does when there is nothing to do, and before it begins."""
        self._between()
        if time.monotonic() >= self._trim_at:
            self._trim_at = time.monotonic() + _TRIM_SECONDS
            self.queue.trim()

    def run_due(self, limit: int = MAX_JOBS_PER_RUN) -> int:
        """Run what is due now in the calling thread; how many jobs there were."""
        done = 0
        while done < limit and self.run_next():
            done += 1
        return done

    def run_next(self, lane: Lane | None = None) -> bool:
        """Run the job that is due longest, of a lane or of all; False where none is."""
        return self._run_claimed(self.queue.claim(kinds_in(self.kinds, lane)))

    def run_one(self, job_id: int) -> bool:
        """Run this job; False where it is not due, or somebody else has it."""
        return self._run_claimed(self.queue.claim(self.kinds, only=job_id))

    def _run_claimed(self, job: Job | None) -> bool:
        if job is not None:
            self._run(job)
        return job is not None

    def _run(self, job: Job) -> None:
        stint = self._stint(job)
        try:
            with self._heartbeats(stint):
                self._handlers[job.kind](stint)
        except Postpone as wait:
            self.queue.postpone(job, wait.until, str(wait))
        except JobLost as lost:
            _log.warning("%s", lost)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is put on its job
            told = in_log(error)  # the row keeps all of it
            _log.warning("job %s (%s) failed: %s", job.id, job.kind, told, exc_info=True)
            self.queue.fail(job, f"{type(error).__name__}: {error}")
        else:
            self.queue.finish(job)

    def _stint(self, job: Job) -> Stint:
        def tell(progress: str) -> bool:
            return self.queue.heartbeat(job, progress)

        clock = self.queue.database.clock
        return Stint(job, clock, self._run_seconds, self._stopping, tell)

    @contextlib.contextmanager
    def _heartbeats(self, stint: Stint) -> Iterator[None]:
        """Keep the lease alive while a handler works."""
        finished = threading.Event()
        interval = self.queue.lease.total_seconds() / 3
        job = stint.job

        def beat() -> None:
            while not finished.wait(interval):
                try:
                    if not self.queue.heartbeat(job):
                        stint.note_lost()
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
