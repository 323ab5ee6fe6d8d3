"""The words of a question on a user's shelves: what they are worth, and what was perhaps meant."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from ricordo.index.user_index import Shelf, rarity
from ricordo.recall.ranking import Ranking
from ricordo.text.trigrams import similar_terms

GUESSES_PER_TERM: Final = 3
LEAST_SIMILARITY: Final = 0.4
_RARE_COUNT: Final = 5
_RARE_SHARE: Final = 0.02


def meant_terms(
    shelves: Sequence[Shelf], terms: Sequence[str], wanted: int, ranking: Ranking
) -> dict[str, float]:
    """The terms to look for, each with how surely it is meant.

    A word that stands nowhere may be mistyped or cut off. Where the others find fewer rows than
    are wanted, the words most similar to it are looked for as well.
    """
    meant = dict.fromkeys(terms, 1.0)
    unknown = [term for term in terms if not any(shelf.frequency(term) for shelf in shelves)]
    if not unknown or not ranking.uses("fuzzy"):
        return meant
    if sum(shelf.frequency(term) for term in terms for shelf in shelves) >= wanted:
        return meant
    vocabulary = set(chain.from_iterable(shelf.vocabulary for shelf in shelves))
    for term in unknown:
        for guess, similarity in similar_terms(
            term, vocabulary, limit=GUESSES_PER_TERM, at_least=LEAST_SIMILARITY
        ):
            meant.setdefault(guess, similarity)
    return meant


def term_shares(
    terms: Sequence[str], meant: Mapping[str, float], documents: int, found: Mapping[str, int]
) -> dict[str, float]:
    """How much of the question each word makes up, 1 together: the rarer, the more.

    Words that stand nowhere count as well, or a question about something unknown would seem to be
    answered by its common words. What was guessed for them stands in for them as far as it is
    similar.
    """
    worth = {term: rarity(max(documents, found.get(term, 0)), found.get(term, 0)) for term in terms}
    whole = sum(worth.values())
    if whole <= 0:
        return {}
    shares = {term: weight / whole for term, weight in worth.items()}
    guesses = [term for term in meant if term not in worth]
    unknown = sum(shares[term] for term in terms if not found.get(term, 0))
    return shares | {guess: meant[guess] * unknown / len(guesses) for guess in guesses}


def rare_terms(
    terms: Sequence[str], documents: int, found: Mapping[str, int], ranking: Ranking
) -> list[str]:
    """Those of the exact terms that stand in few texts: who writes one wants these."""
    if not ranking.uses("exact"):
        return []
    most = max(_RARE_COUNT, documents * _RARE_SHARE)
    return [term for term in terms if 0 < found.get(term, 0) <= most]


def holding(
    shelves: Sequence[Shelf], rows: Sequence[Any], terms: Sequence[str], ranking: Ranking
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The share of the rare ones among these exact terms that each row has."""
    documents = sum(shelf.size for shelf in shelves)
    found = {term: sum(shelf.frequency(term) for shelf in shelves) for term in terms}
    rare = rare_terms(terms, documents, found, ranking)
    if not rare:
        return np.zeros(sum(map(len, rows)))
    parts = [shelf.rows_with(rare, part) for shelf, part in zip(shelves, rows, strict=True)]
    return np.concatenate([part.mean(axis=0) for part in parts])


def covered(
    shelves: Sequence[Shelf],
    rows: Sequence[Any],
    terms: Sequence[str],
    meant: Mapping[str, float],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The share of the question's words, each by its worth, that each row has."""
    documents = sum(shelf.size for shelf in shelves)
    found = {term: sum(shelf.frequency(term) for shelf in shelves) for term in terms}
    shares = term_shares(terms, meant, documents, found)
    parts = [shelf.coverage(shares)[part] for shelf, part in zip(shelves, rows, strict=True)]
    return np.minimum(np.concatenate(parts), 1.0)  # type: ignore[no-any-return]
