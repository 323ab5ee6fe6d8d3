"""The nearest rows, found block by block, are those that a comparison of all with all finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.formation.comparing.likeness import keep_the_order
from ricordo.indexing.nearness import Nearest

LEAST = 0.25


@pytest.mark.requirement("upkeep.bounded")
@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 40),
    queries=st.integers(1, 5),
    block=st.integers(1, 9),
    count=st.integers(1, 4),
    digits=st.sampled_from([None, 1, 6]),
)
def test_blocks_make_no_difference(
    seed: int, rows: int, queries: int, block: int, count: int, digits: int | None
) -> None:
    generator = np.random.default_rng(seed)
    # Steps of an eighth: many are equally near, and their products are exact.
    matrix = (generator.integers(-8, 9, (rows, 3)) / 8).astype(np.float32)
    vectors = (generator.integers(-8, 9, (queries, 3)) / 8).astype(np.float32)
    allowed = generator.random((rows, queries)) < 0.8
    ids = [int(one) for one in generator.permutation(rows)]
    own_ids = list(range(queries))  # some of which are among the rows
    nearest = Nearest(own_ids, vectors, count=count, least=LEAST, digits=digits)
    for start in range(0, rows, block):
        part = slice(start, start + block)
        nearest.show(ids[part], matrix[part], allowed[part])
    for own_id, near in nearest.found().items():
        cosines = [float(one) for one in matrix @ vectors[own_id]]
        if digits is not None:
            cosines = [float(np.round(one, digits)) for one in cosines]
        wanted = sorted(
            (-cosine, row_id)
            for cosine, row_id, may in zip(cosines, ids, allowed[:, own_id], strict=True)
            if may and row_id != own_id and cosine >= LEAST
        )
        assert near == [(row_id, -less) for less, row_id in wanted[:count]]


@pytest.mark.requirement("upkeep.relations")
def test_cosines_that_differ_only_in_their_last_digits_are_equally_near() -> None:
    block = np.array([[0.6000002], [0.6000003], [0.5999997], [0.5999990]], np.float32)
    one = np.ones((1, 1), np.float32)
    rounded = Nearest([9], one, count=3, least=0.6, digits=6)
    exact = Nearest([9], one, count=3, least=0.6)
    for nearest in (rounded, exact):
        for row in range(4):
            nearest.show([row], block[row : row + 1])
    assert rounded.found() == {9: [(0, 0.6), (1, 0.6), (2, 0.6)]}
    assert [row for row, _ in exact.found()[9]] == [1, 0]


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize("least", [0.6, 0.7, 0.85])
def test_exactly_the_least_cosine_is_near_enough(least: float) -> None:
    nearest = Nearest([9], np.ones((1, 1), np.float32), count=1, least=least)
    nearest.show([1], np.array([[least]], np.float32))
    assert [row for row, _ in nearest.found()[9]] == [1]


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ("User really loves tea.", "The user likes tea", True),
        ("User likes tea", "User likes tea with milk", True),
        ("User has two sons and one daughter", "User has one son and two daughters", False),
        ("User runs before work", "User runs after work", False),
        ("User likes tea", "User likes coffee", False),
        ("", "User likes tea", True),
    ],
)
def test_the_order_of_words(one: str, other: str, kept: bool) -> None:
    assert keep_the_order(one, other) is keep_the_order(other, one) is kept
