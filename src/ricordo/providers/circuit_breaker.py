"""The circuit breaker of an endpoint."""

import contextlib
import threading
import time
from collections.abc import Iterator

from ricordo import fork_safety
from ricordo.errors import RicordoError
from ricordo.limits import BREAKER_FAILURES, BREAKER_OPEN_SECONDS
from ricordo.providers.endpoint import EndpointError, Unavailable
from ricordo.providers.timing import Monotonic


class CircuitBreaker:
    """Stops calling a failing endpoint for a while.

    Closed: all calls pass. Open: none. Half open: one may try. ``Unavailable`` and unexpected
    errors count as failures. An endpoint that refuses or answers with nonsense responds at once, so
    nobody waits for it.
    """

    def __init__(
        self,
        failures: int = BREAKER_FAILURES,
        open_seconds: float = BREAKER_OPEN_SECONDS,
        monotonic: Monotonic = time.monotonic,
    ) -> None:
        self._limit = failures
        self._open_seconds = open_seconds
        self._monotonic = monotonic
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._last_problem = ""
        self._opened_at: float | None = None
        self._probing = False

    def reset_after_fork(self) -> threading.Lock:
        """A child begins with a closed circuit and a fresh lock."""
        inherited = self._lock
        self._set_up()
        return inherited

    @property
    def is_open(self) -> bool:
        """Whether a call would be rejected now."""
        with self._lock:
            return self._refusal() is not None

    @contextlib.contextmanager
    def attempt(self, place: str) -> Iterator[None]:
        """Count the outcome of a call. Raises Unavailable: the circuit is open."""
        with self._lock:
            refusal = self._refusal()
            if refusal is not None:
                raise Unavailable(place, refusal, was_sent=False)
            is_probe = self._probing = self._opened_at is not None
        problem: str | None = "an unexpected error"
        try:
            yield
            problem = None
        except (EndpointError, RicordoError) as error:
            problem = error.problem if isinstance(error, Unavailable) else None
            raise
        finally:
            self._record(problem, is_probe)

    def _refusal(self) -> str | None:
        if self._opened_at is None:
            return None
        left = self._opened_at + self._open_seconds - self._monotonic()
        if left > 0:
            return (
                f"failed {self._failures} times in a row; tried again in {left:.0f} s"
                f" (last problem: {self._last_problem})"
            )
        return "failed before; another call is trying it right now" if self._probing else None

    def _record(self, problem: str | None, is_probe: bool) -> None:
        """``problem`` is None where the endpoint was reached."""
        with self._lock:
            if is_probe:
                self._probing = False
            if problem is None:
                self._failures, self._opened_at = 0, None
            elif is_probe or self._opened_at is None:
                # Calls that began before the circuit opened do not keep it open for longer.
                self._failures += 1
                self._last_problem = problem
                if self._failures >= self._limit:
                    self._opened_at = self._monotonic()
