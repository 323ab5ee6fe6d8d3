"""Putting turns in order: fused signals, then what the question says of who, when and where."""

from typing import Any

import numpy as np

from ricordo.recall.fusion import Scores, fused, nearness, normalised, strength
from ricordo.recall.ranking import (
    ACTOR_BOOST,
    DATE_BOOST,
    ROLE_BOOST,
    SCORE_DIGITS,
    THREAD_BEST,
    THREAD_SHARE,
    Ranking,
)
from ricordo.recall.turn_candidates import TurnCandidates
from ricordo.text.dates import NamedTime, named_times

_USER_ROLE = "user"


class RankedTurns:
    """Candidates with every part of their scores. ``order`` has the best first."""

    def __init__(
        self, ranking: Ranking, found: TurnCandidates, question: str, people: list[str]
    ) -> None:
        self.found = found
        self.semantic = None if found.meaning is None else nearness(found.meaning)
        self.lexical = None if found.words is None else normalised(found.words)
        strong = strength(found.cosines)
        self.base = fused(ranking, self.semantic, self.lexical, strong, found.exact)
        self.boosts: dict[str, Scores] = {}
        if ranking.uses("actor") and len(people) == 1:
            spoke = found.actor == found.actors.find(people[0])
            self.boosts["actor"] = ACTOR_BOOST * spoke
        if ranking.uses("date"):
            named = named_times(question)
            if named is not None:
                self.boosts["date"] = DATE_BOOST * _said_then(found, named)
        if ranking.uses("role"):
            self.boosts["role"] = ROLE_BOOST * (found.role == found.roles.find(_USER_ROLE))
        total = self.base + sum(self.boosts.values())
        if ranking.uses("thread"):
            self.boosts["thread"] = THREAD_SHARE * _thread_support(found.thread, total)
            total = total + self.boosts["thread"]
        self.scores = total
        shown = np.round(total, SCORE_DIGITS)
        self.order = np.lexsort((-found.ids, -found.moment, -shown))


def _said_then(found: TurnCandidates, named: NamedTime) -> Any:
    hit = np.ones(len(found.ids), np.bool_)
    if named.years:
        hit &= np.isin(found.month // 12, list(named.years))
    if named.months:
        hit &= np.isin(found.month % 12 + 1, list(named.months))
    if named.days:
        hit &= np.isin(found.day, list(named.days))
    return hit


def _thread_support(thread: Any, scores: Scores) -> Scores:
    """The mean of the best few of each turn's thread: what a conversation was about shows in more
    than one of its turns."""
    if not len(scores):
        return scores
    # Plain lists: the candidates are few, and numpy's single numbers are slow to handle.
    numbers = thread.tolist()
    values = scores.tolist()
    best: dict[int, list[float]] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        of_thread = best.setdefault(numbers[place], [])
        if len(of_thread) < THREAD_BEST:
            of_thread.append(max(values[place], 0.0))
    support = {number: sum(of_thread) / len(of_thread) for number, of_thread in best.items()}
    return np.array([support[number] for number in numbers])
