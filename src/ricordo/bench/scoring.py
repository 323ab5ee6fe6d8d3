"""Which questions count for what: the mean, apart from it, or only as a number."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from ricordo.bench.metrics import (
    Measures,
    Outcome,
    auroc,
    is_fresh_above_stale,
    measured,
)
from ricordo.model.record import Record

ABSTENTION: Final = "abstention"
APART: Final = ("adversarial", ABSTENTION)
"""Categories that are never part of the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness(Record):
    """How often a new statement stands above the old one; None where no question asks that."""

    questions: int
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstaining(Record):
    """Whether ``confidence`` tells questions with an answer from those without.

    ``auroc`` is 1 where it always does, 0.5 where it says nothing, None where the set does not
    have both kinds. ``without_confidence`` is how many searches gave none; they are left out.
    """

    answerable: int
    unanswerable: int
    without_confidence: int
    auroc: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores(Record):
    """The measures of a whole set."""

    overall: Measures
    categories: Mapping[str, Measures]
    apart: Mapping[str, Measures]
    without_evidence: int
    freshness: Freshness
    abstaining: Abstaining


def scored(outcomes: Collection[Outcome]) -> Scores:
    """Put every outcome where it belongs.

    Questions without evidence are only counted, and used to see whether a search knows that it
    found nothing.
    """
    with_evidence = [one for one in outcomes if one.evidence]
    inside = [one for one in with_evidence if one.category not in APART]
    return Scores(
        overall=measured(inside),
        categories=_by_category(inside),
        apart=_by_category([one for one in with_evidence if one.category in APART]),
        without_evidence=len(outcomes) - len(with_evidence),
        freshness=_freshness(outcomes),
        abstaining=_abstaining(outcomes),
    )


def _by_category(outcomes: Collection[Outcome]) -> dict[str, Measures]:
    # In the order of first appearance, which is the order that the set was written in.
    names = dict.fromkeys(one.category for one in outcomes)
    return {name: measured([one for one in outcomes if one.category == name]) for name in names}


def _freshness(outcomes: Collection[Outcome]) -> Freshness:
    decided = [
        is_fresh_above_stale(one.ranked, one.fresh, one.stale)
        for one in outcomes
        if one.fresh is not None and one.stale is not None
    ]
    return Freshness(questions=len(decided), share=fmean(decided) if decided else None)


def _abstaining(outcomes: Collection[Outcome]) -> Abstaining:
    def confidences(belongs: Callable[[Outcome], bool]) -> list[float]:
        chosen = [one.confidence for one in outcomes if belongs(one)]
        return [confidence for confidence in chosen if confidence is not None]

    answerable, unanswerable = confidences(_is_answerable), confidences(_is_unanswerable)
    considered = sum(_is_answerable(one) or _is_unanswerable(one) for one in outcomes)
    return Abstaining(
        answerable=len(answerable),
        unanswerable=len(unanswerable),
        without_confidence=considered - len(answerable) - len(unanswerable),
        auroc=auroc(answerable, unanswerable),
    )


def _is_answerable(outcome: Outcome) -> bool:
    return bool(outcome.evidence) and outcome.category not in APART


def _is_unanswerable(outcome: Outcome) -> bool:
    return not outcome.evidence or outcome.category == ABSTENTION
