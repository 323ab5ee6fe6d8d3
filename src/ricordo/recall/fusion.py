"""From two lists of scores to one: each brought to 0..1 over the candidates, then weighed."""

from typing import Any

import numpy as np

from ricordo.recall.ranking import EXACT_SHARE, LEAST_SPREAD, STRONG_COSINE, Ranking

Scores = np.ndarray[tuple[int], np.dtype[np.floating[Any]]]


def normalised(scores: Scores) -> Scores:
    """Scores from 0 (the least of them) to 1 (the best). Where all are the same, what is above
    nothing counts as the best."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    if high - low < 1e-9:
        return (scores > 0).astype(np.float64)
    return (scores - low) / (high - low)


def nearness(cosines: Scores) -> Scores:
    """Cosines from 1 (the nearest) down, in steps that mean something.

    Where all are about equally near, or equally far, they say next to nothing about the order:
    stretching the least difference over the whole scale would drown the words that match.
    """
    if not len(cosines):
        return cosines
    high = float(cosines.max())
    spread = max(high - float(cosines.min()), LEAST_SPREAD)
    return 1 - (high - cosines) / spread


def strength(cosines: Scores | None) -> float:
    """How much nearness by meaning has to say, 0 to 1: little, where even the nearest is far."""
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
    """One score per candidate; where a signal has nothing to say, the other decides alone.

    ``strong`` is how much the semantic signal has to say, ``exact`` the share of the question's
    rare exact terms that a candidate holds.
    """
    both = _weighed(ranking, semantic, lexical, strong)
    if exact is None or not exact.any():
        return both
    return EXACT_SHARE * exact + (1 - EXACT_SHARE) * both


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
