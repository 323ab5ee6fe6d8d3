"""Two lists of scores become one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.fusion import fused, normalised
from ricordo.recall.ranking import Ranking

scores = st.lists(st.floats(-1, 50, width=32), min_size=1, max_size=20).map(np.array)


@pytest.mark.requirement("recall.search")
@given(scores)
def test_normalised_keeps_the_order_within_0_and_1(given_scores: np.ndarray) -> None:  # type: ignore[type-arg]
    brought = normalised(given_scores)
    assert brought.min() >= 0
    assert brought.max() <= 1
    best, least = given_scores.argmax(), given_scores.argmin()
    if given_scores[best] - given_scores[least] > 1e-6:
        assert brought[best] == 1
        assert brought[least] == 0
        order = np.argsort(given_scores, kind="stable")
        assert (np.diff(brought[order]) >= 0).all()


@pytest.mark.requirement("recall.search")
def test_scores_that_are_all_the_same() -> None:
    assert normalised(np.array([3.0, 3.0])).tolist() == [1, 1]
    assert normalised(np.array([0.0, 0.0])).tolist() == [0, 0]
    assert normalised(np.array([-0.2])).tolist() == [0]
    assert normalised(np.array([])).tolist() == []


@pytest.mark.requirement("recall.search")
def test_the_weights_decide_and_a_silent_signal_has_none() -> None:
    ranking = Ranking(0.7, 0.3)
    semantic, lexical = np.array([1.0, 0.0, 0.5]), np.array([0.0, 1.0, 0.5])
    assert fused(ranking, semantic, lexical).tolist() == pytest.approx([0.7, 0.3, 0.5])
    assert fused(ranking, semantic, None).tolist() == semantic.tolist()
    assert fused(ranking, None, lexical).tolist() == lexical.tolist()
    assert fused(ranking, np.zeros(3), lexical).tolist() == lexical.tolist()
    assert fused(ranking, semantic, np.zeros(3)).tolist() == semantic.tolist()
    assert fused(ranking, np.zeros(3), None).tolist() == [0, 0, 0]
    assert fused(ranking, None, None).tolist() == []
    assert fused(Ranking(0.0, 0.0), semantic, lexical).tolist() == [0, 0, 0]
    assert fused(Ranking(0.0, 0.5), semantic, lexical).tolist() == lexical.tolist()


@pytest.mark.requirement("recall.search")
@given(scores, st.floats(0, 1), st.floats(0, 1))
def test_fused_scores_stay_within_0_and_1(
    given_scores: np.ndarray,  # type: ignore[type-arg]
    semantic_weight: float,
    lexical_weight: float,
) -> None:
    one = normalised(given_scores)
    both = fused(Ranking(semantic_weight, lexical_weight), one, one[::-1])
    assert len(both) == len(one)
    assert both.min() >= 0
    assert both.max() <= 1 + 1e-9
