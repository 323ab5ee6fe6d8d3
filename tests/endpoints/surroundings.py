"""What tests of endpoints share: time that passes only when somebody sleeps, and no proxy."""

from datetime import UTC, datetime, timedelta

import pytest

from ricordo.providers.timing import Timing


class SteppingTime:
    """A clock that moves by what is slept; ``pauses`` are those sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.pauses: list[float] = []
        self.timing = Timing(
            monotonic=lambda: self.now,
            sleep=self.sleep,
            jitter=lambda: 1.0,
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now - 1_000),
        )

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def forget_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy of the environment come between a test and its server."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
