"""Putting memories in order: fused signals, then bounded boosts.

A boost is a share of the score. Together they move it by at most a quarter, so that an old truth
still wins over a fresh irrelevance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ricordo.model.vocabulary import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, MemoryType
from ricordo.recall.confidence import confidence_of
from ricordo.recall.fusion import Scores, fused, nearness, normalised, strength
from ricordo.recall.memory_candidates import Candidate, Gathered
from ricordo.recall.question import Question
from ricordo.recall.ranking import (
    CONFIDENCE_BOOST,
    DATED_BOOST,
    IMPORTANCE_BOOST,
    INSIGHT_PENALTY,
    MAX_BOOST,
    RECENCY_BOOST,
    RECENCY_HALF_LIFE_DAYS,
    RELATION_BOOST,
    SCORE_DIGITS,
    Ranking,
)
from ricordo.storage.relations import Relation
from ricordo.text.dates import NamedTime, named_times

_SECONDS_PER_DAY = 86_400.0
_HIGHEST_IMPORTANCE = 5
_HIGHEST_CONFIDENCE = 100


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score and every part of it."""

    candidate: Candidate
    score: float
    semantic: float | None
    lexical: float | None
    base: float
    boosts: Mapping[str, float]

    def sure(self, question: Question) -> float:
        """How likely it is an answer at all."""
        model = None if question.meant.model is None else question.meant.model.model
        return confidence_of(self.candidate.cosine, self.candidate.coverage, model)

    def explanation(self, weights: Mapping[str, float]) -> dict[str, Any]:
        """Every component of the score."""
        return {
            "cosine": _rounded(self.candidate.cosine),
            "semantic": _rounded(self.semantic),
            "bm25": _rounded(self.candidate.bm25),
            "lexical": _rounded(self.lexical),
            "coverage": _rounded(self.candidate.coverage),
            "exact": _rounded(self.candidate.exact),
            "terms": {term: _rounded(weight) for term, weight in weights.items()},
            "fused": _rounded(self.base),
            "boosts": {name: _rounded(share) for name, share in self.boosts.items()},
        }


def ranked(
    ranking: Ranking,
    gathered: Gathered,
    related: Sequence[Relation],
    question: Question,
    now: datetime,
) -> list[Ranked]:
    """The candidates, the best first; ties by newest, then id."""
    found = gathered.candidates
    if not found:
        return []
    semantic = _semantic(found)
    lexical = _lexical(found)
    exact = np.array([one.exact for one in found])
    base = fused(ranking, semantic, lexical, _strength(found), exact)
    supported = _support(found, base, related) if ranking.uses("relations") else {}
    named = named_times(question.text) if ranking.uses("date") else None
    listed = []
    for place, one in enumerate(found):
        boosts = _boosts(ranking, one, now, named)
        if one.id in supported:
            boosts["relations"] = RELATION_BOOST * supported[one.id]
        share = max(-MAX_BOOST, min(MAX_BOOST, sum(boosts.values())))
        listed.append(
            Ranked(
                candidate=one,
                score=float(base[place]) * (1 + share),
                semantic=_at(semantic, place, one.cosine is not None),
                lexical=_at(lexical, place, one.bm25 > 0),
                base=float(base[place]),
                boosts=boosts,
            )
        )
    return sorted(
        listed,
        key=lambda one: (
            -round(one.score, SCORE_DIGITS),
            -one.candidate.valid_from.timestamp(),
            -one.candidate.id,
        ),
    )


def _semantic(found: Sequence[Candidate]) -> Scores | None:
    near = [one.cosine for one in found]
    compared = [cosine for cosine in near if cosine is not None]
    if not compared:
        return None
    least = min(compared)  # what has no vector counts as the least near of those that have one
    return nearness(np.array([least if cosine is None else cosine for cosine in near]))


def _strength(found: Sequence[Candidate]) -> float:
    return strength(np.array([one.cosine for one in found if one.cosine is not None]))


def _lexical(found: Sequence[Candidate]) -> Scores | None:
    words = np.array([one.bm25 for one in found])
    return normalised(words) if words.any() else None


def _boosts(
    ranking: Ranking, one: Candidate, now: datetime, named: NamedTime | None
) -> dict[str, float]:
    boosts = {}
    if ranking.uses("recency"):
        days = max(0.0, (now - one.valid_from).total_seconds() / _SECONDS_PER_DAY)
        boosts["recency"] = RECENCY_BOOST * 0.5 ** (days / RECENCY_HALF_LIFE_DAYS)
    if ranking.uses("importance"):
        above = (one.importance - DEFAULT_IMPORTANCE) / (_HIGHEST_IMPORTANCE - DEFAULT_IMPORTANCE)
        boosts["importance"] = IMPORTANCE_BOOST * above
    if ranking.uses("confidence"):
        above = (one.confidence - DEFAULT_CONFIDENCE) / (_HIGHEST_CONFIDENCE - DEFAULT_CONFIDENCE)
        boosts["confidence"] = CONFIDENCE_BOOST * max(-1.0, above)
    if named is not None and named.covers(one.valid_from):
        boosts["date"] = DATED_BOOST
    if one.type == MemoryType.INSIGHT.value:
        boosts["insight"] = -INSIGHT_PENALTY
    return boosts


def _support(
    found: Sequence[Candidate], base: Scores, related: Sequence[Relation]
) -> dict[int, float]:
    """How strongly the best related candidate speaks for each."""
    scores = {one.id: float(base[place]) for place, one in enumerate(found)}
    support: dict[int, float] = {}
    for low, high, similarity in related:
        if low in scores and high in scores:
            support[low] = max(support.get(low, 0.0), similarity * scores[high])
            support[high] = max(support.get(high, 0.0), similarity * scores[low])
    return support


def _at(scores: Scores | None, place: int, has_one: bool) -> float | None:
    return round(float(scores[place]), 4) if scores is not None and has_one else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
