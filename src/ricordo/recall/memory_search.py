"""Searches memories: candidates ranked by fused signals and bounded boosts."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np

from ricordo.index.cache import IndexCache
from ricordo.index.embedders import Embedders
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.item import Item
from ricordo.model.proposal import other_owner
from ricordo.model.search import MemoryHit, SearchResults, Signals
from ricordo.model.vocabulary import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, MemoryType
from ricordo.recall.accesses import AccessCounter
from ricordo.recall.memory_candidates import CandidateSource, GatheredCandidates, MemoryCandidate
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
    Scores,
    confidence_of,
    fused,
    nearness,
    normalised,
    strength,
)
from ricordo.recall.words import SearchQuestion
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.items import items_by_id, page_of_items
from ricordo.storage.relations import Relation, relations_among
from ricordo.storage.sql import Condition
from ricordo.storage.where import Audience, audience_of, matching
from ricordo.text.dates import NamedTime, named_times
from ricordo.text.secrets import without_secrets
from ricordo.text.snippets import snippet

# Boosts are shares of the score, together at most a quarter, so that an old truth still wins over a
# fresh irrelevance.

_SECONDS_PER_DAY = 86_400.0
_HIGHEST_IMPORTANCE = 5
_HIGHEST_CONFIDENCE = 100


@dataclass(frozen=True, slots=True)
class Ranked:
    candidate: MemoryCandidate
    score: float
    semantic: float | None
    lexical: float | None
    base: float
    boosts: Mapping[str, float]

    def sure(self, question: SearchQuestion) -> float:
        model = None if question.meant.model is None else question.meant.model.model
        return confidence_of(self.candidate.cosine, self.candidate.coverage, model)

    def explanation(self, weights: Mapping[str, float]) -> dict[str, Any]:
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
    gathered: GatheredCandidates,
    related: Sequence[Relation],
    question: SearchQuestion,
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


def _semantic(found: Sequence[MemoryCandidate]) -> Scores | None:
    near = [one.cosine for one in found]
    compared = [cosine for cosine in near if cosine is not None]
    if not compared:
        return None
    least = min(compared)  # what has no vector counts as the least near of those that have one
    return nearness(np.array([least if cosine is None else cosine for cosine in near]))


def _strength(found: Sequence[MemoryCandidate]) -> float:
    return strength(np.array([one.cosine for one in found if one.cosine is not None]))


def _lexical(found: Sequence[MemoryCandidate]) -> Scores | None:
    words = np.array([one.bm25 for one in found])
    return normalised(words) if words.any() else None


def _boosts(
    ranking: Ranking, one: MemoryCandidate, now: datetime, named: NamedTime | None
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
    found: Sequence[MemoryCandidate], base: Scores, related: Sequence[Relation]
) -> dict[int, float]:
    """The score of the best related candidate, for each."""
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


EVERYTHING: Final = "*"
"""The query for all memories, newest first, like an empty one."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    items: Sequence[Item]
    ranked: Sequence[Ranked]
    weights: dict[str, float]
    question: SearchQuestion | None
    degraded: str | None
    embed_ms: float

    @property
    def sure(self) -> float | None:
        """The confidence of the best one; None without a result or query."""
        if self.question is None or not self.ranked:
            return None
        return self.ranked[0].sure(self.question)


