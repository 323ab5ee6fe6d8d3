"""The weights of a score, fusion of signals, and confidence."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Self

import numpy as np

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, field
from ricordo.model.item import Rating, counted

PARTS: Final = (
    "semantic",
    "lexical",
    "names",
    "aliases",
    "window",
    "actor",
    "date",
    "thread",
    "role",
    "recency",
    "importance",
    "confidence",
    "relations",
    "fuzzy",
    "exact",
    "learned",
    "ratings",
)
"""What can be turned off: the signals, the boosts, and the learned ranking."""

SCORE_DIGITS: Final = 6
"""Scores are compared with this precision; sums of floats depend on their order."""

# Cosines that differ by less are not scaled to the whole range.
LEAST_SPREAD: Final = 0.15
# Below this the nearest text is far, and meaning counts less than matching words.
STRONG_COSINE: Final = 0.3
# The share of a rare exact term; it wins over any similarity.
EXACT_SHARE: Final = 0.75
# The weight of the preceding turn, by meaning and by words.
WINDOW_SEMANTIC: Final = 0.3
WINDOW_LEXICAL: Final = 0.4
# Where even the best is less likely, nothing is found.
LEAST_LIKELY: Final = 0.1
# Added to the fused score of a turn, which is between 0 and 1.
ACTOR_BOOST: Final = 0.2
DATE_BOOST: Final = 0.2
ROLE_BOOST: Final = 0.2
THREAD_SHARE: Final = 0.2
THREAD_BEST: Final = 3  # turns of a thread that speak for it
# Shares by which a memory's score is raised or lowered, together at most MAX_BOOST.
MAX_BOOST: Final = 0.25
LEARNED_BOOST: Final = 2.0  # by how much a boost of 1 raises the log-odds of a learned score
RECENCY_BOOST: Final = 0.10
RECENCY_HALF_LIFE_DAYS: Final = 30.0
IMPORTANCE_BOOST: Final = 0.10
CONFIDENCE_BOOST: Final = 0.05
RELATION_BOOST: Final = 0.05
DATED_BOOST: Final = 0.10
INSIGHT_PENALTY: Final = 0.20
# By how much ratings shift the log-odds of a result, at most, however many they are.
RATED_UP: Final = 0.6
RATED_DOWN: Final = 1.2
AGENT_RATING: Final = 0.5  # what an agent says, beside what the user does
RATING_HALF_LIFE_DAYS: Final = 90.0


@dataclass(frozen=True, slots=True)
class Ranking:
    semantic_weight: float = 0.7
    lexical_weight: float = 0.3
    candidates: int = 50
    off: frozenset[str] = field(default_factory=frozenset)
    reranked: int = 24
    rerank_ms: int = 60

    @classmethod
    def parse(
        cls,
        semantic_weight: float,
        lexical_weight: float,
        candidates: int,
        off: str,
        reranked: int,
        rerank_ms: int,
    ) -> Self:
        """A ranking from settings; ``off`` is a comma-separated list of parts. Raises InvalidValue:
        no such part."""
        parts = _parts(off.split(","))
        return cls(semantic_weight, lexical_weight, candidates, parts, reranked, rerank_ms)

    def uses(self, part: str) -> bool:
        return part not in self.off


def _parts(names: Iterable[str]) -> frozenset[str]:
    wanted = {name.strip() for name in names} - {""}
    unknown = wanted - set(PARTS)
    if unknown:
        raise InvalidValue("ranking_off", f"{min(unknown)!r} is not one of: {', '.join(PARTS)}")
    return frozenset(wanted)


Scores = np.ndarray[tuple[int], np.dtype[np.floating[Any]]]
Boosts = Mapping[str, Scores]
"""By name what each candidate gets; NaN where it gets none of the kind."""


def normalised(scores: Scores) -> Scores:
    """Scale scores to 0 (lowest) to 1 (best). Equal scores above 0 all become 1."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    if high - low < 1e-9:
        return (scores > 0).astype(np.float64)
    return (scores - low) / (high - low)


