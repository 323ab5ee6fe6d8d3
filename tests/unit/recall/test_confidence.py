"""How sure a hit is to be an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.confidence import confidence_of

models = st.sampled_from([None, "ricordo-minilm", "something-else"])
cosines = st.none() | st.floats(-1, 1)
shares = st.floats(0, 1)


@pytest.mark.requirement("recall.confidence")
@given(cosines, shares, models)
def test_it_is_between_0_and_1(cosine: float | None, share: float, model: str | None) -> None:
    assert 0 <= confidence_of(cosine, share, model) <= 1


@pytest.mark.requirement("recall.confidence")
@given(st.floats(-1, 1), st.floats(-1, 1), shares, models)
def test_nearer_is_never_less_sure(
    one: float, other: float, share: float, model: str | None
) -> None:
    low, high = sorted([one, other])
    assert confidence_of(low, share, model) <= confidence_of(high, share, model)


@pytest.mark.requirement("recall.confidence")
@given(cosines, shares, shares, models)
def test_more_of_the_words_is_never_less_sure(
    cosine: float | None, one: float, other: float, model: str | None
) -> None:
    low, high = sorted([one, other])
    assert confidence_of(cosine, low, model) <= confidence_of(cosine, high, model)


@pytest.mark.requirement("recall.confidence")
def test_either_hint_alone_can_convince() -> None:
    assert confidence_of(0.95, 0.0, "ricordo-minilm") > 0.9
    assert confidence_of(None, 1.0, None) > 0.7
    assert confidence_of(None, 0.0, None) == 0
    assert confidence_of(0.1, 0.0, "ricordo-minilm") < 0.1
