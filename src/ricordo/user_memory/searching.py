"""Finding: memories and what was said, by meaning and by words."""

import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.memories import lookup
from ricordo.model import checks
from ricordo.model.filters import ItemFilter, TurnFilter
from ricordo.model.search import (
    MemoryHit,
    QueryAnswer,
    QueryRequest,
    Related,
    Returns,
    SearchResults,
    TurnHit,
)
from ricordo.model.vocabulary import Status
from ricordo.recall.service import read_related
from ricordo.storage.backend import Step
from ricordo.user_memory.adding import When
from ricordo.user_memory.bound import Bound
from ricordo.user_memory.confining import confined


class Searching(Bound):
    """Operations that find."""

    def search(
        self,
        query: str = "*",
        /,
        *,
        limit: int = limits.DEFAULT_RESULTS,
        recency_days: float | None = None,
        threshold: float | None = None,
        explain: bool = False,
        **filters: Any,
    ) -> SearchResults[MemoryHit]:
        """The memories that answer a question best, whatever is typed.

        An empty question or ``*`` gives the newest. The filters are those of ``list``, e.g.
        ``theme="work"``, ``status="any"`` (never what was forgotten), ``as_of="2024-05-01"`` for
        what was true then. ``recency_days`` leaves out what is older. With a ``threshold`` (0 to 1)
        hits that are less sure to be an answer are left out; ``explain`` adds every component of
        every score. An embedder that is slow or down never fails a search: ``degraded`` says so.

        Raises:
            UnknownField, InvalidValue: a filter does not exist, or a value is not allowed.
            CategoryNotAllowed: a theme that this scope does not reach.
        """
        asked = checks.question("query", query)
        wanted = self._search_filter(filters, recency_days)
        size = checks.integer("limit", limit, 1, limits.MAX_RESULTS)
        least = checks.optional_share("threshold", threshold)
        shown = checks.flag("explain", explain)
        started = time.perf_counter()
        with self.database.watch(Step.SEARCH):
            found = self.recall.memories.search(
                self.scope.user_id, asked, size, wanted, least, shown
            )
        self._count_recall(started)
        return found

    def search_turns(
        self,
        query: str,
        /,
        *,
        limit: int = limits.DEFAULT_RESULTS,
        thread: str | None = None,
        role: str | None = None,
        actor: str | None = None,
        since: When | None = None,
        until: When | None = None,
        threshold: float | None = None,
        explain: bool = False,
    ) -> SearchResults[TurnHit]:
        """What was said that answers a question best.

        Raises:
            InvalidValue: a value is not allowed, or the question is empty.
        """
        asked = checks.question("query", query)
        if asked in ("", "*"):
            raise InvalidValue("query", "is empty; to read a conversation in order, use turns")
        wanted = TurnFilter.parse(thread, role, actor, since, until)
        size = checks.integer("limit", limit, 1, limits.MAX_RESULTS)
        least = checks.optional_share("threshold", threshold)
        shown = checks.flag("explain", explain)
        with self.database.watch(Step.SEARCH_TURNS):
            return self.recall.turns.search(self.scope.user_id, asked, size, wanted, least, shown)

    def query(
        self,
        agent: str | None,
        query: str,
        *,
        categories: Iterable[str] | str | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int = limits.DEFAULT_QUERY_RESULTS,
        returns: Returns | str = Returns.BULLETS,
        budget_tokens: int = limits.DEFAULT_BUDGET,
        threshold: float | None = None,
        related: int = 0,
    ) -> QueryAnswer:
        """What an agent needs to know, within a budget of tokens that is never exceeded.

        ``agent`` is who asks, None for the agent of this scope or the user; its allowlist is
        checked before anything is read. ``procedure`` memories come back only when asked for by
        type or category. ``related`` adds up to two bullets about the same.

        Raises:
            CategoryNotAllowed: a category outside the agent's allowlist or this scope.
            UnknownField, InvalidValue: a filter does not exist, or a value is not allowed.
            ScopeWidened: another agent or user than the one of this scope.
        """
        asking = self.scope.narrow(agent_id=agent).agent_id
        request = QueryRequest.parse(
            query=query,
            agent=asking,
            categories=categories,
            filters=filters,
            top_k=top_k,
            returns=returns,
            budget_tokens=budget_tokens,
            threshold=threshold,
            related=related,
            within=self.scope.categories,
        )
        started = time.perf_counter()
        with self.database.watch(Step.QUERY):
            answered = self.recall.querying.answer(self.scope.user_id, request)
        self._count_recall(started)
        return answered

    def related(self, id: int, *, limit: int = limits.DEFAULT_RESULTS) -> tuple[Related, ...]:
        """The memories that are about the same as one, the most similar first.

        Raises:
            MemoryNotFound: there is no such memory, or it is another user's.
        """
        item_id = checks.memory_id(id)
        size = checks.integer("limit", limit, 1, limits.MAX_RESULTS)
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), item_id)
            wanted = confined(ItemFilter(), self.scope)
            return tuple(read_related(view, self.scope.user_id, [item.id], size, wanted))

    def _search_filter(self, filters: dict[str, Any], recency_days: float | None) -> ItemFilter:
        wanted = confined(ItemFilter.parse(filters), self.scope)
        if Status.DELETED in (wanted.statuses or ()):
            raise InvalidValue(
                "status",
                "a search never finds what was forgotten; allowed: active, archived,"
                " superseded, any",
            )
        if recency_days is None:
            return wanted
        if wanted.created_after is not None:
            raise InvalidValue("recency_days", "give either this or created_after")
        days = checks.number("recency_days", recency_days, 0, limits.MAX_RECENCY_DAYS)
        return wanted.newer_than(self.database.clock() - timedelta(days=days))
