"""Mistyped and cut-off words."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ricordo.text.trigrams import TrigramIndex, similar_terms, trigrams

pytestmark = pytest.mark.requirement("recall.typo")

WORDS = ["lactose", "lactos", "intoler", "database", "receiv", "hous", "harbour", "tea", "steam"]
words = st.text("abcde", min_size=3, max_size=12)
long_words = st.text("abcdefghijklmnop", min_size=5, max_size=14)


def test_trigrams_of_a_word() -> None:
    assert trigrams("tea") == {"  t", " te", "tea", "ea "}
    assert trigrams("") == frozenset()


def test_what_was_meant() -> None:
    meant = {"lacto": "lactos", "lactsoe": "lactose", "datbase": "database", "reciev": "receiv"}
    for typed, word in {**meant, "harbuor": "harbour", "abase": "database"}.items():
        assert similar_terms(typed, WORDS, limit=1, at_least=0.3)[0][0] == word


def test_a_beginning_counts_more_than_a_middle() -> None:
    found = dict(similar_terms("tea", ["steam", "teams"], limit=5, at_least=0.1))
    assert 1 > found["teams"] > found["steam"] > 0


def test_short_words_and_strangers_give_nothing() -> None:
    assert similar_terms("te", WORDS, limit=5, at_least=0.0) == []
    assert similar_terms("tea", ["te", "t"], limit=5, at_least=0.0) == []
    assert similar_terms("xyzzy", WORDS, limit=5, at_least=0.3) == []
    assert similar_terms("lactose", WORDS, limit=0, at_least=0.3) == []
    assert similar_terms("lactose", [], limit=5, at_least=0.3) == []


def test_best_first_then_by_term() -> None:
    found = similar_terms("house", ["mouse", "louse", "house", "house"], limit=9, at_least=0.3)
    assert [word for word, _ in found] == ["house", "louse", "mouse"]
    assert found[0][1] == 1.0
    assert similar_terms("house", ["mouse", "louse"], limit=1, at_least=0.3) == [("louse", 0.8)]


@given(words, st.lists(words, max_size=30, unique=True), st.sampled_from([0.1, 0.4, 0.8]))
def test_an_index_finds_the_same(term: str, vocabulary: list[str], at_least: float) -> None:
    index = TrigramIndex()
    index.extend(vocabulary[:10])
    index.extend(vocabulary[10:])
    found = similar_terms(term, vocabulary, limit=3, at_least=at_least)
    assert index.similar(term, limit=3, at_least=at_least) == found


@given(long_words, st.data())
def test_one_slip_is_forgiven(word: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(word) - 2))
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    dropped = word[:place] + word[place + 1 :]
    doubled = word[: place + 1] + word[place:]
    wrong = f"{word[:place]}z{word[place + 1 :]}"
    for typed in (swapped, dropped, doubled, wrong):
        found = dict(similar_terms(typed, [*WORDS, word, "abcab"], limit=20, at_least=0.6))
        assert word in found, typed


@given(words, words, words)
def test_a_fragment_finds_the_whole(before: str, fragment: str, after: str) -> None:
    found = similar_terms(fragment, [f"{before}{fragment}{after}"], limit=1, at_least=0.35)
    assert len(found) == 1
    assert similar_terms(fragment, [fragment + after], limit=1, at_least=0.5)


@given(words, st.lists(words, max_size=30), st.sampled_from([0.1, 0.3, 0.5, 0.8]))
def test_nothing_similar_is_overlooked(term: str, vocabulary: list[str], at_least: float) -> None:
    """Each word asked about alone, at the lowest bar, must agree with all asked at once."""
    assume(vocabulary)
    alone = {
        word: score
        for entry in vocabulary
        for word, score in similar_terms(term, [entry], limit=1, at_least=0.01)
        if score >= at_least
    }
    together = similar_terms(term, vocabulary, limit=100, at_least=at_least)
    assert dict(together) == alone
    assert all(0 < score <= 1 for _, score in together)
    assert together == sorted(together, key=lambda pair: (-pair[1], pair[0]))
