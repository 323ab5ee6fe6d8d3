"""Two lists of scores become one, how sure a hit is, and the settings of both."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import InvalidValue, Rating, Verdict
from ricordo.recall.ranking import (
    PARTS,
    RATED_DOWN,
    RATED_UP,
    Ranking,
    confidence_of,
    fused,
    normalised,
    rating_shift,
    shifted,
)
from ricordo.wiring import open_memory

pytestmark = pytest.mark.requirement("recall.search")

scores = st.lists(st.floats(-1, 50, width=32), min_size=1, max_size=20).map(np.array)


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


def test_scores_that_are_all_the_same() -> None:
    assert normalised(np.array([3.0, 3.0])).tolist() == [1, 1]
    assert normalised(np.array([0.0, 0.0])).tolist() == [0, 0]
    assert normalised(np.array([-0.2])).tolist() == [0]
    assert normalised(np.array([])).tolist() == []


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


models = st.sampled_from([None, "ricordo-multi", "something-else"])
cosines = st.none() | st.floats(-1, 1)
shares = st.floats(0, 1)


@pytest.mark.requirement("recall.confidence")
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=2), cosines, shares, shares, models)
def test_nearer_or_more_of_the_words_is_never_less_sure(
    near: list[float], cosine: float | None, one: float, other: float, model: str | None
) -> None:
    far, nearer = sorted(near)
    fewer, more = sorted([one, other])
    assert 0 <= confidence_of(cosine, fewer, model) <= confidence_of(cosine, more, model) <= 1
    assert confidence_of(far, one, model) <= confidence_of(nearer, one, model)


@pytest.mark.requirement("recall.confidence")
def test_either_hint_alone_can_convince() -> None:
    assert confidence_of(0.95, 0.0, "ricordo-multi") > 0.9
    assert confidence_of(None, 1.0, None) > 0.7
    assert confidence_of(0.1, 1.0, "ricordo-multi") > 0.7  # the words say so, whatever the cosine
    assert confidence_of(None, 0.0, None) == 0
    assert confidence_of(0.1, 0.0, "ricordo-multi") < 0.1


def test_parts_are_turned_off_by_name() -> None:
    ranking = Ranking.parse(0.6, 0.4, 20, " recency, fuzzy ,, ", 8, 300)
    assert (ranking.semantic_weight, ranking.lexical_weight, ranking.candidates) == (0.6, 0.4, 20)
    assert [part for part in PARTS if not ranking.uses(part)] == ["recency", "fuzzy"]
    assert all(Ranking.parse(0.7, 0.3, 50, "", 8, 300).uses(part) for part in PARTS)


def test_a_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidValue, match="'magic' is not one of: semantic, lexical"):
        Ranking.parse(0.7, 0.3, 50, "recency,magic", 8, 300)
    with pytest.raises(InvalidValue, match="magic"):
        open_memory(":memory:", run_jobs=False, ranking_off="magic")


@pytest.mark.parametrize(
    "wanted",
    [{"semantic_weight": 1.1}, {"lexical_weight": -0.1}, {"candidates": 9}, {"candidates": 1001}],
)
def test_numbers_out_of_range_are_refused(wanted: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wanted))):
        open_memory(":memory:", run_jobs=False, **wanted)


NOW = datetime(2026, 5, 1, tzinfo=UTC)
ratings = st.lists(
    st.builds(
        Rating,
        verdict=st.sampled_from([Verdict.USED, Verdict.WRONG, Verdict.OUTDATED]),
        by=st.text(min_size=1, max_size=3),
        is_agent=st.booleans(),
        at=st.datetimes(datetime(2020, 1, 1), NOW.replace(tzinfo=None), timezones=st.just(UTC)),
    ),
    max_size=20,
)


@pytest.mark.requirement("ratings.bounded")
@given(ratings, st.floats(0, 1))
def test_ratings_shift_within_bounds_and_whoever_says_them(
    given_ratings: list[Rating], chance: float
) -> None:
    shift = rating_shift(given_ratings, NOW)
    assert -RATED_DOWN < shift < RATED_UP
    assert 0 <= shifted(chance, shift) <= 1
    assert shifted(chance, 0) == pytest.approx(chance)
    if all(one.verdict is Verdict.USED for one in given_ratings):
        assert shift >= 0
    if given_ratings and all(one.is_against for one in given_ratings):
        assert shift < 0
    users = [one for one in given_ratings if not one.is_agent]
    if users and not any(one.is_against for one in users):
        assert shift > 0  # whatever agents say against it
