"""What upkeep did."""

from dataclasses import dataclass

from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport(Record):
    """What one round of a user's upkeep brought.

    ``forgotten`` memories were soft-deleted, ``trimmed`` rows of old events, counters and notes
    went, ``unrelated`` relations were cut, ``vectors_asked`` texts wait for their vectors.
    ``queued`` are the kinds of the jobs that the rest was left to.
    """

    forgotten: int = 0
    trimmed: int = 0
    unrelated: int = 0
    vectors_asked: int = 0
    queued: tuple[str, ...] = ()
