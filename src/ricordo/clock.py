"""Where the time comes from. Passed down from the composition root so that tests can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """The present moment in UTC."""
    return datetime.now(UTC)
