"""Percentiles, against values worked out by hand and against what must always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.bench.latency import Latency, latency, percentile


def test_percentiles_by_hand() -> None:
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([1.0, 2.0], 50) == 1.5
    assert percentile([1.0, 2.0], 95) == pytest.approx(1.95)
    assert percentile([7.0], 95) == 7.0
    assert percentile([float(number) for number in range(101)], 95) == 95.0


def test_no_calls_give_zeros() -> None:
    assert latency([]) == Latency(calls=0, p50_ms=0.0, p95_ms=0.0)


@given(st.lists(st.integers(0, 1_000).map(float), min_size=1, max_size=50))
def test_the_middle_is_never_above_the_slow_end(times: list[float]) -> None:
    found = latency(times)
    assert min(times) <= found.p50_ms <= found.p95_ms <= max(times)
    assert found.calls == len(times)
