"""What a list of results is worth, given the turns that hold the answer. Pure functions.

A measure of one question lies between 0 and 1; a measure of many is their mean. Results beyond the
first ``DEPTH`` are never looked at.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from ricordo.model.record import Record

DEPTH: Final = 20
"""How many results a question asks for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found for one question. ``ranked`` are ids of turns, best first."""

    category: str
    evidence: tuple[str, ...]
    ranked: tuple[str, ...]
    stale: tuple[str, ...] | None = None
    fresh: tuple[str, ...] | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures(Record):
    """Means over so many questions; all 0 where there are none."""

    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    recall_at_20: float
    all_at_10: float
    mrr: float
    ndcg_at_10: float


def recall_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """The share of the evidence among the first ``k`` results."""
    wanted = set(evidence)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def all_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1 where all of the evidence is among the first ``k`` results."""
    return float(set(evidence).issubset(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], evidence: Collection[str]) -> float:
    """1 divided by the place of the first evidence; 0 where none is found."""
    place = _best_place(ranked, evidence)
    return 0.0 if place is None else 1 / place


def ndcg_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Discounted gain of the first ``k`` results beside that of a perfect order."""
    wanted = set(evidence)
    gained = sum(
        _discounted(place)
        for place, found in enumerate(dict.fromkeys(ranked[:k]), start=1)
        if found in wanted
    )
    perfect = sum(_discounted(place) for place in range(1, min(k, len(wanted)) + 1))
    return gained / perfect


def is_fresh_above_stale(
    ranked: Sequence[str], fresh: Collection[str], stale: Collection[str]
) -> bool:
    """True where the best new statement stands above the best old one; false where none is."""
    best_fresh, best_stale = _best_place(ranked, fresh), _best_place(ranked, stale)
    if best_fresh is None:
        return False
    return best_stale is None or best_fresh < best_stale


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """The chance that one of ``higher`` is above one of ``lower``, ties counting half.

    None where either is empty, because then there is nothing to tell apart.
    """
    if not higher or not lower:
        return None
    # The sum of ranks gives it without comparing every pair.
    labelled = sorted([(score, True) for score in higher] + [(score, False) for score in lower])
    rank_sum, start = 0.0, 0
    while start < len(labelled):
        end = start
        while end < len(labelled) and labelled[end][0] == labelled[start][0]:
            end += 1
        shared_rank = (start + 1 + end) / 2
        rank_sum += shared_rank * sum(is_higher for _, is_higher in labelled[start:end])
        start = end
    smallest = len(higher) * (len(higher) + 1) / 2
    return (rank_sum - smallest) / (len(higher) * len(lower))


def measured(outcomes: Collection[Outcome]) -> Measures:
    """The measures of many questions, each of which has evidence."""

    def mean(of_one: Callable[[Outcome], float]) -> float:
        return fmean(map(of_one, outcomes)) if outcomes else 0.0

    return Measures(
        questions=len(outcomes),
        recall_at_1=mean(lambda one: recall_at(one.ranked, one.evidence, 1)),
        recall_at_5=mean(lambda one: recall_at(one.ranked, one.evidence, 5)),
        recall_at_10=mean(lambda one: recall_at(one.ranked, one.evidence, 10)),
        recall_at_20=mean(lambda one: recall_at(one.ranked, one.evidence, DEPTH)),
        all_at_10=mean(lambda one: all_at(one.ranked, one.evidence, 10)),
        mrr=mean(lambda one: reciprocal_rank(one.ranked, one.evidence)),
        ndcg_at_10=mean(lambda one: ndcg_at(one.ranked, one.evidence, 10)),
    )


def _best_place(ranked: Sequence[str], wanted: Collection[str]) -> int | None:
    places = (place for place, found in enumerate(ranked[:DEPTH], start=1) if found in wanted)
    return next(places, None)


def _discounted(place: int) -> float:
    return 1 / math.log2(place + 1)
