"""Texts parted into requests: nothing lost, nothing over the bounds, no needless request."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ricordo.embedding.batches import fitted, in_batches


@given(st.lists(st.text(max_size=12)), st.integers(1, 5), st.integers(1, 20))
def test_batches_hold_everything_within_bounds(texts: list[str], most: int, chars: int) -> None:
    batches = [list(batch) for batch in in_batches(texts, most, chars)]
    assert [text for batch in batches for text in batch] == texts
    for batch in batches:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(map(len, batch)) <= chars
    for batch, following in pairwise(batches):
        joined = [*batch, following[0]]
        assert len(joined) > most or sum(map(len, joined)) > chars


@given(st.text(st.characters(codec=None)), st.integers(1, 30))
def test_a_fitted_text_can_be_sent(text: str, most: int) -> None:
    fit = fitted(text, most)
    assert 1 <= len(fit) <= most
    assert fit.strip()
    assert "\x00" not in fit
    fit.encode("utf-8")
