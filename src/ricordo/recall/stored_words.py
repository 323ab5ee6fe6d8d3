"""Matching words in the database itself, for users whose index is not kept in memory."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

import sqlalchemy as sa

from ricordo.index import user_index
from ricordo.recall.question import Question
from ricordo.recall.ranking import Ranking
from ricordo.recall.words import GUESSES_PER_TERM, LEAST_SIMILARITY, rare_terms, term_shares
from ricordo.storage.backend import Backend, Condition, Indexed, Matches
from ricordo.storage.search_rows import count_indexed
from ricordo.text.trigrams import similar_terms

_OVERSAMPLING: Final = 4
"""The database orders matches roughly; so many times more than are wanted are scored exactly."""

_NOTHING: Final[Mapping[int, str]] = MappingProxyType({})

Found = tuple[dict[int, float], dict[int, float], dict[str, float], dict[int, float]]


def best_by_words(
    backend: Backend,
    connection: sa.Connection,
    kind: Indexed,
    owners: Collection[str],
    question: Question,
    where: Condition,
    ranking: Ranking,
    shared: Mapping[int, str] = _NOTHING,
) -> Found:
    """The best matches with their scores, what share of the question each covers, what each
    term is worth, and what share of its rare exact terms each holds.

    ``shared`` are the terms of what others have shared, by id. Only these count of theirs: how
    often a word stands in the rest, or whether it does, is nobody else's business.
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
        term: sure * user_index.rarity(max(documents, count), count)
        for term, sure in meant.items()
        if (count := matches.frequency.get(term, 0))
    }
    lengths = [len(stored.split()) for stored in matches.terms_by_id.values()]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    scores = {
        row_id: user_index.score(stored, weights, mean)
        for row_id, stored in matches.terms_by_id.items()
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
