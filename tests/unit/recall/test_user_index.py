"""A user_index says the same as looking at every text, whatever was put and replaced."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.index.embedders import QueryVector
from ricordo.index.user_index import (
    NO_TURN,
    TurnIndex,
    UserIndex,
    best_rows,
    rarity,
    score,
)
from ricordo.recall.candidates import Question, TermWeights, index_terms
from ricordo.recall.ranking import Ranking

terms = st.sampled_from(["tea", "boat", "cat", "rain", "snow", "lemon"])
texts = st.lists(terms, max_size=8).map(" ".join)
vectors = st.none() | st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3).map(
    lambda given: np.array(given, np.float32)
)
puts = st.lists(st.tuples(st.integers(1, 12), texts, vectors), max_size=40)
Put = tuple[int, str, Any]
pytestmark = pytest.mark.requirement("recall.search")


def filled(given_puts: Sequence[Put]) -> tuple[UserIndex, dict[int, tuple[str, Any]]]:
    user_index = UserIndex()
    for row_id, text, vector in given_puts:
        user_index.take([(row_id, text)], [vector])
    return user_index, {row_id: (text, vector) for row_id, text, vector in given_puts}


def by_id(user_index: UserIndex, scores: Any) -> dict[int, float]:
    return {
        int(row_id): float(score)
        for row_id, score, alive in zip(user_index.ids, scores, user_index.alive, strict=True)
        if alive
    }


@given(puts)
def test_it_has_what_was_put_last(given_puts: list[Put]) -> None:
    user_index, expected = filled(given_puts)
    assert user_index.size == len(expected)
    assert sorted(by_id(user_index, user_index.ids)) == sorted(expected)
    words = [set(text.split()) for text, _ in expected.values()]
    for term in ("tea", "boat", "nothing"):
        assert user_index.frequency(term) == sum(term in text for text in words)
        known = [(term, 1.0)] if any(term in text for text in words) else []
        assert user_index.similar_terms(term, 3, 1.0) == known


@given(puts, st.dictionaries(terms, st.floats(0.1, 5), min_size=1))
def test_its_scores_are_those_of_bm25(given_puts: list[Put], weights: dict[str, float]) -> None:
    user_index, expected = filled(given_puts)
    lengths = [len(text.split()) for text, _ in expected.values()]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    scores = by_id(user_index, user_index.lexical(weights))
    for row_id, (text, _) in expected.items():
        assert scores[row_id] == pytest.approx(score(text, weights, mean), rel=1e-4, abs=1e-5)
    dead = ~user_index.alive
    assert not user_index.lexical(weights)[dead].any()


@given(puts)
def test_its_cosines_are_those_of_the_vectors(given_puts: list[Put]) -> None:
    user_index, expected = filled(given_puts)
    query = np.array([0.5, -0.25, 1.0], np.float32)
    compared = by_id(user_index, user_index.with_vector)
    assert {one for one, has in compared.items() if has} == {
        row_id for row_id, (_, vector) in expected.items() if vector is not None
    }
    near = user_index.cosines(query)
    if near is None:
        assert all(vector is None for _, _, vector in given_puts)
        return
    found = by_id(user_index, near)
    for row_id, (_, vector) in expected.items():
        if vector is not None:
            assert found[row_id] == pytest.approx(np.clip(vector @ query, -1, 1), abs=1e-4)
    assert user_index.cosines(np.zeros(4, np.float32)) is None


@given(puts, st.integers(1, 3))
def test_its_cosines_are_the_same_for_one_vector_and_for_several(
    given_puts: list[Put], count: int
) -> None:
    user_index, _ = filled(given_puts)
    queries = np.array([[0.5, -0.25, 1.0], [1.0, 0.0, 0.5], [0.0, 0.0, 0.0]], np.float32)[:count]
    together = user_index.cosines_to(queries)
    for column, query in enumerate(queries):
        alone = user_index.cosines(query)
        if alone is None or together is None:
            assert alone is None and together is None
        else:
            assert together[:, column] == pytest.approx(alone, abs=1e-5)


@given(puts, st.lists(terms, unique=True))
def test_it_knows_which_rows_have_a_term(given_puts: list[Put], asked: list[str]) -> None:
    user_index, expected = filled(given_puts)
    rows = np.flatnonzero(user_index.alive)
    flags = user_index.rows_with(asked, rows)
    for place, term in enumerate(asked):
        for row, has in zip(rows, flags[place], strict=True):
            assert has == (term in expected[int(user_index.ids[row])][0].split())


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 35))
def test_of_equal_scores_the_last_are_best(given_scores: list[int], count: int) -> None:
    scores = np.array(given_scores, np.float32)
    found = sorted(best_rows(scores, count).tolist())
    order = sorted(range(len(scores)), key=lambda row: (-given_scores[row], -row))
    assert found == sorted(order[:count])


def weights_of(
    indexes: list[UserIndex], asked: list[str], limit: int = 10, off: str = ""
) -> TermWeights:
    ranking = Ranking(off=frozenset(off.split()))
    return index_terms(ranking, indexes, Question("", asked, QueryVector()), limit)


@given(puts, puts)
def test_weights_are_of_all_indexes_together(first: list[Put], second: list[Put]) -> None:
    (one, left), (other, right) = filled(first), filled(second)
    every = [set(text.split()) for text, _ in [*left.values(), *right.values()]]
    weights = weights_of([one, other], ["tea", "boat", "nothing"], off="fuzzy").weights
    for term in ("tea", "boat"):
        count = sum(term in text for text in every)
        expected = rarity(len(every), count) if count else None
        assert weights.get(term) == (None if expected is None else pytest.approx(expected))
    assert "nothing" not in weights


@pytest.mark.requirement("recall.confidence")
@given(puts.filter(bool), st.lists(terms | st.just("unknown"), min_size=1, unique=True))
def test_coverage_is_a_share(given_puts: list[Put], asked: list[str]) -> None:
    user_index, expected = filled(given_puts)
    shares = weights_of([user_index], asked, off="fuzzy").shares
    assert sum(shares.values()) == pytest.approx(1)
    having = user_index.rows_with(list(shares), np.arange(user_index.rows))
    coverage = np.array(list(shares.values())) @ having
    for row_id, has in by_id(user_index, coverage).items():
        text = expected[row_id][0].split()
        assert has == pytest.approx(sum(shares[term] for term in asked if term in text), abs=1e-6)
        assert 0 <= has <= 1 + 1e-6


@pytest.mark.requirement("recall.typo")
def test_guesses_only_where_too_little_is_found() -> None:
    user_index, _ = filled([(1, "lactose milk", None), (2, "milk", None)])
    guessed = weights_of([user_index], ["lactosw"])
    assert 0.4 <= guessed.weights["lactose"] / rarity(2, 1) < 1
    assert 0.4 <= guessed.shares["lactose"] < guessed.shares["lactosw"] == 1
    assert set(weights_of([user_index], ["lactosw", "milk"], 2).weights) == {"milk"}
    assert "lactose" in weights_of([user_index], ["lactosw", "milk"], 3).weights
    assert not weights_of([user_index], ["lactosw"], off="fuzzy").weights
    user_index.take([(1, "cream")], [None])
    assert "lactose" not in weights_of([user_index], ["lactosw"]).weights


@pytest.mark.requirement("recall.turns")
@given(st.permutations(range(1, 7)), st.permutations(range(1, 7)))
def test_each_turn_knows_the_one_before_in_whatever_order_they_come(
    first: list[int], second: list[int]
) -> None:
    user_index = TurnIndex()
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        rows = [
            (100 + one, "tea", None, "a", one, "Ana", 100 + one),
            (200 + other, "tea", None, "b", other, None, 200 + other),
        ]
        user_index.take(rows if place % 2 else rows[::-1], [None, None])
    for row, row_id in enumerate(user_index.ids.tolist()):
        before = int(user_index.before[row])
        expected = row_id - 1
        assert before == NO_TURN if row_id % 100 == 1 else user_index.ids[before] == expected
    assert list(user_index.speakers) == ["Ana"]
