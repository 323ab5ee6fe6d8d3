"""Times the steps of requests and jobs of a store, for its metrics and traces."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ricordo.memory import Memory
from ricordo.observing.metrics import ServiceMetrics
from ricordo.observing.traces import Tracing
from ricordo.storage.backend import Step, Watch


def watch_steps(memory: Memory, metrics: ServiceMetrics, tracing: Tracing) -> None:
    """From now on tell these of every recall and every call of an embedder in this process."""
    memory.database.watch = _watcher(metrics, tracing)


def _watcher(metrics: ServiceMetrics, tracing: Tracing) -> Watch:
    @contextmanager
    def watch(step: Step) -> Iterator[None]:
        started = time.perf_counter()
        has_failed = True
        try:
            with tracing.span(f"ricordo.{step.value}"):
                yield
            has_failed = False
        finally:
            spent = time.perf_counter() - started
            metrics.step_finished(step, spent, has_failed=has_failed)

    return watch
