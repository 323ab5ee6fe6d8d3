"""Which jobs wait in line together: quick ones must not wait behind those that take their time."""

from collections.abc import Iterable
from typing import Final

from ricordo.conversation.scheduling import COMPACT_JOB
from ricordo.formation.schedule import FORM_JOB, SUMMARY_JOB
from ricordo.index.rebuild import REINDEX_JOB
from ricordo.memories.erasure import SCRUB_JOB
from ricordo.model.vocabulary import Lane
from ricordo.storage.search_rows import EMBED_JOB
from ricordo.upkeep.kinds import CONSOLIDATE_JOB, INSIGHTS_JOB, RELATE_JOB

SLOW_JOBS: Final = frozenset(
    {
        FORM_JOB,
        SUMMARY_JOB,
        COMPACT_JOB,
        EMBED_JOB,
        REINDEX_JOB,
        CONSOLIDATE_JOB,
        INSIGHTS_JOB,
        RELATE_JOB,
    }
)
"""What may ask a model, make vectors, or read all that a user has stored."""

INDISPENSABLE_JOBS: Final = frozenset({REINDEX_JOB, SCRUB_JOB})
"""What is queued once, by something that does not happen again: it cannot be cancelled."""


def lane_of(kind: str) -> Lane:
    """Where jobs of a kind wait."""
    return Lane.SLOW if kind in SLOW_JOBS else Lane.FAST


def kinds_in(kinds: Iterable[str], lane: Lane | None) -> frozenset[str]:
    """Those of the kinds that wait in a lane, or all of them."""
    return frozenset(kind for kind in kinds if lane is None or lane_of(kind) is lane)
