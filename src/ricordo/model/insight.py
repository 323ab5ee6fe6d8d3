"""What drawing insights brought."""

from dataclasses import dataclass
from typing import Final

from ricordo.model.record import Record

INSIGHTS_WRITTEN: Final = "insights_written"
INSIGHTS_DROPPED: Final = "insights_dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightReport(Record):
    """One look at what a user was busy with.

    ``written`` are the ids of the new memories, ``dropped`` says how many observations were turned
    away, ``skipped`` why there was no look, or nothing came of it.
    """

    written: tuple[int, ...] = ()
    dropped: int = 0
    skipped: str | None = None
