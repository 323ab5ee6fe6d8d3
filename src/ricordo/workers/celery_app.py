"""The Celery application: ``celery -A ricordo.workers.celery_app worker``."""

import logging
import os
import signal
from typing import Any, Final

from celery import Celery, signals
from celery.beat import EmbeddedService

from ricordo.errors import StorageError, in_log
from ricordo.jobs.broker import RUN_TASK, SWEEP_TASK, BrokerUnreachable, masked
from ricordo.workers.configuration import IN_MEMORY
from ricordo.workers.store import STORE

# It is configured by ricordo's own settings in the environment (``RICORDO_BROKER_URL``, …). A
# task carries the number of a job and nothing else; whether the job still waits, its row knows.

_END_SOON: Final = getattr(signal, "SIGUSR2", None)
"""What the parent of a pool of processes sends to its children when it is told to stop."""

_log = logging.getLogger(__name__)

app = Celery("ricordo")
app.config_from_object("ricordo.workers.environment:CONFIGURATION")


def run_job(job_id: int) -> None:
    """Run a job, unless it was run already, is not due, or somebody else has it."""
    try:
        runner = STORE.memory().runner
        if not runner.run_one(job_id):
            # It may be due by the clock of whoever sent this, and not yet by ours: then the next
            # sweep sends another one. For all other reasons this changes nothing.
            runner.queue.note_unsent([job_id])
    except StorageError as error:  # the row stays as it is, and the sweep sends another message
        _log.warning("job %s cannot be run now: %s", job_id, in_log(error))


def sweep() -> None:
    """Wake workers for jobs that have become due, or whose messages were lost."""
    try:
        STORE.sweep()
    except (StorageError, BrokerUnreachable) as error:
        _log.warning("the queue of jobs cannot be swept now: %s", in_log(error))


app.task(run_job, name=RUN_TASK)
app.task(sweep, name=SWEEP_TASK)


class _Workplace:
    """The worker that this process is the main process of."""

    worker: Any = None


def _on_init(sender: Any = None, **_: Any) -> None:
    _Workplace.worker = sender
    if _END_SOON is not None:  # children inherit this until they have their own answer to it
        signal.signal(_END_SOON, signal.SIG_IGN)


def _on_ready(**_: Any) -> None:
    conf = app.conf
    queues = ", ".join(sorted(app.amqp.queues.consume_from))
    _log.info("ricordo runs jobs from %s at %s", queues, masked(conf.broker_url))


def _on_child_init(**_: Any) -> None:
    if _END_SOON is not None:
        signal.signal(_END_SOON, lambda *_: STORE.end_soon())


def _on_shutting_down(**_: Any) -> None:
    STORE.end_soon()  # pools of threads, or of none
    pool = getattr(_Workplace.worker, "pool", None)
    if pool is None or _END_SOON is None:
        return
    for process in pool.info.get("processes", ()):
        if process != os.getpid():
            try:
                os.kill(process, _END_SOON)
            except ProcessLookupError:
                continue


def _close(**_: Any) -> None:
    STORE.close()


signals.worker_init.connect(_on_init)
signals.worker_ready.connect(_on_ready)
signals.worker_process_init.connect(_on_child_init)
signals.worker_shutting_down.connect(_on_shutting_down)
signals.worker_process_shutdown.connect(_close)
signals.worker_shutdown.connect(_close)


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
