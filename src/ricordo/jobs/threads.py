"""The threads that work off the queue inside an ordinary process."""

import logging
import threading
from collections.abc import Sequence
from typing import Any, Final

from ricordo import forks
from ricordo.errors import in_log
from ricordo.jobs.lanes import kinds_in
from ricordo.jobs.running import JobRunner
from ricordo.model.vocabulary import Lane

ONE_EACH: Final = (Lane.FAST, Lane.SLOW)
_SHORTEST_PAUSE_SECONDS: Final = 0.01

_log = logging.getLogger(__name__)


class _Line:
    """One thread and the lane that it serves."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.wake = threading.Event()
        self.thread: threading.Thread | None = None


class ThreadRunner:
    """Runs due jobs in threads, each serving a lane; they sleep until the next job is due or
    somebody queues one."""

    def __init__(
        self,
        runner: JobRunner,
        poll_seconds: float,
        lanes: Sequence[Lane] = ONE_EACH,
    ) -> None:
        """There is a thread for each entry of ``lanes``; the first of them also keeps house."""
        self._runner = runner
        self._poll_seconds = poll_seconds
        self._lanes = tuple(lanes)
        self._wanted = False
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._lines = [_Line(lane) for lane in self._lanes]

    def reset_after_fork(self) -> Any:
        """Threads do not survive a fork; the child's own start with its first queued job."""
        inherited = (self._lock, self._stop, self._lines)
        self._set_up()
        return inherited

    def start(self) -> None:
        """Begin working in the background."""
        self._wanted = True
        self._start_threads()

    def wake(self) -> None:
        """There is a new job in the queue."""
        if self._wanted:
            self._start_threads()
        for line in self._lines:
            line.wake.set()

    def stop(self) -> None:
        """End the threads: jobs that work in steps after the step at hand, others when done."""
        self._wanted = False
        self._stop.set()
        self._runner.stop()
        for line in self._lines:
            line.wake.set()
        for line in self._lines:
            if line.thread is not None and line.thread is not threading.current_thread():
                line.thread.join()

    def _start_threads(self) -> None:
        with self._lock:
            for number, line in enumerate(self._lines):
                if line.thread is None or not line.thread.is_alive():
                    name = f"ricordo-jobs-{line.lane}-{number}"
                    line.thread = threading.Thread(
                        target=self._work, args=(line,), name=name, daemon=True
                    )
                    line.thread.start()

    def _work(self, line: _Line) -> None:
        keeps_house = line is self._lines[0]
        while not self._stop.is_set():
            line.wake.clear()
            try:
                while self._runner.run_next(line.lane):
                    if self._stop.is_set():
                        return
                if keeps_house:
                    self._runner.keep_house()
                pause = self._pause(line.lane)
            except Exception as error:  # noqa: BLE001 - the thread must outlive any bad moment
                _log.warning("the job queue cannot be worked off now: %s", in_log(error))
                pause = self._poll_seconds
            line.wake.wait(max(pause, _SHORTEST_PAUSE_SECONDS))

    def _pause(self, lane: Lane) -> float:
        due = self._runner.queue.seconds_until_due(kinds_in(self._runner.kinds, lane))
        return self._poll_seconds if due is None else min(due, self._poll_seconds)
