"""The words of a query: matched in the index in memory, or in the database."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.index.embedders import QueryVector
from ricordo.index.user_index import UserIndex, rarity, score
from ricordo.limits import MAX_QUERY_CHARS
from ricordo.recall.ranking import Ranking
from ricordo.storage.backend import Backend, Matches
from ricordo.storage.search_rows import count_indexed
from ricordo.storage.sql import Condition
from ricordo.storage.tables import Indexed
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import is_identifier
from ricordo.text.trigrams import similar_terms

GUESSES_PER_TERM: Final = 3
LEAST_SIMILARITY: Final = 0.4
_RARE_COUNT: Final = 5
_RARE_SHARE: Final = 0.02


def meant_terms(
    indexes: Sequence[UserIndex], terms: Sequence[str], wanted: int, ranking: Ranking
) -> dict[str, float]:
    """The terms to search, each with its certainty.

    An unknown word may be mistyped or truncated. If the others match too few rows, similar terms
    are searched as well.
    """
    meant = dict.fromkeys(terms, 1.0)
    unknown = [
        term for term in terms if not any(user_index.frequency(term) for user_index in indexes)
    ]
    if not unknown or not ranking.uses("fuzzy"):
        return meant
    if sum(user_index.frequency(term) for term in terms for user_index in indexes) >= wanted:
        return meant
    vocabulary = set(chain.from_iterable(user_index.vocabulary for user_index in indexes))
    for term in unknown:
        for guess, similarity in similar_terms(
            term, vocabulary, limit=GUESSES_PER_TERM, at_least=LEAST_SIMILARITY
        ):
            meant.setdefault(guess, similarity)
    return meant


def term_shares(
    terms: Sequence[str], meant: Mapping[str, float], documents: int, found: Mapping[str, int]
) -> dict[str, float]:
    """The share of each word in the query, 1 in total: the rarer, the more.

    Unknown words count as well, or common words would seem to answer a query about something
    unknown. Similar terms stand in for them by their similarity.
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
    """The exact terms that occur in few texts."""
    if not ranking.uses("exact"):
        return []
    most = max(_RARE_COUNT, documents * _RARE_SHARE)
    return [term for term in terms if 0 < found.get(term, 0) <= most]


