"""How calls of an upstream are watched by whoever wants to know how they go."""

import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

Outcome = Literal["ok", "refused", "failed", "unreachable", "timeout", "broken", "left"]
"""How a call ended: answered with 2xx, 4xx or 5xx, not at all, not in time, only in part, or with
nobody left to answer to."""

_OF_FAULTS: Final[dict[str, Outcome]] = {
    "upstream_timeout": "timeout",
    "upstream_unreachable": "unreachable",
    "upstream_redirects": "refused",
}


@contextmanager
def _no_span(_headers: MutableMapping[str, str]) -> Iterator[None]:
    yield


@dataclass(frozen=True, slots=True)
class CallWatch:
    """``span`` is around each call until its answer begins, and may add headers to it;
    ``finished`` is told how it ended, and how many seconds it took up to the last byte."""

    span: Callable[[MutableMapping[str, str]], AbstractContextManager[None]] = _no_span
    finished: Callable[[Outcome, float], None] = lambda _outcome, _seconds: None


class Call:
    """One call under way. It ends once; what comes after that counts no more."""

    def __init__(self, watch: CallWatch, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._watch = watch
        self._monotonic = monotonic
        self._began_at = monotonic()
        self._has_ended = False

    def answered(self, status: int) -> None:
        """The answer was read to its end."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._end("failed")
        else:
            self._end("refused" if status >= HTTPStatus.BAD_REQUEST else "ok")

    def failed(self, code: str) -> None:
        """There was no answer, or not all of one; the code says why (``upstream.py``)."""
        self._end(_OF_FAULTS.get(code, "broken"))

    def left(self) -> None:
        """Whoever asked did not wait for the end."""
        self._end("left")

    def _end(self, outcome: Outcome) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._watch.finished(outcome, self._monotonic() - self._began_at)
