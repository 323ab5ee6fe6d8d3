"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Pass it as ``clock`` to ``ricordo.wiring.open_memory`` to decide what time it is."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)) -> None:
        self._now = start

    def __call__(self) -> datetime:
        """What time it is."""
        return self._now

    def set(self, moment: datetime) -> None:
        """Make it this time."""
        self._now = moment

    def advance(self, **time: float) -> None:
        """Move on, e.g. ``advance(days=1)``."""
        self._now += timedelta(**time)
