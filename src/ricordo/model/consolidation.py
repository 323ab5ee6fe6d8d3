"""What consolidation did, pair by pair."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ricordo.model.record import Record

CONSOLIDATION_PAIRS: Final = "consolidation_pairs"
"""Pairs that were looked at; a day's are limited."""
CONSOLIDATION_MERGED: Final = "consolidation_merged"
CONSOLIDATION_SUPERSEDED: Final = "consolidation_superseded"
CONSOLIDATION_LINKED: Final = "consolidation_linked"


class PairAction(StrEnum):
    """What became of two memories that lie near each other."""

    MERGE = "merge"
    SUPERSEDE = "supersede"
    LINK = "link"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision(Record):
    """What became of one pair, and why.

    ``replaced`` is the memory that ``kept`` took the place of; where both stay, ``beside`` is the
    other one.
    """

    kept: int
    action: PairAction
    reason: str
    similarity: float
    replaced: int | None = None
    beside: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport(Record):
    """What one consolidation brought.

    ``waiting`` pairs are left for another day, and ``waits`` says why. Of a ``dry_run`` the
    decisions say what would be done.
    """

    pairs: int = 0
    merged: int = 0
    superseded: int = 0
    linked: int = 0
    waiting: int = 0
    waits: str | None = None
    decisions: tuple[PairDecision, ...] = ()
    dry_run: bool = False
