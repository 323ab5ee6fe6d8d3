"""The wire: texts parted into requests, and vectors read from answers."""

import json
from itertools import pairwise

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import BadEmbedding
from ricordo.providers.embedder import fitted, in_batches
from ricordo.providers.remote_embedder import read_vectors


def answer(*rows: object) -> bytes:
    return json.dumps({"data": list(rows)}).encode()


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number != 0),
        min_size=1,
        max_size=5,
    )
)
def test_numbers_of_any_size_become_length_one(row: list[float]) -> None:
    (vector,) = read_vectors(answer({"embedding": row}), 1)
    assert abs(float(numpy.linalg.norm(vector)) - 1) < 1e-6


def test_almost_right() -> None:
    for rows in (
        [{"embedding": [True, 1.0]}],
        [{"embedding": ["1.0", 1.0]}],
        [{"embedding": [[1.0], [1.0]]}],
        [{"embedding": "AACAPw=="}],
        [{"embedding": []}],
        [{"embedding": [1.0], "index": 1}],
        [{"embedding": [1.0], "index": 0}, {"embedding": [1.0], "index": 0}],
        [{"embedding": [1.0], "index": "0"}],
        [{"embedding": [10**400]}],
    ):
        with pytest.raises(BadEmbedding):
            read_vectors(answer(*rows), len(rows))


def test_an_index_may_be_left_out() -> None:
    rows = read_vectors(answer({"embedding": [1, 0]}, {"embedding": [0, 1]}), 2)
    assert rows.tolist() == [[1, 0], [0, 1]]
    rows = read_vectors(answer({"embedding": [1, 0], "index": 1}, {"embedding": [0, 1]}), 2)
    assert rows.tolist() == [[0, 1], [1, 0]]


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
