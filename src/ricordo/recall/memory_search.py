"""Searches memories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import sqlalchemy as sa

from ricordo.index.cache import IndexCache
from ricordo.index.embedders import Embedders
from ricordo.index.names import UserNames
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.group import group_of
from ricordo.model.item import Item, stored_ratings
from ricordo.model.proposal import other_owner
from ricordo.model.search import MemoryHit, Signals
from ricordo.model.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_IMPORTANCE,
    MemoryType,
)
from ricordo.recall.accesses import AccessCounter
from ricordo.recall.candidates import Candidates, Question, Reading, SearchedRows
from ricordo.recall.ranker import features, ranker
from ricordo.recall.ranking import (
    CONFIDENCE_BOOST,
    DATED_BOOST,
    IMPORTANCE_BOOST,
    INSIGHT_PENALTY,
    LEARNED_BOOST,
    MAX_BOOST,
    RECENCY_BOOST,
    RECENCY_HALF_LIFE_DAYS,
    RELATION_BOOST,
    Boosts,
    Ranking,
    Scores,
    rating_shift,
)
from ricordo.recall.reranker import Line
from ricordo.recall.search import Ranked, Search, SearchAnswer
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.items import items_by_id, page_of_items
from ricordo.storage.relations import relations_among
from ricordo.storage.sql import Condition
from ricordo.storage.tables import ITEMS, items
from ricordo.storage.where import MOST_SHAPES, Audience, audience_of, matching, prepared
from ricordo.text.dates import named_times

EVERYTHING: Final = "*"
"""The query for all memories, newest first, like an empty one."""

_SECONDS_PER_DAY: Final = 86_400.0
_HIGHEST_IMPORTANCE: Final = 5
_HIGHEST_CONFIDENCE: Final = 100
_COLUMNS: Final = (
    items.c.id,
    items.c.user_id,
    items.c.type,
    items.c.importance,
    items.c.confidence,
    items.c.valid_from,
    sa.func.length(items.c.content),
    items.c.ratings,
)


class _Facts(NamedTuple):
    """What is read of each candidate: :data:`_COLUMNS`."""

    id: int
    user_id: str
    type: str
    importance: int
    confidence: int
    moment: datetime
    length: int
    ratings: Sequence[Mapping[str, Any]] | None


class MemorySearch(Search[ItemFilter, Item, MemoryHit]):
    kind: ClassVar[str] = "memories"
    highest_score: ClassVar[float] = 1 + MAX_BOOST

    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        indexes: IndexCache,
        names: UserNames,
        ranking: Ranking,
        accesses: AccessCounter,
    ) -> None:
        super().__init__(database, embedders, indexes, names, ranking)
        self._accesses = accesses

    def answer(
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: ItemFilter,
        threshold: float | None,
        reading: float = 1.0,
    ) -> SearchAnswer[Item]:
        """The memories that answer a query best; for an empty one, the newest.

        They count as recalled.
        """
        if query in ("", EVERYTHING):
            with self._database.read(user_id) as view:
                where = matching(self._audience(view, user_id), wanted, view.now)
                page = page_of_items(view.connection, where, Sort(), limit, None)
            found = SearchAnswer([item.as_seen_by(user_id) for item in page.items])
        else:
            found = super().answer(user_id, query, limit, wanted, threshold, reading)
        self.count_recalled(found.items)
        return found

    def count_recalled(self, recalled: Sequence[Item]) -> None:
        """Count a recall for the owners, also of shared and global memories."""
        by_owner: dict[str, list[int]] = {}
        for item in recalled:
            by_owner.setdefault(item.user_id, []).append(item.id)
        now = self._database.clock()
        for owner, ids in by_owner.items():
            self._accesses.note(owner, ids, now)

    def _audience(self, view: ReadTransaction, user_id: str) -> Audience:
        global_until = self._database.policy.global_until
        return audience_of(view.connection, user_id, global_until, view.now)

    def _within(self, wanted: ItemFilter) -> tuple[Sequence[str] | None, str | None]:
        return wanted.theme, wanted.in_project

    def _searched(self, view: ReadTransaction, user_id: str, wanted: ItemFilter) -> SearchedRows:
        audience = self._audience(view, user_id)
        where, values = prepared(audience, wanted, view.now)
        return SearchedRows(
            ITEMS,
            owners=audience.owners,
            reading=_reading(where),
            values=values,
            hides_terms=True,
            linked_to=user_id if audience.has_links else None,
        )

    def _boosted(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        rows: Sequence[Any],
        moments: Scores,
        base: Scores,
    ) -> tuple[Scores, Boosts]:
        """Boosts are shares of the score.

        Together they are at most a quarter, so that an old truth still wins over a fresh
        irrelevance.
        """
        uses = self._ranking.uses
        boosts: dict[str, Scores] = {}
        if uses("recency"):
            days = np.maximum(0.0, (view.now.timestamp() - moments) / _SECONDS_PER_DAY)
            boosts["recency"] = RECENCY_BOOST * 0.5 ** (days / RECENCY_HALF_LIFE_DAYS)
        if uses("importance"):
            above = np.array([row.importance for row in rows]) - DEFAULT_IMPORTANCE
            highest = _HIGHEST_IMPORTANCE - DEFAULT_IMPORTANCE
            boosts["importance"] = IMPORTANCE_BOOST * (above / highest)
        if uses("confidence"):
            above = np.array([row.confidence for row in rows]) - DEFAULT_CONFIDENCE
            highest = _HIGHEST_CONFIDENCE - DEFAULT_CONFIDENCE
            boosts["confidence"] = CONFIDENCE_BOOST * np.maximum(-1.0, above / highest)
        named = named_times(question.text) if uses("date") else None
        if named is not None:
            boosts["date"] = _where([named.covers(row.moment) for row in rows], DATED_BOOST)
        is_insight = [row.type == MemoryType.INSIGHT for row in rows]
        boosts["insight"] = _where(is_insight, -INSIGHT_PENALTY)
        if uses("relations"):
            own = {
                row.id: score
                for row, score in zip(rows, base.tolist(), strict=True)
                if row.user_id == user_id
            }
            support = _support(view, user_id, own)
            best = np.array([support.get(row.id, np.nan) for row in rows])
            boosts["relations"] = RELATION_BOOST * best
        return base * (1 + _shares(boosts)), boosts

    def _chances(
        self,
        question: Question,
        found: Candidates,
        fused: Scores,
        scores: Scores,
        boosts: Boosts,
    ) -> Scores:
        """Boosts raise or lower the log-odds, by little enough."""
        given = features(question, found, fused, fused)
        return ranker(self.kind).chances(given, LEARNED_BOOST * _shares(boosts))

    def _shifts(self, user_id: str, rows: Sequence[Any], now: datetime) -> dict[int, float]:
        """Ratings of others' memories are theirs, unless they are a group's."""
        if not self._ranking.uses("ratings"):
            return {}
        return {
            row.id: rating_shift(stored_ratings(row.ratings), now)
            for row in rows
            if row.ratings and (row.user_id == user_id or group_of(row.user_id) is not None)
        }

    def _read(
        self, view: ReadTransaction, user_id: str, best: Sequence[Ranked], wanted: ItemFilter
    ) -> list[Item]:
        found = items_by_id(view.connection, [(one.row.user_id, one.id) for one in best])
        return [found[one.id].as_seen_by(user_id) for one in best]

    def _lines(
        self,
        view: ReadTransaction,
        user_id: str,
        question: Question,
        best: Sequence[Ranked],
        items: Sequence[Item],
    ) -> list[Line]:
        return [Line(item.content) for item in items[: len(best)]]

    def _signals(self, one: Ranked) -> Signals:
        semantic = None if one.cosine is None else one.semantic
        return Signals(one.lexical if one.bm25 else None, semantic)

    def _parts(self, one: Ranked) -> dict[str, float | None]:
        signals = self._signals(one)
        return {
            "cosine": one.cosine,
            "semantic": signals.semantic,
            "bm25": one.bm25 or 0.0,
            "lexical": signals.fts,
        }

    def _hit(self, user_id: str, item: Item, common: Mapping[str, Any]) -> MemoryHit:
        return MemoryHit(
            id=item.id,
            theme=item.theme,
            type=item.type,
            status=item.status,
            created_at=item.created_at,
            owner_id=other_owner(item.user_id, user_id),
            project_id=item.project_id,
            **common,
        )


@lru_cache(maxsize=MOST_SHAPES)
def _reading(where: Condition) -> Reading:
    return Reading(ITEMS, where, _COLUMNS, _Facts._make)


def _where(is_given: Sequence[bool], share: float) -> Scores:
    return np.where(is_given, share, np.nan)


def _shares(boosts: Boosts) -> Scores:
    whole: Scores = sum((np.where(np.isnan(one), 0.0, one) for one in boosts.values()), np.zeros(1))
    limited: Scores = np.minimum(np.maximum(whole, -MAX_BOOST), MAX_BOOST)
    return limited


def _support(view: ReadTransaction, user_id: str, scores: Mapping[int, float]) -> dict[int, float]:
    """The score of the best related candidate, for each."""
    support: dict[int, float] = {}
    if not scores:
        return support
    for low, high, similarity in relations_among(view.connection, user_id, list(scores)):
        support[low] = max(support.get(low, 0.0), similarity * scores[high])
        support[high] = max(support.get(high, 0.0), similarity * scores[low])
    return support