def nearness(cosines: Scores) -> Scores:
    """Scale cosines from 1 (the nearest) down, without exaggerating small differences.

    Where all are about equally near, scaling them to the whole range would drown the words that
    match.
    """
    if not len(cosines):
        return cosines
    high = float(cosines.max())
    spread = max(high - float(cosines.min()), LEAST_SPREAD)
    return 1 - (high - cosines) / spread


def strength(cosines: Scores | None) -> float:
    """The weight of the semantic signal, 0 to 1: low where even the nearest is far."""
    if cosines is None or not len(cosines):
        return 0.0
    return min(1.0, max(0.1, float(cosines.max()) / STRONG_COSINE))


def fused(
    ranking: Ranking,
    semantic: Scores | None,
    lexical: Scores | None,
    strong: float = 1.0,
    exact: Scores | None = None,
) -> Scores:
    """One score per candidate; without one signal, the other decides alone.

    ``strong`` is the weight of the semantic signal, ``exact`` the share of the query's rare exact
    terms in a candidate.
    """
    return with_exact(_weighed(ranking, semantic, lexical, strong), exact)


def with_exact(scores: Scores, exact: Scores | None) -> Scores:
    """Scores that a rare exact term goes before, where a candidate has one."""
    if exact is None or not exact.any():
        return scores
    return EXACT_SHARE * exact + (1 - EXACT_SHARE) * scores


def _weighed(
    ranking: Ranking, semantic: Scores | None, lexical: Scores | None, strong: float
) -> Scores:
    weights = {"semantic": ranking.semantic_weight * strong, "lexical": ranking.lexical_weight}
    said = {"semantic": semantic, "lexical": lexical}
    present = {name: scores for name, scores in said.items() if scores is not None and scores.any()}
    total = sum(weights[name] for name in present)
    if not present or total <= 0:
        some = semantic if semantic is not None else lexical
        return np.zeros(0 if some is None else len(some))
    first, *others = (weights[name] / total * scores for name, scores in present.items())
    return first + others[0] if others else first


def rating_shift(ratings: Iterable[Rating], now: datetime) -> float:
    """What was said of a memory, as log-odds: more of the same adds ever less, and it fades."""
    worth = {True: 0.0, False: 0.0}
    for one in counted(ratings):
        days = max(0.0, (now - one.at).total_seconds() / 86_400)
        weight = AGENT_RATING if one.is_agent else 1.0
        worth[one.is_against] += weight * 0.5 ** (days / RATING_HALF_LIFE_DAYS)
    up, down = worth[False], worth[True]
    return RATED_UP * up / (1 + up) - RATED_DOWN * down / (1 + down)


def shifted(chance: float, shift: float) -> float:
    """A probability with its log-odds shifted."""
    factor = math.exp(shift)
    return chance * factor / (1 - chance + chance * factor)


# Two independent hints: similarity, and the share of the query's rare terms. Either alone can
# convince. Every model has its own scale of cosines.


@dataclass(frozen=True, slots=True)
class Scale:
    """The cosine at which an answer is as likely as not, and the steepness around it."""

    even: float
    slope: float


_OURS: Final = Scale(even=0.5, slope=10.0)
_UNKNOWN: Final = Scale(even=0.6, slope=10.0)
OUR_MODEL: Final = "ricordo-multi"

COVERAGE_EVEN: Final = 0.8
COVERAGE_SLOPE: Final = 6.0


def confidence_of(cosine: float | None, coverage: float, model: str | None) -> float:
    """From the cosine to the query (None: not compared) and the share of its rare terms."""
    by_words = _logistic((coverage - COVERAGE_EVEN) * COVERAGE_SLOPE) if coverage > 0 else 0.0
    if cosine is None:
        return round(by_words, 4)
    scale = _OURS if model is not None and model.startswith(OUR_MODEL) else _UNKNOWN
    by_meaning = _logistic((cosine - scale.even) * scale.slope)
    return round(1 - (1 - by_meaning) * (1 - by_words), 4)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
