"""The candidates for a query among the memories that the user may see.

Signals come from indexes in memory, or from the database for a user with a large index. Either way
the filter of ``storage/where.py`` decides, in the same view of the database: a ``UserIndex`` only
says where to look first.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.index.cache import IndexCache
from ricordo.index.user_index import UserIndex, best_rows, term_weights
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.recall.ranking import Ranking, Scores
from ricordo.recall.words import SearchQuestion, best_by_words, covered, holding, meant_terms
from ricordo.storage.backend import Backend
from ricordo.storage.search_rows import linked_index
from ricordo.storage.sql import Condition, among, bound_list
from ricordo.storage.tables import ITEMS, items
from ricordo.storage.where import Audience

_SPARE: Final = 10  # rows of each signal that are checked first beyond those that are wanted
_ids = bound_list("candidate_ids", sa.BigInteger())


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    id: int
    owner: str
    cosine: float | None
    bm25: float
    coverage: float
    exact: float
    type: str
    importance: int
    confidence: int
    valid_from: Any


@dataclass(frozen=True, slots=True)
class GatheredCandidates:
    """The candidates, and the weight of each query term in them.

    Terms found only in memories that the user may not see are left out.
    """

    candidates: Sequence[MemoryCandidate]
    weights: Mapping[str, float]


class CandidateSource:
    def __init__(
        self,
        backend: Backend,
        connection: sa.Connection,
        audience: Audience,
        where: Condition,
        ranking: Ranking,
    ) -> None:
        self._backend = backend
        self._connection = connection
        self._audience = audience
        self._where = where
        self._ranking = ranking

    def gather(
        self, indexes: IndexCache, question: SearchQuestion, limit: int
    ) -> GatheredCandidates:
        """The best of each signal, exactly as if every memory had been scored."""
        assert self._audience.viewer is not None
        model = question.meant.model
        with contextlib.ExitStack() as held:
            # In one order, so that two searches do not deadlock.
            owners = sorted(
                {self._audience.viewer, *([GLOBAL_OWNER] if self._audience.sees_global else [])}
            )
            borrowed = [
                held.enter_context(indexes.borrow(self._connection, ITEMS, owner, model))
                for owner in owners
            ]
            if any(user_index is None for user_index in borrowed):
                held.close()
                return self._from_database(question)
            present = [user_index for user_index in borrowed if user_index is not None]
            if self._audience.has_links:
                viewer = self._audience.viewer
                present.append(indexes.shared_with(self._connection, viewer, model))
            return self._from_indexes(present, question, limit)

    def _from_indexes(
        self, indexes: list[UserIndex], question: SearchQuestion, limit: int
    ) -> GatheredCandidates:
        uses = self._ranking.uses
        meant = meant_terms(indexes, question.terms, limit, self._ranking)
        weights = term_weights(indexes, meant) if uses("lexical") else {}
        words = np.concatenate([user_index.lexical(weights) for user_index in indexes])
        near = _cosines(indexes, question) if uses("semantic") else None
        ids = np.concatenate([user_index.ids for user_index in indexes])
        rows, facts = self._allowed(ids, near, words)
        if not len(rows):
            return GatheredCandidates((), {})
        parts = _per_index(indexes, rows)
        share = covered(indexes, parts, question.terms, meant)
        exact = holding(indexes, parts, question.exact_terms, self._ranking)
        found = [
            MemoryCandidate(
                int(ids[row]),
                facts[int(ids[row])][1],
                None if near is None or near[row] == -np.inf else float(near[row]),
                float(words[row]),
                float(share[place]),
                float(exact[place]),
                *facts[int(ids[row])][2:],
            )
            for place, row in enumerate(rows.tolist())
        ]
        return GatheredCandidates(found, _terms_in(indexes, parts, weights))

    def _allowed(
        self, ids: Any, near: Scores | None, words: Scores
    ) -> tuple[Any, dict[int, tuple[Any, ...]]]:
        """The best rows that the filter allows, in order, and their facts.

        A few of the best are checked first. If too few pass, all allowed rows are read, so that a
        narrow filter never costs a result.
        """
        wanted = self._ranking.candidates
        first = _best(near, words, wanted + _SPARE)
        facts = self._facts(ids[first].tolist())
        passing = np.isin(ids[first], list(facts))
        rows = first[passing]
        if not _enough(near, words, first, rows, wanted):
            every = np.isin(ids, self._every_id())
            near = None if near is None else np.where(every, near, -np.inf)
            words = np.where(every, words, 0)
            rows = _best(near, words, wanted)
            facts = self._facts(ids[rows].tolist())
            rows = rows[np.isin(ids[rows], list(facts))]
        else:
            kept = np.isin(np.arange(len(ids)), rows)
            rows = _best(
                None if near is None else np.where(kept, near, -np.inf),
                np.where(kept, words, 0),
                wanted,
            )
        # A memory may be in two indexes for a moment.
        _, once = np.unique(ids[rows], return_index=True)
        return np.sort(rows[once]), facts

    def _facts(self, ids: list[int]) -> dict[int, tuple[Any, ...]]:
        if not ids:
            return {}
        statement = sa.select(
            items.c.id,
            items.c.user_id,
            items.c.type,
            items.c.importance,
            items.c.confidence,
            items.c.valid_from,
        ).where(among(items.c.id, _ids), self._where)
        rows = self._connection.execute(statement, {"candidate_ids": ids}).all()
        return {row[0]: tuple(row) for row in rows}

    def _every_id(self) -> Any:
        found = self._connection.execute(sa.select(items.c.id).where(self._where)).scalars()
        return np.fromiter(found, np.int64)

    def _shared_words(self) -> dict[int, str]:
        assert self._audience.viewer is not None
        shared = linked_index(self._connection, self._audience.viewer, None)
        facts = self._facts([row[0] for row in shared])
        return {row[0]: row[1] for row in shared if row[0] in facts}

    def _from_database(self, question: SearchQuestion) -> GatheredCandidates:
        viewer = self._audience.viewer
        assert viewer is not None
        owners = {viewer}
        if self._audience.sees_global:
            owners.add(GLOBAL_OWNER)
        words: dict[int, float] = {}
        share: dict[int, float] = {}
        weights: Mapping[str, float] = {}
        exact: dict[int, float] = {}
        if self._ranking.uses("lexical"):
            words, share, weights, exact = best_by_words(
                self._backend,
                self._connection,
                ITEMS,
                owners,
                question,
                self._where,
                self._ranking,
                self._shared_words() if self._audience.has_links else {},
            )
        near: dict[int, float] = {}
        meant = question.meant
        if self._ranking.uses("semantic") and meant.vector is not None and meant.model is not None:
            near = dict(
                self._backend.search.nearest(
                    self._connection,
                    ITEMS,
                    meant.model,
                    meant.vector,
                    self._where,
                    self._ranking.candidates,
                )
            )
        facts = self._facts(sorted({*words, *near}))
        return GatheredCandidates(
            [
                MemoryCandidate(
                    one,
                    fact[1],
                    near.get(one),
                    words.get(one, 0.0),
                    share.get(one, 0.0),
                    exact.get(one, 0.0),
                    *fact[2:],
                )
                for one, fact in sorted(facts.items())
            ],
            weights,
        )


def _cosines(indexes: Sequence[UserIndex], question: SearchQuestion) -> Scores | None:
    """The cosine of every row, -inf where it cannot be compared."""
    vector = question.meant.vector
    if vector is None:
        return None
    parts = []
    for user_index in indexes:
        near = user_index.cosines(vector)
        comparable = user_index.alive & user_index.with_vector
        parts.append(
            np.full(user_index.rows, -np.inf)
            if near is None
            else np.where(comparable, near, -np.inf)
        )
    every: Scores = np.concatenate(parts)
    return every


def _best(near: Scores | None, words: Scores, count: int) -> Any:
    """The rows with the highest scores of either signal."""
    by_words = best_rows(words, count)
    found = [by_words[words[by_words] > 0]]
    if near is not None:
        by_meaning = best_rows(near, count)
        found.append(by_meaning[near[by_meaning] > -np.inf])
    return np.unique(np.concatenate(found))


def _enough(near: Scores | None, words: Scores, first: Any, passing: Any, wanted: int) -> bool:
    """True where the first check has seen all, or found enough of either signal."""
    for scores, least in ((words, 0.0), (near, -np.inf)):
        if scores is None:
            continue
        looked = int((scores[first] > least).sum())
        if looked == int((scores > least).sum()):
            continue
        # Only rows above this signal's cut are known to be its best.
        cut = np.sort(scores[first])[::-1][: wanted + _SPARE].min()
        if int((scores[passing] >= cut).sum()) < wanted:
            return False
    return True


def _terms_in(
    indexes: Sequence[UserIndex], rows: Sequence[Any], weights: Mapping[str, float]
) -> dict[str, float]:
    found = np.zeros(len(weights), np.bool_)
    for user_index, part in zip(indexes, rows, strict=True):
        found |= user_index.rows_with(list(weights), part).any(axis=1)
    return {term: weights[term] for term, seen in zip(weights, found, strict=True) if seen}


def _per_index(indexes: Sequence[UserIndex], rows: Any) -> list[Any]:
    parts = []
    start = 0
    for user_index in indexes:
        inside = rows[(rows >= start) & (rows < start + user_index.rows)] - start
        parts.append(inside)
        start += user_index.rows
    return parts
