"""Time that is left, and time to wait. All of it can be set by tests."""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ricordo.clock import Clock, system_clock
from ricordo.limits import MAX_RETRY_AFTER_SECONDS

Monotonic = Callable[[], float]


@dataclass(frozen=True)
class Timing:
    """Where time and chance come from."""

    monotonic: Monotonic = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    clock: Clock = system_clock


class Deadline:
    """A moment by which a whole call must be over; None is never."""

    def __init__(self, seconds: float | None, monotonic: Monotonic) -> None:
        self.seconds = seconds
        self._monotonic = monotonic
        self._end = None if seconds is None else monotonic() + seconds

    def remaining(self, at_most: float = math.inf) -> float:
        """Seconds until then, at most so many; never below zero."""
        if self._end is None:
            return at_most
        return max(0.0, min(at_most, self._end - self._monotonic()))

    @property
    def has_passed(self) -> bool:
        """Whether no time is left."""
        return self._end is not None and self._monotonic() >= self._end


def backoff_seconds(retry: int, jitter: Callable[[], float], *, base: float, cap: float) -> float:
    """A random pause before retry 1, 2 …: full jitter, so that clients do not come in step."""
    return min(cap, math.ldexp(base, retry - 1)) * jitter()


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """What a Retry-After header asks for, as seconds or as a date; None when it says nothing."""
    if header is None:
        return None
    value = header.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def may_wait(seconds: float, deadline: Deadline) -> bool:
    """Whether a pause is short enough, in itself and for the time that is left."""
    return seconds <= MAX_RETRY_AFTER_SECONDS and deadline.remaining(at_most=seconds) >= seconds
