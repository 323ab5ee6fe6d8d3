"""The clock that drives the sweep, inside a worker instead of a process of its own."""

from typing import Any

from celery import Celery, signals
from celery.beat import EmbeddedService

from ricordo.workers.configuration import IN_MEMORY


def tick_inside(app: Celery) -> None:
    """Have the worker that is about to start send the sweeps of the schedule, too.

    Celery's own way, ``worker -B``, is a process beside the worker, which goes on for ever when
    the worker is killed. This is a thread, which is not.
    """
    service = EmbeddedService(app, thread=True, scheduler_cls=IN_MEMORY)

    def start(**_: Any) -> None:
        service.start()

    def stop(**_: Any) -> None:
        service.service.stop()  # without waiting: it may sleep until the next sweep is due

    signals.worker_ready.connect(start, weak=False)
    signals.worker_shutting_down.connect(stop, weak=False)
