"""The metrics of a service, for Prometheus."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ricordo.memory import Memory
from ricordo.observing.instruments import Instruments
from ricordo.observing.store_metrics import StoreMetrics


class ServiceMetrics(Instruments):
    """All metrics of one service, in a registry of their own: those of another program in the same
    process are not among them."""

    def __init__(self, memory: Memory, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.registry = CollectorRegistry()
        super().__init__(self.registry)
        self.registry.register(StoreMetrics(memory, monotonic))

    def render(self) -> tuple[bytes, str]:
        """What ``/metrics`` answers, and its content type. It may read the database: not for the
        thread of an event loop."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST
