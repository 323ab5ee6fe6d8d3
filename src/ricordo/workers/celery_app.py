"""The Celery application: ``celery -A ricordo.workers.celery_app worker``."""

import logging
import os
import signal
import threading
from typing import Any, Final

from celery import Celery, signals
from celery.beat import EmbeddedService

from ricordo.errors import StorageError, in_log
from ricordo.jobs import broker
from ricordo.jobs.broker import RUN_TASK, SWEEP_TASK, BrokerUnreachable, Messenger, masked
from ricordo.memory import Memory
from ricordo.wiring import open_memory
from ricordo.workers.configuration import IN_MEMORY, broker_of

# Configured by ricordo's settings in the environment (``RICORDO_BROKER_URL``, …). A task carries
# only a job id; the job's row says whether it still has to run.

_END_SOON: Final = getattr(signal, "SIGUSR2", None)
"""Sent by the parent of a process pool to its children when it is stopped."""

_log = logging.getLogger(__name__)


class WorkerStore:
    """The store of a worker process, opened with its first job, after any fork. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sweeping = threading.Lock()
        self._memory: Memory | None = None
        self._messenger: Messenger | None = None
        self._is_ending = False
        self.worker: Any = None  # Celery's worker, where this is its main process

    def memory(self) -> Memory:
        """The store; jobs queued in it wake workers through the broker.

        Raises:
            InvalidInput, StorageError: it cannot be opened.
        """
        with self._lock:
            if self._memory is None:
                self._memory = open_memory(run_jobs=True)
                self._messenger = Messenger(broker_of(self._memory.settings))
            if self._is_ending:
                self._memory.runner.stop()
            return self._memory

    def sweep(self) -> None:
        """Send messages for jobs that have become due or lost theirs.

        Raises:
            StorageError, BrokerUnreachable.
        """
        memory = self.memory()
        messenger = self._messenger
        if messenger is None or not self._sweeping.acquire(blocking=False):
            return  # another thread sweeps
        try:
            broker.sweep(memory.runner.queue, memory.runner.kinds, messenger)
        finally:
            self._sweeping.release()

    def end_soon(self) -> None:
        """End stepwise jobs after the current step; another worker continues them.

        Called from a signal handler, so it must not wait for a lock.
        """
        self._is_ending = True
        memory = self._memory
        if memory is not None:
            memory.runner.stop()

    def close(self) -> None:
        with self._lock:
            memory, self._memory = self._memory, None
            messenger, self._messenger = self._messenger, None
        if messenger is not None:
            messenger.close()
        if memory is not None:
            memory.close()


STORE: Final = WorkerStore()

app = Celery("ricordo")
app.config_from_object("ricordo.workers.environment:CONFIGURATION")


def run_job(job_id: int) -> None:
    """Run a job, unless it is done, not due, or leased by another worker."""
    try:
        runner = STORE.memory().runner
        if not runner.run_one(job_id):
            # It may be due by the sender's clock and not yet by ours: then the next sweep sends
            # another message.
            runner.queue.note_unsent([job_id])
    except StorageError as error:  # the row is unchanged, and the sweep sends another message
        _log.warning("job %s cannot be run now: %s", job_id, in_log(error))


def sweep() -> None:
    """Send messages for jobs that have become due, or whose messages were lost."""
    try:
        STORE.sweep()
    except (StorageError, BrokerUnreachable) as error:
        _log.warning("the queue of jobs cannot be swept now: %s", in_log(error))


app.task(run_job, name=RUN_TASK)
app.task(sweep, name=SWEEP_TASK)


def _on_init(sender: Any = None, **_: Any) -> None:
    STORE.worker = sender
    if _END_SOON is not None:  # children inherit this until they install their own handler
        signal.signal(_END_SOON, signal.SIG_IGN)


def _on_ready(**_: Any) -> None:
    conf = app.conf
    queues = ", ".join(sorted(app.amqp.queues.consume_from))
    _log.info("ricordo runs jobs from %s at %s", queues, masked(conf.broker_url))


def _on_child_init(**_: Any) -> None:
    if _END_SOON is not None:
        signal.signal(_END_SOON, lambda *_: STORE.end_soon())


def _on_shutting_down(**_: Any) -> None:
    STORE.end_soon()  # pools of threads, or none
    pool = getattr(STORE.worker, "pool", None)
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
    """Send the scheduled sweeps from a thread of the starting worker.

    Celery's own ``worker -B`` is a child process, which survives when the worker is killed.
    """
    service = EmbeddedService(app, thread=True, scheduler_cls=IN_MEMORY)

    def start(**_: Any) -> None:
        service.start()

    def stop(**_: Any) -> None:
        service.service.stop()  # without waiting: it may sleep until the next sweep

    signals.worker_ready.connect(start, weak=False)
    signals.worker_shutting_down.connect(stop, weak=False)
