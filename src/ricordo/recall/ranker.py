"""The learned ranking: how likely each memory or turn answers the question.

A net of two layers over what the search knows of every candidate, one for memories and one for
turns. ``training/ranker`` has the recipe. Its probability is the score and the confidence of a hit.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from typing import Any, Final

import numpy as np

from ricordo.frozen import dataclass
from ricordo.index.user_index import Ints
from ricordo.recall.candidates import Candidates, Question
from ricordo.recall.ranking import SCORE_DIGITS, THREAD_SHARE, Boosts, Scores

FEATURES: Final = (
    *("cosine", "meaning", "below_best_cosine", "below_best_meaning", "words", "coverage"),
    *("exact", "words_of_best", "cosine_rank", "meaning_rank", "words_rank", "actor", "one_person"),
    *("date", "thread", "length", "cosine_before", "cosine_after", "words_before", "fused"),
    *("score", "below_best_score", "score_rank", "best_cosine", "best_coverage", "terms"),
    *("best_meaning", "cosine_deviation", "cosine_gap"),
)
_SCORE: Final = FEATURES.index("score")
_LEAST: Final = 1e-6
_LEAST_DEVIATION: Final = 1e-3
_MOST_DEVIATIONS: Final = 3.0
_WORDS_SCALE: Final = 2.0
_NOBODY: Final = -1  # said what comes before or after

Matrix = np.ndarray[tuple[int, int], np.dtype[np.floating[Any]]]


def features(
    question: Question,
    found: Candidates,
    fused: Scores,
    scores: Scores,
    boosts: Boosts | None = None,
) -> Matrix:
    """A row for each candidate, in the order of :data:`FEATURES`. Turns have ``boosts``, and
    neighbours.
    """
    assert found.cosines is not None and found.meaning is not None
    rows, count = found.rows, len(found.rows)
    cosine = np.maximum(found.cosines.astype(np.float64), -1.0)
    meaning = found.meaning.astype(np.float64)
    words = np.zeros(count) if found.words is None else found.words.astype(np.float64)
    whole = max(sum(found.weights.values()), _LEAST) * _WORDS_SCALE
    before = after = np.full(count, _NOBODY)
    if boosts is not None:
        places = {(row.thread_id, row.position): place for place, row in enumerate(rows)}
        before, after = (
            np.array([places.get((row.thread_id, row.position + step), _NOBODY) for row in rows])
            for step in (-1, 1)
        )
    added = boosts or {}
    nothing = np.zeros(count)
    nearest = np.sort(cosine)
    gap = nearest[-2] - nearest[-1] if count > 1 else 0.0
    columns = (
        *(cosine, meaning, cosine - cosine.max(), meaning - meaning.max()),
        *(words / whole, found.coverage, found.exact, words / max(words.max(), _LEAST)),
        *(_by_rank(cosine), _by_rank(meaning), _by_rank(words)),
        *(added.get("actor", nothing) > 0, len(question.people) == 1),
        added.get("date", nothing) > 0,
        added.get("thread", nothing) / THREAD_SHARE,
        np.log([max(row.length, 1) for row in rows]),
        *(_of(cosine, before), _of(cosine, after), _of(words, before) / whole),
        *(fused, scores, scores - scores.max(), _by_rank(scores)),
        *(cosine.max(), found.coverage.max(), np.log1p(len(question.terms))),
        *(meaning.max(), (cosine - cosine.mean()) / (cosine.std() + _LEAST_DEVIATION), gap),
    )
    given = np.empty((count, len(FEATURES)))
    for place, column in enumerate(columns):
        given[:, place] = column
    return given


def _by_rank(scores: Scores) -> Scores:
    """1 for the best, 1/2 for the next, and so on."""
    order = np.argsort(-np.round(scores, SCORE_DIGITS), kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = 1 / np.arange(1, len(scores) + 1)
    return ranks


def _of(scores: Scores, places: Ints) -> Scores:
    return np.where(places == _NOBODY, 0.0, scores[places])


@dataclass(frozen=True, slots=True)
class Ranker:
    """The weights: features are scaled, pass a layer of ``tanh`` and are summed up with the score,
    which keeps the order where the net has seen nothing like it.
    """

    mean: Scores
    deviation: Scores
    first: Matrix
    first_bias: Scores
    last: Scores
    last_bias: float
    score_weight: float

    def chances(self, given: Matrix, raised: Scores | float = 0.0) -> Scores:
        """The probability of each candidate to be an answer; ``raised`` adds to the log-odds."""
        scaled = np.clip((given - self.mean) / self.deviation, -_MOST_DEVIATIONS, _MOST_DEVIATIONS)
        evidence = np.tanh(scaled @ self.first + self.first_bias) @ self.last + self.last_bias
        evidence = evidence + self.score_weight * given[:, _SCORE] + raised
        chances: Scores = 1 / (1 + np.exp(-evidence))
        return chances


@functools.cache
def ranker(kind: str) -> Ranker:
    """That of ``memories`` or of ``turns``."""
    read: dict[str, Any] = json.loads(
        resources.files(__package__).joinpath("ranker.json").read_text("utf-8")
    )
    assert read["features"] == list(FEATURES)
    return made_of(read[kind])


def made_of(weights: Mapping[str, Any]) -> Ranker:
    given: dict[str, Any] = {field.name: weights[field.name] for field in fields(Ranker)}
    lists = {name: np.array(value) for name, value in given.items() if isinstance(value, list)}
    return Ranker(**{**given, **lists})
