"""How long recalls took, kept as counts of a few spans of milliseconds.

Counts of spans can be added up over days and users, which percentiles cannot; a percentile is
estimated from them when it is asked for.
"""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

BOUNDS_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
"""The longest that each bucket but the last holds; it begins after the one before it."""

BUCKETS: Final = (*(f"recall_ms_{bound}" for bound in BOUNDS_MS), "recall_ms_more")
"""The names of the counters, the shortest recalls first."""

RECALLS: Final = "recalls"
"""What all buckets together are shown as, where only how many there were is told."""

_BUCKET_NAMES: Final = frozenset(BUCKETS)


def bucket_of(milliseconds: float) -> str:
    """The counter of recalls that took so long."""
    return BUCKETS[bisect_left(BOUNDS_MS, milliseconds)]


def recalls_in(counts: Mapping[str, int]) -> int:
    """How many recalls the counters of the buckets tell of."""
    return sum(counts.get(name, 0) for name in BUCKETS)


def without_buckets(counts: Mapping[str, int]) -> dict[str, int]:
    """The counters by name, in order, with one count of recalls in place of all the buckets."""
    kept = {name: count for name, count in counts.items() if name not in _BUCKET_NAMES}
    recalls = recalls_in(counts)
    return dict(sorted({**kept, RECALLS: recalls}.items())) if recalls else kept


def percentile_ms(counts: Mapping[str, int], share: float) -> float | None:
    """The time within which a share (0 to 1) of the recalls was answered; None without any.

    Recalls are taken to be spread evenly over their bucket. The last bucket has no upper bound:
    of it only the lower one is known, and told.
    """
    wanted = share * recalls_in(counts)
    passed, lower = 0, 0
    found: float | None = None
    for name, upper in zip(BUCKETS, (*BOUNDS_MS, BOUNDS_MS[-1]), strict=True):
        count = counts.get(name, 0)
        if count:
            found = lower + (upper - lower) * min(1.0, (wanted - passed) / count)
            passed += count
            if passed >= wanted:
                break
        lower = upper
    return found
