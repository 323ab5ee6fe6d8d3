"""Deadlines, pauses between requests, and calls that end in time."""

import math
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from ricordo.clock import Clock, system_clock
from ricordo.frozen import dataclass
from ricordo.limits import (
    MAX_RETRY_AFTER_SECONDS,
    MODEL_BACKOFF_BASE_SECONDS,
    MODEL_BACKOFF_CAP_SECONDS,
)

Monotonic = Callable[[], float]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Timing:
    """Sources of time and randomness."""

    monotonic: Monotonic = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    clock: Clock = system_clock


class Deadline:
    """The moment by which a whole call must end; None is never."""

    def __init__(self, seconds: float | None, monotonic: Monotonic) -> None:
        self.seconds = seconds
        self._monotonic = monotonic
        self._end = None if seconds is None else monotonic() + seconds

    def remaining(self, at_most: float = math.inf) -> float:
        """Seconds until then, at most ``at_most``; never below zero."""
        if self._end is None:
            return at_most
        return max(0.0, min(at_most, self._end - self._monotonic()))

    @property
    def has_passed(self) -> bool:
        return self._end is not None and self._monotonic() >= self._end


def backoff_seconds(retry: int, jitter: Callable[[], float]) -> float:
    """A random pause before retry 1, 2 …: full jitter, so that clients do not synchronise."""
    longest = math.ldexp(MODEL_BACKOFF_BASE_SECONDS, retry - 1)
    return min(MODEL_BACKOFF_CAP_SECONDS, longest) * jitter()


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """A Retry-After header in seconds, given as seconds or a date; None when it says nothing."""
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
    """Whether a pause is short enough, in itself and for the time left."""
    return seconds <= MAX_RETRY_AFTER_SECONDS and deadline.remaining(at_most=seconds) >= seconds


def within(seconds: float, call: Callable[[], Result], *, thread_name: str) -> Result:
    """The result of the call, made in its own thread.

    The timeouts of an HTTP client cover single steps: DNS has none, and a server that trickles
    bytes never hits them. An abandoned thread ends when its connection does. Raises TimeoutError:
    it was not done in time. What the call raises is raised as well.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits for it
            outcome.set_exception(error)

    threading.Thread(target=run, name=thread_name, daemon=True).start()
    return outcome.result(timeout=seconds)
