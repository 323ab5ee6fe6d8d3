"""The service with its proxy on a free port of loopback, in a thread of this process."""

import contextlib
import queue
import threading
from collections.abc import Iterator

from ricordo.http.serving import serving
from ricordo.memory import Memory


@contextlib.contextmanager
def served(memory: Memory) -> Iterator[str]:
    """The address of a running service. It has remembered everything when it is left."""
    listening: queue.Queue[str] = queue.Queue()
    service = serving(memory, listening.put)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield listening.get(timeout=60).rstrip("/")
    finally:
        service.stop()
        thread.join()
