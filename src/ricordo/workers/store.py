"""The store of a worker process, opened with its first job, after any fork."""

import threading
from typing import Final

from ricordo.jobs.broker import Messenger, sweep
from ricordo.memory import Memory
from ricordo.wiring import open_memory
from ricordo.workers.configuration import broker_of


class WorkerStore:
    """Opens the store once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sweeping = threading.Lock()
        self._memory: Memory | None = None
        self._messenger: Messenger | None = None
        self._is_ending = False

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
            return  # another thread is doing it
        try:
            sweep(memory.runner.queue, memory.runner.kinds, messenger)
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
