"""What a handler has while it works on a job: the job, a place to report, and limited time."""

import threading
import time
from collections.abc import Callable
from typing import Final

from ricordo.clock import Clock
from ricordo.model.job import Job, Postpone

_REPORT_SECONDS: Final = 1.0
"""How often progress is written at most: reporting must not cost more than the work."""


class JobLost(Exception):
    """The job was given to another worker, which took this one for dead."""


class Stint:
    """One worker's time with one job.

    A handler that works in steps calls :meth:`report` between them. When its time is over, or the
    worker is to stop, that call ends the stint: the job goes back into the queue, behind those
    that are due, and what was done stays done.
    """

    def __init__(
        self,
        job: Job,
        clock: Clock,
        seconds: float,
        stopping: threading.Event,
        tell: Callable[[str], bool],
    ) -> None:
        self.job = job
        self._clock = clock
        self._ends_at = time.monotonic() + seconds
        self._stopping = stopping
        self._tell = tell
        self._told_at = time.monotonic()
        self._lost = threading.Event()

    def report(self, progress: str) -> None:
        """Say how far the work has come, between two steps of it.

        Raises:
            Postpone: the time is over, or the worker is to stop.
            JobLost: another worker has the job now.
        """
        now = time.monotonic()
        is_over = now >= self._ends_at or self._stopping.is_set()
        if is_over or now - self._told_at >= _REPORT_SECONDS:
            self._told_at = now
            if not self._tell(progress):
                self._lost.set()
        if self._lost.is_set():
            raise JobLost(f"job {self.job.id} was given to another worker")
        if is_over:
            raise Postpone(self._clock(), progress)

    def note_lost(self) -> None:
        """A sign of life was refused: somebody else has the job."""
        self._lost.set()
