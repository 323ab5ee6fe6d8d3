"""Searching memories."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ricordo.index.cache import Shelves
from ricordo.index.embedders import Embedders
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.item import Item
from ricordo.model.proposal import other_owner
from ricordo.model.search import MemoryHit, SearchResults, Signals
from ricordo.recall.accesses import AccessCounter
from ricordo.recall.memory_candidates import CandidateSource
from ricordo.recall.memory_ranking import Ranked, ranked
from ricordo.recall.question import Question
from ricordo.recall.ranking import SCORE_DIGITS, Ranking
from ricordo.storage.database import Database, Reading
from ricordo.storage.items import items_by_id, page_of_items
from ricordo.storage.relations import relations_among
from ricordo.storage.where import Audience, Condition, audience_of, matching
from ricordo.text.secrets import without_secrets
from ricordo.text.snippets import snippet

EVERYTHING: Final = "*"
"""The question that asks for all, newest first. So does an empty one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Memories with how they were ranked, the best first."""

    items: Sequence[Item]
    ranked: Sequence[Ranked]
    weights: dict[str, float]
    question: Question | None
    degraded: str | None
    embed_ms: float

    @property
    def sure(self) -> float | None:
        """How likely the best one is an answer; None where nothing was found or asked."""
        if self.question is None or not self.ranked:
            return None
        return self.ranked[0].sure(self.question)


class MemorySearch:
    """Finds memories of one user at a time."""

    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        shelves: Shelves,
        ranking: Ranking,
        accesses: AccessCounter,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._shelves = shelves
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
        """The memories that answer a question best; for none at all, the newest.

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
        self,
        user_id: str,
        query: str,
        limit: int,
        wanted: ItemFilter,
        threshold: float | None,
    ) -> Answer:
        """The memories themselves with how they were ranked. They count as recalled."""
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
    ) -> Answer:
        """The same, without counting as recalled: for work of our own on the memories.

        ``within`` is one more condition that they must meet.
        """
        with self._database.read(user_id) as view:
            chosen = self._embedders.chosen(view.connection, user_id)
        meant = self._embedders.query_vector(chosen, query)
        question = Question.of(query, self._database.analyser, meant)
        return self._best(user_id, question, limit, wanted, threshold, within)

    def count_recalled(self, recalled: Sequence[Item]) -> None:
        """Count memories for their owners: what others use, or everybody, is in use as well."""
        by_owner: dict[str, list[int]] = {}
        for item in recalled:
            by_owner.setdefault(item.user_id, []).append(item.id)
        now = self._database.clock()
        for owner, ids in by_owner.items():
            self._accesses.note(owner, ids, now)

    def _newest(self, user_id: str, limit: int, wanted: ItemFilter) -> Answer:
        with self._database.read(user_id) as view:
            audience = self._audience(view, user_id)
            where = matching(audience, wanted, view.now)
            page = page_of_items(view.connection, where, Sort(), limit, None)
        return Answer([item.as_seen_by(user_id) for item in page.items], [], {}, None, None, 0.0)

    def _best(
        self,
        user_id: str,
        question: Question,
        limit: int,
        wanted: ItemFilter,
        threshold: float | None,
        within: Condition | None,
    ) -> Answer:
        with self._database.read(user_id) as view:
            audience = self._audience(view, user_id)
            where = matching(audience, wanted, view.now)
            if within is not None:
                where = where & within
            source = CandidateSource(
                self._database.backend, view.connection, audience, where, self._ranking
            )
            gathered = source.gather(self._shelves, question, limit)
            own = [one.id for one in gathered.candidates if one.owner == user_id]
            related = relations_among(view.connection, user_id, own) if own else []
            order = ranked(self._ranking, gathered, related, question, view.now)
            if threshold is not None:
                order = [one for one in order if one.sure(question) >= threshold]
            best = order[:limit]
            # They have passed the filter a moment ago, in this very view.
            found = items_by_id(
                view.connection, [(one.candidate.owner, one.candidate.id) for one in best]
            )
        return Answer(
            [found[one.candidate.id].as_seen_by(user_id) for one in best],
            best,
            dict(gathered.weights),
            question,
            question.meant.problem,
            question.meant.embed_ms,
        )

    def _audience(self, view: Reading, user_id: str) -> Audience:
        global_until = self._database.policy.global_until
        return audience_of(view.connection, user_id, global_until, view.now)

    def _hits(self, user_id: str, found: Answer, explain: bool) -> tuple[MemoryHit, ...]:
        if found.question is None:
            return tuple(self._hit(user_id, item, None, found, explain) for item in found.items)
        return tuple(
            self._hit(user_id, item, one, found, explain)
            for item, one in zip(found.items, found.ranked, strict=True)
        )

    def _hit(
        self, user_id: str, item: Item, one: Ranked | None, found: Answer, explain: bool
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
