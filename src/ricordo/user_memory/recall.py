"""Searching, and what reaches a model: hits, graphs, prompts, sources."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ricordo import limits
from ricordo.conversation.origins import read_formed, read_source
from ricordo.errors import InvalidValue, MemoryNotFound, ThreadNotFound
from ricordo.memories import lookup
from ricordo.memories.lookup import read_history, read_item
from ricordo.model import checks
from ricordo.model.checks import theme_slug
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
    Returns,
    SearchResults,
    TurnHit,
)
from ricordo.model.thread import FormedTurn, Turn
from ricordo.model.vocabulary import ContextMode, Status
from ricordo.prompt.request import PromptRequest
from ricordo.prompt.selection import give_feedback, used_in
from ricordo.recall.service import read_graph, read_related
from ricordo.storage.database import Step
from ricordo.storage.threads import find_thread
from ricordo.user_memory.base import UserOperations, confined, whole_memory, within_categories
from ricordo.user_memory.memories import When


def _slug(theme: str) -> str:
    return theme_slug(checks.text("theme", theme, limits.MAX_THEME_CHARS))


def _ids(field: str, given: Iterable[int]) -> list[int]:
    listed = checks.entries(field, given, limits.MAX_RECALLED_MEMORIES)
    return list(dict.fromkeys(checks.memory_id(item_id) for item_id in listed))


class RecallOperations(UserOperations):
    """Recall for one user."""

    @within_categories
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

    @whole_memory
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

    @within_categories
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

    @within_categories
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

    @within_categories
    def relation_graph(
        self, theme: str | None = None, *, limit: int = limits.DEFAULT_GRAPH_MEMORIES
    ) -> RelationGraph:
        """The most connected memories of a theme, or of all, and the relations among them.

        Only active memories of this user's own that are related to another one shown. Of a theme
        with more than 1,000 memories the latest 1,000 are looked at, with what they were related to
        when they were noted.

        Raises:
            InvalidValue: a value is not allowed.
            CategoryNotAllowed: a theme that this scope does not reach.
        """
        themes = None if theme is None else (_slug(theme),)
        wanted = confined(ItemFilter(theme=themes), self.scope)
        size = checks.integer("limit", limit, 2, limits.MAX_GRAPH_MEMORIES)
        with self.database.read(self.scope.user_id) as view:
            return read_graph(view, self.scope.user_id, wanted, size)

    @within_categories
    def context(
        self,
        message: str = "",
        *,
        thread: str | None = None,
        modes: Iterable[ContextMode | str] | ContextMode | str = ContextMode.TOOLS,
        budget_tokens: int | None = None,
        reply_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        threshold: float | None = None,
        agent: str | None = None,
        history: bool = True,
        persona: bool = True,
    ) -> Context:
        """A request to a model that knows this user: system text, earlier turns, the message.

        ``modes`` are one or more of ``tools`` (a guide to the memory tools and the themes there
        are, nothing of what memories say), ``recall`` (the memories that matter for the message)
        and ``summary`` (what is known of the user as one text). With a ``thread`` the request has
        its latest turns, a summary of the earlier ones, and what changed in memory since the
        thread last looked; without ``history`` only that, for callers who send the turns of the
        conversation themselves; without ``persona`` neither ``SOUL.md`` nor ``RULES.md``, for
        callers who say themselves who the assistant is. ``tools`` are the schemas that the caller
        sends along; they and ``reply_tokens`` are part of the budget, which is never exceeded.
        Memories that are less sure than ``threshold`` are not shown. ``agent`` is who asks, None
        for the agent of this scope or the user: nothing outside its allowlist is shown, and nothing
        outside the categories of this scope, where it has any: then also no turns.

        A store that fails is no error: the prompt says that memory is unavailable.

        Raises:
            InvalidValue: a value is not allowed, or the message alone is more than the budget.
            InvalidPolicy: the policy file is broken; nothing was read.
            ScopeWidened: another agent or thread than the one of this scope.
        """
        named = checks.optional_reference("thread", thread)
        asking = self.scope.narrow(agent_id=agent, thread_id=named)
        policy = self.parts.prompting.policy
        least = checks.optional_share("threshold", threshold)
        request = PromptRequest.parse(
            user_id=self.scope.user_id,
            message=message,
            thread_id=asking.thread_id,
            agent=asking.agent_id,
            run_id=asking.run_id,
            modes=modes,
            threshold=policy.threshold if least is None else least,
            budget_tokens=policy.budget_tokens if budget_tokens is None else budget_tokens,
            reply_tokens=reply_tokens,
            tools=tools,
            categories=self.scope.categories,
            history=history,
            persona=persona,
        )
        started = time.perf_counter()
        with self.database.watch(Step.CONTEXT):
            built = self.parts.prompting.build(request)
        if built.confidence is not None:  # None where nothing was looked for, or could be
            self._count_recall(started)
        return built

    @within_categories
    def feedback(
        self,
        recalled: Iterable[int],
        *,
        used: Iterable[int] | None = None,
        answer: str | None = None,
    ) -> Feedback:
        """Say which of the memories that a prompt showed an answer used.

        Either name them (``used``), or give the ``answer``: then those count of whose words it has
        at least half. What was used counts as recalled once more, and the share of it is counted as
        ``retrieval_hit_rate``.

        Raises:
            InvalidValue: neither or both are given, or something was used that was not recalled.
            MemoryNotFound: another user's memory, or none; nothing was counted.
        """
        shown = _ids("recalled", recalled)
        if (used is None) == (answer is None):
            raise InvalidValue("used", "give either this or answer")
        found = self._still_there(shown)
        if used is None:
            said = checks.text("answer", answer, limits.MAX_ANSWER_CHARS)
            present = [item for item in found.values() if item is not None]
            of_use = used_in(said, present, self.database.analyser)
        else:
            of_use = _ids("used", used)
            strange = [item_id for item_id in of_use if item_id not in found]
            if strange:
                listed = ", ".join(map(str, strange))
                raise InvalidValue("used", f"not among what was recalled: {listed}")
        return give_feedback(self.database, self.recall, self.scope.user_id, found, of_use)

    def _still_there(self, ids: Sequence[int]) -> dict[int, Item | None]:
        """The memories by id; None for what this user forgot since.

        Raises:
            MemoryNotFound: this user never had to do with such a memory.
        """
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

    @whole_memory
    def source_turn(self, id: int) -> Turn | None:
        """What was said that a memory was formed from.

        None where it was not formed from a conversation, where the turn is gone or cannot be known
        from others for certain, and for what another user shares: where that comes from is theirs.

        Raises:
            MemoryNotFound: there is no such memory, it has expired, or it is another user's.
        """
        item_id = checks.memory_id(id)
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), item_id)
            return read_source(view, item) if item.user_id == self.scope.user_id else None

    @whole_memory
    def formed_turns(
        self,
        thread_id: str,
        *,
        from_position: int | None = None,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[FormedTurn]:
        """What was said in a conversation, in order, each turn with the memories that came from it.

        The memories are those of ``source_turn``, also archived and superseded ones, the oldest
        first. With ``from_position`` the first page begins at that turn.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidCursor: the cursor was not given out by this call.
        """
        wanted = checks.reference("thread_id", thread_id)
        first = checks.optional_integer("from_position", from_position, 1, limits.MAX_ID)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        user_id = self.scope.user_id
        with self.database.read(user_id) as view:
            if find_thread(view.connection, user_id, wanted) is None:
                raise ThreadNotFound(wanted)
            return read_formed(view, user_id, wanted, first or 1, size, cursor)
