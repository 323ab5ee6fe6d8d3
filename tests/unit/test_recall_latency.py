"""Times of recalls, kept as counts of spans, and percentiles out of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.model.activity import (
    BOUNDS_MS,
    BUCKETS,
    RECALLS,
    bucket_of,
    percentile_ms,
    recalls_in,
    without_buckets,
)

pytestmark = pytest.mark.requirement("activity.latency")

times = st.floats(0, 20_000, allow_nan=False)
shares = st.floats(0, 1)
counted = st.dictionaries(st.sampled_from(BUCKETS), st.integers(0, 10_000))


def bounds_of(name: str) -> tuple[float, float]:
    """Between which times a bucket lies; what is told of the last is where it begins."""
    ends = (0, *BOUNDS_MS, BOUNDS_MS[-1])
    place = BUCKETS.index(name)
    return ends[place], ends[place + 1]


def sure(counts: dict[str, int], share: float) -> float:
    found = percentile_ms(counts, share)
    assert found is not None
    return found


def test_a_bucket_ends_with_its_bound() -> None:
    assert BUCKETS[3] == "recall_ms_10"
    assert BUCKETS[-1] == "recall_ms_more"
    for bound, name, longer in zip(BOUNDS_MS, BUCKETS, BUCKETS[1:], strict=False):
        assert name == f"recall_ms_{bound}"
        assert bucket_of(bound) == name
        assert bucket_of(bound + 0.001) == longer


@given(counted, shares, shares)
def test_a_larger_share_never_takes_less_time(
    counts: dict[str, int], one: float, other: float
) -> None:
    low, high = sorted([one, other])
    if recalls_in(counts):
        assert sure(counts, low) <= sure(counts, high)
    else:
        assert percentile_ms(counts, low) is None


@given(st.lists(times, min_size=1, max_size=200), shares)
def test_it_is_in_the_bucket_of_the_true_one(taken: list[float], share: float) -> None:
    counts = Counter(map(bucket_of, taken))
    rank = max(1, -(-(share * len(taken)) // 1))  # the first recall that makes up the share
    true = sorted(taken)[min(len(taken), int(rank)) - 1]
    lower, upper = bounds_of(bucket_of(true))
    assert lower <= sure(counts, share) <= upper


@given(counted)
def test_it_is_exact_at_the_edges(counts: dict[str, int]) -> None:
    used = [name for name in BUCKETS if counts.get(name)]
    if used:
        assert sure(counts, 0.0) == bounds_of(used[0])[0]
        assert sure(counts, 1.0) == bounds_of(used[-1])[1]


def test_of_the_longest_only_the_least_is_known() -> None:
    assert percentile_ms({"recall_ms_more": 3}, 0.5) == 5_000
    assert percentile_ms({}, 0.5) is None
    assert percentile_ms({"contexts": 4}, 0.5) is None


@given(counted, st.dictionaries(st.sampled_from(["contexts", "upkeep_rounds"]), st.integers(1, 9)))
def test_buckets_are_shown_as_one_count(buckets: dict[str, int], others: dict[str, int]) -> None:
    shown = without_buckets({**others, **buckets})
    assert {name for name in shown if name in BUCKETS} == set()
    assert shown.pop(RECALLS, 0) == sum(buckets.values())
    assert shown == others