class MemorySearch:
    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        indexes: IndexCache,
        ranking: Ranking,
        accesses: AccessCounter,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._indexes = indexes
        self._ranking = ranking
        self._accesses = accesses

    def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: ItemFilter,
        threshold: float | None,
        explain: bool,
    ) -> SearchResults[MemoryHit]:
        """The memories that answer a query best; for an empty one, the newest.

        Raises:
            StorageError: the database could not answer. An embedder that fails is no error.
        """
        started = time.perf_counter()
        found = self.answer(user_id, query, limit, wanted, threshold)
        hits = self._hits(user_id, found, explain)
        spent = (time.perf_counter() - started) * 1000
        return SearchResults(
            hits,
            confidence=found.sure,
            degraded=found.degraded,
            timings={"embed_ms": found.embed_ms, "search_ms": spent - found.embed_ms},
        )

    def answer(
        self, user_id: str, query: str, limit: int, wanted: ItemFilter, threshold: float | None
    ) -> SearchAnswer:
        """Items with their ranking. They count as recalled."""
        if query in ("", EVERYTHING):
            found = self._newest(user_id, limit, wanted)
        else:
            found = self.find(user_id, query, limit, wanted, threshold)
        self.count_recalled(found.items)
        return found

    def find(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: ItemFilter,
        threshold: float | None = None,
        within: Condition | None = None,
    ) -> SearchAnswer:
        """Like :meth:`answer` without counting recalls, for internal use.

        ``within`` is a further condition.
        """
        with self._database.read(user_id) as view:
            chosen = self._embedders.chosen(view.connection, user_id)
        meant = self._embedders.query_vector(chosen, query)
        question = SearchQuestion.of(query, self._database.analyser, meant)
        return self._best(user_id, question, limit, wanted, threshold, within)

    def count_recalled(self, recalled: Sequence[Item]) -> None:
        """Count a recall for the owners, also of shared and global memories."""
        by_owner: dict[str, list[int]] = {}
        for item in recalled:
            by_owner.setdefault(item.user_id, []).append(item.id)
        now = self._database.clock()
        for owner, ids in by_owner.items():
            self._accesses.note(owner, ids, now)

    def _newest(self, user_id: str, limit: int, wanted: ItemFilter) -> SearchAnswer:
        with self._database.read(user_id) as view:
            audience = self._audience(view, user_id)
            where = matching(audience, wanted, view.now)
            page = page_of_items(view.connection, where, Sort(), limit, None)
        return SearchAnswer(
            [item.as_seen_by(user_id) for item in page.items], [], {}, None, None, 0.0
        )

    def _best(
        self,
        user_id: str,
        question: SearchQuestion,
        limit: int,
        wanted: ItemFilter,
        threshold: float | None,
        within: Condition | None,
    ) -> SearchAnswer:
        with self._database.read(user_id) as view:
            audience = self._audience(view, user_id)
            where = matching(audience, wanted, view.now)
            if within is not None:
                where = where & within
            source = CandidateSource(
                self._database.backend, view.connection, audience, where, self._ranking
            )
            gathered = source.gather(self._indexes, question, limit)
            own = [one.id for one in gathered.candidates if one.owner == user_id]
            related = relations_among(view.connection, user_id, own) if own else []
            order = ranked(self._ranking, gathered, related, question, view.now)
            if threshold is not None:
                order = [one for one in order if one.sure(question) >= threshold]
            best = order[:limit]
            # They have just passed the filter in the same view.
            found = items_by_id(
                view.connection, [(one.candidate.owner, one.candidate.id) for one in best]
            )
        return SearchAnswer(
            [found[one.candidate.id].as_seen_by(user_id) for one in best],
            best,
            dict(gathered.weights),
            question,
            question.meant.problem,
            question.meant.embed_ms,
        )

    def _audience(self, view: ReadTransaction, user_id: str) -> Audience:
        global_until = self._database.policy.global_until
        return audience_of(view.connection, user_id, global_until, view.now)

    def _hits(self, user_id: str, found: SearchAnswer, explain: bool) -> tuple[MemoryHit, ...]:
        if found.question is None:
            return tuple(self._hit(user_id, item, None, found, explain) for item in found.items)
        return tuple(
            self._hit(user_id, item, one, found, explain)
            for item, one in zip(found.items, found.ranked, strict=True)
        )

    def _hit(
        self, user_id: str, item: Item, one: Ranked | None, found: SearchAnswer, explain: bool
    ) -> MemoryHit:
        asked = found.question
        terms = () if asked is None else asked.terms
        return MemoryHit(
            id=item.id,
            content_snippet=snippet(without_secrets(item.content), terms, self._database.analyser),
            score=0.0 if one is None else round(one.score, SCORE_DIGITS),
            confidence=0.0 if one is None or asked is None else one.sure(asked),
            signals=Signals(None, None) if one is None else Signals(one.lexical, one.semantic),
            explanation=one.explanation(found.weights) if one is not None and explain else None,
            theme=item.theme,
            type=item.type,
            status=item.status,
            created_at=item.created_at,
            owner_id=other_owner(item.user_id, user_id),
        )
