"""Searching, and what reaches a model: hits, graphs, prompts, sources."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ricordo.errors import InvalidValue, MemoryNotFound
from ricordo.memories import lookup
from ricordo.memories.lookup import read_history, read_item
from ricordo.model.context import Context, Feedback
from ricordo.model.filters import ItemFilter, TurnFilter
from ricordo.model.item import Item
from ricordo.model.record import Page
from ricordo.model.search import (
    MemoryHit,
    QueryAnswer,
    QueryRequest,
    Related,
    RelationGraph,
    SearchResults,
    TurnHit,
)
from ricordo.model.thread import FormedTurn, Turn
from ricordo.model.vocabulary import Status
from ricordo.operations import recall as describe
from ricordo.recall.origins import read_formed, read_source
from ricordo.storage.database import Step
from ricordo.user_memory.base import UserOperations, confined, implements


class RecallOperations(UserOperations):
    """Recall for one user."""

    @implements(describe.search)
    def search(
        self,
        query: str,
        limit: int,
        recency_days: float | None,
        threshold: float | None,
        explain: bool,
        **filters: Any,
    ) -> SearchResults[MemoryHit]:
        wanted = confined(ItemFilter.of(filters), self.scope)
        if Status.DELETED in (wanted.statuses or ()):
            raise InvalidValue(
                "status",
                "a search never finds what was forgotten; allowed: active, archived,"
                " superseded, any",
            )
        if recency_days is not None:
            if wanted.created_after is not None:
                raise InvalidValue("recency_days", "give either this or created_after")
            wanted = wanted.newer_than(self.database.clock() - timedelta(days=recency_days))
        started = time.perf_counter()
        with self.database.watch(Step.SEARCH):
            found = self.recall.memories.search(
                self.scope.user_id, query, limit, wanted, threshold, explain
            )
        self._count_recall(started)
        return found

    @implements(describe.search_turns)
    def search_turns(
        self,
        query: str,
        limit: int,
        threshold: float | None,
        explain: bool,
        **conditions: Any,
    ) -> SearchResults[TurnHit]:
        if query in ("", "*"):
            raise InvalidValue("query", "is empty; to read a conversation in order, use turns")
        wanted = TurnFilter(**conditions, in_project=self.scope.project_id)
        with self.database.watch(Step.SEARCH_TURNS):
            return self.recall.turns.search(
                self.scope.user_id, query, limit, wanted, threshold, explain
            )

    @implements(describe.query)
    def query(self, agent: str | None, **given: Any) -> QueryAnswer:
        asking = self.scope.narrow(agent_id=agent).agent_id
        scope = self.scope
        request = QueryRequest.of(
            agent=asking, within=scope.categories, project=scope.project_id, **given
        )
        started = time.perf_counter()
        with self.database.watch(Step.QUERY):
            answered = self.recall.querying.answer(self.scope.user_id, request)
        self._count_recall(started)
        return answered

    @implements(describe.related)
    def related(self, id: int, limit: int) -> tuple[Related, ...]:
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), id)
            wanted = confined(ItemFilter(), self.scope)
            found = self.recall.relations.related(
                view, self.scope.user_id, [item.id], limit, wanted
            )
            return tuple(found)

    @implements(describe.relation_graph)
    def relation_graph(self, theme: str | None, limit: int) -> RelationGraph:
        wanted = confined(ItemFilter(theme=None if theme is None else (theme,)), self.scope)
        with self.database.read(self.scope.user_id) as view:
            return self.recall.relations.graph(
                view, self.scope.user_id, wanted, limit, self.scope.categories
            )

    @implements(describe.context)
    def context(
        self,
        thread: str | None,
        agent: str | None,
        threshold: float | None,
        budget_tokens: int | None,
        **given: Any,
    ) -> Context:
        from ricordo.prompt.budget import PromptRequest  # loaded with what it is for, as below

        asking = self.scope.narrow(agent_id=agent, thread_id=thread)
        self._check_reaches_thread(asking.thread_id)
        policy = self.parts.prompting.policy
        policy_file = self.parts.access.current()
        request = PromptRequest.of(
            user_id=self.scope.user_id,
            thread_id=asking.thread_id,
            agent=asking.agent_id,
            run_id=asking.run_id,
            threshold=policy.threshold if threshold is None else threshold,
            budget_tokens=policy.budget_tokens if budget_tokens is None else budget_tokens,
            categories=policy_file.allowed(asking.agent_id, self.scope.categories),
            project=asking.project_id,
            **given,
        )
        started = time.perf_counter()
        with self.database.watch(Step.CONTEXT):
            built = self.parts.prompting.build(request)
        if built.confidence is not None:  # None where nothing was looked for, or could be
            self._count_recall(started)
        return built

    @implements(describe.feedback)
    def feedback(
        self, recalled: Sequence[int], used: Sequence[int] | None, answer: str | None
    ) -> Feedback:
        from ricordo.prompt.selection import give_feedback, used_in

        if (used is None) == (answer is None):
            raise InvalidValue("used", "give either this or answer")
        found = self._still_there(recalled)
        if used is None:
            assert answer is not None
            present = [item for item in found.values() if item is not None]
            of_use = used_in(answer, present, self.database.analyser)
        else:
            of_use = list(used)
            strange = [item_id for item_id in of_use if item_id not in found]
            if strange:
                listed = ", ".join(map(str, strange))
                raise InvalidValue("used", f"not among what was recalled: {listed}")
        return give_feedback(self.database, self.recall, self.scope.user_id, found, of_use)

    def _still_there(self, ids: Sequence[int]) -> dict[int, Item | None]:
        """The memories by id; None for what this user forgot since. Raises MemoryNotFound: this
        user never had to do with such a memory."""
        found: dict[int, Item | None] = {}
        with self.database.read(self.scope.user_id) as view:
            audience = self._audience(view)
            for item_id in ids:
                try:
                    found[item_id] = read_item(view, audience, item_id)
                except MemoryNotFound:
                    read_history(view, audience, self.scope.user_id, item_id, 1)
                    found[item_id] = None
        return found

    @implements(describe.source_turn)
    def source_turn(self, id: int) -> Turn | None:
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), id)
            if item.user_id != self.scope.user_id or item.thread_id is None:
                return None
            in_reach = self._sees_thread(view, item.thread_id)
            return read_source(view, item) if in_reach else None

    @implements(describe.formed_turns)
    def formed_turns(
        self, thread_id: str, from_position: int | None, limit: int, cursor: str | None
    ) -> Page[FormedTurn]:
        user_id = self.scope.user_id
        with self.database.read(user_id) as view:
            self._thread(view, thread_id)
            page = read_formed(view, user_id, thread_id, from_position or 1, limit, cursor)
        sees = self.scope.sees_project
        shown = (
            FormedTurn(one.turn, tuple(item for item in one.memories if sees(item.project_id)))
            for one in page
        )
        return Page(tuple(shown), page.next_cursor)