def holding(
    indexes: Sequence[UserIndex], rows: Sequence[Any], terms: Sequence[str], ranking: Ranking
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The share of the rare exact terms that each row has."""
    documents = sum(user_index.size for user_index in indexes)
    found = {term: sum(user_index.frequency(term) for user_index in indexes) for term in terms}
    rare = rare_terms(terms, documents, found, ranking)
    if not rare:
        return np.zeros(sum(map(len, rows)))
    parts = [
        user_index.rows_with(rare, part) for user_index, part in zip(indexes, rows, strict=True)
    ]
    return np.concatenate([part.mean(axis=0) for part in parts])


def covered(
    indexes: Sequence[UserIndex],
    rows: Sequence[Any],
    terms: Sequence[str],
    meant: Mapping[str, float],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The share of the query's words, by weight, that each row has."""
    documents = sum(user_index.size for user_index in indexes)
    found = {term: sum(user_index.frequency(term) for user_index in indexes) for term in terms}
    shares = term_shares(terms, meant, documents, found)
    parts = [
        user_index.coverage(shares)[part] for user_index, part in zip(indexes, rows, strict=True)
    ]
    return np.minimum(np.concatenate(parts), 1.0)  # type: ignore[no-any-return]


def question_in(text: str) -> str:
    """A text as a query: both ends of one that is too long."""
    if len(text) <= MAX_QUERY_CHARS:
        return text.strip()
    half = MAX_QUERY_CHARS // 2 - 1
    return f"{text[:half]} {text[-half:]}".strip()


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    text: str
    terms: Sequence[str]
    meant: QueryVector

    @classmethod
    def of(cls, text: str, analyser: Analyser, meant: QueryVector) -> "SearchQuestion":
        return cls(text, tuple(analyser.query_terms(text)), meant)

    @property
    def exact_terms(self) -> Sequence[str]:
        """The terms to match exactly: identifiers, or all if there is nothing else."""
        return self.terms if len(self.terms) == 1 else [*filter(is_identifier, self.terms)]


_OVERSAMPLING: Final = 4
"""The database orders matches roughly; this many times more are scored exactly."""

_NOTHING: Final[Mapping[int, str]] = MappingProxyType({})

Found = tuple[dict[int, float], dict[int, float], dict[str, float], dict[int, float]]


def best_by_words(
    backend: Backend,
    connection: sa.Connection,
    kind: Indexed,
    owners: Collection[str],
    question: SearchQuestion,
    where: Condition,
    ranking: Ranking,
    shared: Mapping[int, str] = _NOTHING,
) -> Found:
    """The best matches: scores, coverage of the query, term weights, shares of rare exact terms.

    ``shared`` are the terms of shared memories, by id. No other term statistics of their owners are
    used: those are private.
    """
    limit = ranking.candidates
    terms = question.terms
    rows = limit * _OVERSAMPLING
    matches = _with_shared(
        backend.search.matches(connection, kind, owners, terms, where, rows), terms, shared
    )
    meant = dict.fromkeys(terms, 1.0)
    unknown = [term for term in terms if not matches.frequency.get(term)]
    if unknown and ranking.uses("fuzzy") and len(matches.terms_by_id) < limit:
        vocabulary = _vocabulary(backend, connection, kind, owners, shared)
        meant = _guesses(unknown, vocabulary) | meant
        wanted = list(meant)
        matches = _with_shared(
            backend.search.matches(connection, kind, owners, wanted, where, rows), wanted, shared
        )
    documents = sum(count_indexed(connection, kind, owner) for owner in owners) + len(shared)
    rare = rare_terms(question.exact_terms, documents, matches.frequency, ranking)
    return _scored(matches, terms, meant, documents, limit, rare)


def _with_shared(matches: Matches, terms: Sequence[str], shared: Mapping[int, str]) -> Matches:
    if not shared:
        return matches
    stored = {row_id: set(words.split()) for row_id, words in shared.items()}
    asked = set(terms)
    return Matches(
        {**matches.terms_by_id, **{one: shared[one] for one in shared if stored[one] & asked}},
        {
            term: matches.frequency.get(term, 0) + sum(term in words for words in stored.values())
            for term in terms
        },
    )


def _scored(
    matches: Matches,
    terms: Sequence[str],
    meant: Mapping[str, float],
    documents: int,
    limit: int,
    rare: Sequence[str],
) -> Found:
    weights = {
        term: sure * rarity(max(documents, count), count)
        for term, sure in meant.items()
        if (count := matches.frequency.get(term, 0))
    }
    lengths = [len(stored.split()) for stored in matches.terms_by_id.values()]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    scores = {
        row_id: score(stored, weights, mean) for row_id, stored in matches.terms_by_id.items()
    }
    best = sorted(scores, key=lambda row_id: (-scores[row_id], -row_id))[:limit]
    shares = term_shares(terms, meant, documents, matches.frequency)
    seen = set(chain.from_iterable(matches.terms_by_id[row_id].split() for row_id in best))
    return (
        {row_id: scores[row_id] for row_id in best},
        {row_id: _coverage(matches.terms_by_id[row_id], shares) for row_id in best},
        {term: weight for term, weight in weights.items() if term in seen},
        {row_id: _held(matches.terms_by_id[row_id], rare) for row_id in best},
    )


def _coverage(stored: str, shares: Mapping[str, float]) -> float:
    present = set(stored.split())
    return min(1.0, sum(share for term, share in shares.items() if term in present))


def _held(stored: str, rare: Sequence[str]) -> float:
    present = set(stored.split())
    return sum(term in present for term in rare) / len(rare) if rare else 0.0


def _vocabulary(
    backend: Backend,
    connection: sa.Connection,
    kind: Indexed,
    owners: Collection[str],
    shared: Mapping[int, str],
) -> set[str]:
    own = (backend.search.vocabulary(connection, kind, owner) for owner in owners)
    return set(chain(*own, *(words.split() for words in shared.values())))


def _guesses(unknown: Sequence[str], vocabulary: set[str]) -> dict[str, float]:
    guesses: dict[str, float] = {}
    for term in unknown:
        for guess, similarity in similar_terms(
            term, vocabulary, limit=GUESSES_PER_TERM, at_least=LEAST_SIMILARITY
        ):
            guesses.setdefault(guess, similarity)
    return guesses
