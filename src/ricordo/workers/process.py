"""A worker process that runs jobs until it is stopped."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from ricordo.jobs.runner import ThreadRunner
from ricordo.memory import Memory
from ricordo.model.vocabulary import Lane

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_LOOK_SECONDS: Final = 1.0


def work_until_stopped(
    memory: Memory, threads: int, lane: Lane | None, begun: Callable[[], None]
) -> None:
    """Run due jobs in threads until SIGTERM or SIGINT, which are obeyed once it has ``begun``.

    Without a lane, slow jobs run in all threads, quick ones in one more, and deliveries in as many
    as slow ones.

    The store was opened without threads of its own. A job that works in steps ends after the
    current step and is continued later, others are finished. A second signal ends the process at
    once.
    """
    lanes = (Lane.FAST, *(Lane.SLOW, Lane.DELIVERY) * threads)
    if lane is not None:
        lanes = (lane,) * threads
    runner = ThreadRunner(memory.runner, memory.settings.job_poll_seconds, lanes)
    with stop_signals() as stopped:
        memory.database.on_job_queued = runner.wake
        runner.start()
        begun()
        while not stopped.wait(_LOOK_SECONDS):  # for ever, on Windows, no signal would end it
            pass
        runner.stop()


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event set by SIGTERM and SIGINT; a second signal ends the process at once."""
    stopped = threading.Event()
    former = {number: signal.getsignal(number) for number in _STOP_SIGNALS}

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    for number in _STOP_SIGNALS:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
