"""Waiting for what another process does, without a fixed pause."""

import threading
import time
from collections.abc import Callable

PATIENCE_SECONDS = 180.0
_LOOK_EVERY_SECONDS = 0.02


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Look again and again until something is so; an error when it does not come in time."""
    ends_at = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < ends_at, "it did not come in time"
        pause.wait(_LOOK_EVERY_SECONDS)
