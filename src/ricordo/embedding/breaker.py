"""Leaves an endpoint alone for a while after it failed several times in a row."""

import contextlib
import threading
import time
from collections.abc import Iterator

from ricordo import forks
from ricordo.endpoints.timing import Monotonic
from ricordo.errors import EmbedderUnavailable, RicordoError
from ricordo.limits import BREAKER_FAILURES, BREAKER_OPEN_SECONDS


class CircuitBreaker:
    """Closed: every attempt goes through. Open: none does. Half open: one may try.

    ``EmbedderUnavailable`` counts as a failure, as does anything unforeseen. An endpoint that
    refuses, or answers with nonsense, is there and answers at once, so nobody waits for it.
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
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    def reset_after_fork(self) -> threading.Lock:
        """A child begins with a closed circuit and a lock that nobody holds."""
        inherited = self._lock
        self._set_up()
        return inherited

    @property
    def is_open(self) -> bool:
        """Whether an attempt would be turned away now."""
        with self._lock:
            return self._refusal() is not None

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Count what happens inside.

        Raises:
            EmbedderUnavailable: the circuit is open; the message says for how long.
        """
        probe = self._admit()
        reached = False
        try:
            yield
            reached = True
        except RicordoError as error:
            reached = not isinstance(error, EmbedderUnavailable)
            raise
        finally:
            self._record(reached, probe)

    def _admit(self) -> bool:
        with self._lock:
            refusal = self._refusal()
            if refusal is not None:
                raise EmbedderUnavailable(refusal)
            self._probing = self._opened_at is not None
            return self._probing

    def _refusal(self) -> str | None:
        if self._opened_at is None:
            return None
        left = self._opened_at + self._open_seconds - self._monotonic()
        if left > 0:
            return f"failed {self._failures} times in a row; tried again in {left:.0f} s"
        return "failed before; another call is trying it right now" if self._probing else None

    def _record(self, reached: bool, probe: bool) -> None:
        with self._lock:
            if probe:
                self._probing = False
            if reached:
                self._failures, self._opened_at = 0, None
            elif probe or self._opened_at is None:
                # Attempts that began before the circuit opened do not keep it open for longer.
                self._failures += 1
                if self._failures >= self._limit:
                    self._opened_at = self._monotonic()
