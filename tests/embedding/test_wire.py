"""Answers in the wire format: any JSON gives vectors or a BadEmbedding, nothing else."""

import json

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.embedding.wire import read_vectors
from ricordo.errors import BadEmbedding

numbers = st.floats(width=64) | st.integers(-(10**400), 10**400)
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "embedding": anything | st.lists(numbers, max_size=3),
        "index": st.integers(-1, 3) | anything,
    },
)


def answer(*rows: object) -> bytes:
    return json.dumps({"data": list(rows)}).encode()


@given(st.binary(max_size=40) | st.builds(lambda value: json.dumps(value).encode(), anything))
def test_any_answer_at_all(content: bytes) -> None:
    with pytest.raises(BadEmbedding):
        read_vectors(content, 1)


@given(st.lists(entries, max_size=3))
def test_any_list_of_entries(rows: list[dict[str, object]]) -> None:
    try:
        vectors = read_vectors(answer(*rows), max(1, len(rows)))
    except BadEmbedding:
        return
    assert vectors.shape[0] == len(rows)
    numpy.testing.assert_allclose(numpy.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


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


@pytest.mark.parametrize(
    "rows",
    [
        [{"embedding": [True, 1.0]}],
        [{"embedding": ["1.0", 1.0]}],
        [{"embedding": [[1.0], [1.0]]}],
        [{"embedding": "AACAPw=="}],
        [{"embedding": []}],
        [{"embedding": [1.0], "index": 1}],
        [{"embedding": [1.0], "index": 0}, {"embedding": [1.0], "index": 0}],
        [{"embedding": [1.0], "index": "0"}],
        [{"embedding": [10**400]}],
    ],
)
def test_almost_right(rows: list[object]) -> None:
    with pytest.raises(BadEmbedding):
        read_vectors(answer(*rows), len(rows))


def test_without_any_index_the_place_counts() -> None:
    rows = read_vectors(answer({"embedding": [1, 0]}, {"embedding": [0, 1]}), 2)
    assert rows.tolist() == [[1, 0], [0, 1]]


def test_an_index_of_zero_may_be_left_out() -> None:
    rows = read_vectors(answer({"embedding": [1, 0], "index": 1}, {"embedding": [0, 1]}), 2)
    assert rows.tolist() == [[0, 1], [1, 0]]
