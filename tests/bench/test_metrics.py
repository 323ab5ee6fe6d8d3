"""The measures, against values worked out by hand and against what must always hold."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_bench.figures import Latency, latency, percentile
from ricordo_bench.recall import (
    DEPTH,
    Outcome,
    all_at,
    auroc,
    is_fresh_above_stale,
    measured,
    ndcg_at,
    recall_at,
    reciprocal_rank,
    scored,
)

TEN = tuple("abcdefghij")


def test_measures_by_hand() -> None:
    shares = [("a", 1, 1.0), ("b", 1, 0.0), ("az", 5, 0.5), ("acz", 5, 2 / 3), ("j", 10, 1.0)]
    for evidence, k, share in shares:
        assert recall_at(TEN, tuple(evidence), k) == pytest.approx(share)
    assert [all_at(TEN, ("a", "j"), k) for k in (10, 9)] == [1.0, 0.0]
    assert all_at(TEN, ("a", "z"), 10) == 0.0
    assert reciprocal_rank(TEN, ("d", "b")) == 0.5
    assert reciprocal_rank(TEN, ("z",)) == 0.0
    deep = tuple(str(number) for number in range(30))
    assert reciprocal_rank(deep, ("19",)) == pytest.approx(1 / 20)
    assert reciprocal_rank(deep, ("20",)) == 0.0
    fresh_above_stale = {"ab": True, "ba": False, "az": True, "za": False, "zy": False}
    for (fresh, stale), expected in fresh_above_stale.items():
        assert is_fresh_above_stale(TEN, fresh, stale) is expected
    assert auroc([], [0.5]) is None
    assert auroc([0.5], []) is None
    found = measured([Outcome("one", ("a",), ("a", "b")), Outcome("one", ("x", "y"), ("a", "x"))])
    assert (found.questions, found.recall_at_1, found.recall_at_10) == (2, 0.5, 0.75)
    assert (found.all_at_10, found.mrr) == (0.5, 0.75)
    nothing = measured([])
    assert (nothing.questions, nothing.recall_at_10, nothing.mrr) == (0, 0.0, 0.0)


def test_ndcg_compares_with_the_perfect_order() -> None:
    assert ndcg_at(TEN, ("a",), 10) == 1.0
    assert ndcg_at(TEN, ("b",), 10) == pytest.approx(1 / math.log2(3))
    at_1_and_3 = 1 + 1 / 2
    perfect = 1 + 1 / math.log2(3)
    assert ndcg_at(TEN, ("a", "c"), 10) == pytest.approx(at_1_and_3 / perfect)
    assert ndcg_at(TEN, ("z",), 10) == 0.0
    # More evidence than places: filling every place is perfect.
    assert ndcg_at(TEN, TEN, 3) == pytest.approx(1.0)


def test_what_counts_for_what() -> None:
    outcomes = [
        Outcome("temporal", ("a",), ("a",), confidence=0.9),
        Outcome("temporal", ("b",), ("a",), confidence=0.6),
        Outcome("single-hop", ("a",), ("z", "a"), confidence=None),
        Outcome("adversarial", ("a",), ("a",), confidence=0.99),
        Outcome("abstention", ("a",), ("b", "a"), confidence=0.7),
        Outcome("abstention", (), ("b",), confidence=0.1),
        Outcome("single-hop", (), ("b",), confidence=0.2),
        Outcome("update", ("n",), ("n", "o"), stale=("o",), fresh=("n",), confidence=0.8),
        Outcome("update", ("n",), ("o", "n"), stale=("o",), fresh=("n",), confidence=0.8),
    ]
    found = scored(outcomes)
    assert found.overall.questions == 5
    assert found.overall.recall_at_1 == pytest.approx(2 / 5)
    assert {name: one.questions for name, one in found.categories.items()} == {
        "temporal": 2,
        "single-hop": 1,
        "update": 2,
    }
    assert found.categories["temporal"].recall_at_10 == 0.5
    assert {name: one.recall_at_1 for name, one in found.apart.items()} == {
        "adversarial": 1.0,
        "abstention": 0.0,
    }
    assert found.without_evidence == 2
    assert (found.freshness.questions, found.freshness.share) == (2, 0.5)
    abstaining = found.abstaining
    assert (abstaining.answerable, abstaining.unanswerable) == (4, 3)
    assert abstaining.without_confidence == 1
    # Of 4 x 3 pairs only 0.6 against 0.7 stands the wrong way round.
    assert abstaining.auroc == pytest.approx(11 / 12)
    sure = [(one.questions, one.confidence, one.right) for one in found.calibration.curve]
    assert sure == [(1, 0.6, 0.0), (2, 0.8, 0.5), (1, 0.9, 1.0)]
    assert found.calibration.error == pytest.approx((0.6 + 2 * 0.3 + 0.1) / 4)
    others = [Outcome("abstention", (), (), confidence=0.7)]
    assert scored(outcomes[:2]).abstaining.auroc is None
    assert scored(outcomes[:2], others).abstaining.auroc == 0.5
    assert scored([]).calibration.error is None


def test_percentiles_by_hand() -> None:
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([1.0, 2.0], 95) == pytest.approx(1.95)
    assert percentile([7.0], 95) == 7.0
    assert percentile([float(number) for number in range(101)], 95) == 95.0
    assert latency([]) == Latency(calls=0, p50_ms=0.0, p95_ms=0.0)


ids = st.integers(0, 40).map(str)
rankings = st.lists(ids, unique=True, max_size=30).map(tuple)
evidences = st.lists(ids, unique=True, min_size=1, max_size=8).map(tuple)


@given(rankings, evidences)
def test_measures_stay_between_0_and_1_and_grow_with_depth(
    ranked: tuple[str, ...], evidence: tuple[str, ...]
) -> None:
    found = measured([Outcome("any", evidence, ranked)])
    grown = [found.recall_at_1, found.recall_at_5, found.recall_at_10, found.recall_at_20]
    assert 0 <= grown[0] <= grown[1] <= grown[2] <= grown[3] <= 1
    assert found.all_at_10 <= found.recall_at_10
    assert 0 <= found.ndcg_at_10 <= 1 + 1e-9
    assert (found.mrr > 0) == (found.recall_at_20 > 0)
    assert (found.mrr == 1) == (found.recall_at_1 > 0)
    assert found == measured([Outcome("any", evidence, ranked[:DEPTH])])


scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=8)


@given(scores, scores)
def test_auroc_is_the_share_of_pairs_in_order(higher: list[float], lower: list[float]) -> None:
    pairs = [1.0 if h > w else 0.5 if h == w else 0.0 for h, w in product(higher, lower)]
    assert auroc(higher, lower) == pytest.approx(sum(pairs) / len(pairs))


@given(st.lists(st.integers(0, 1_000).map(float), min_size=1, max_size=50))
def test_the_middle_is_never_above_the_slow_end(times: list[float]) -> None:
    found = latency(times)
    assert min(times) <= found.p50_ms <= found.p95_ms <= max(times)
    assert found.calls == len(times)
