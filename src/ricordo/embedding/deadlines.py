"""How long to wait before an endpoint is asked for vectors again."""

from collections.abc import Callable

from ricordo.endpoints import timing
from ricordo.limits import EMBEDDING_BACKOFF_BASE_SECONDS, EMBEDDING_BACKOFF_CAP_SECONDS


def backoff_seconds(attempt: int, jitter: Callable[[], float]) -> float:
    """A random pause after attempt 1, 2 …, longer each time."""
    return timing.backoff_seconds(
        attempt, jitter, base=EMBEDDING_BACKOFF_BASE_SECONDS, cap=EMBEDDING_BACKOFF_CAP_SECONDS
    )
