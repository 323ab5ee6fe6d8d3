"""Search and queries of one store, wired together."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ricordo.access.policy import AccessPolicy
from ricordo.access.policy_file import PolicyFile
from ricordo.errors import ScopeWidened
from ricordo.frozen import dataclass, replace
from ricordo.index.backfill import VectorBackfill
from ricordo.index.cache import IndexCache
from ricordo.index.embedders import Embedders
from ricordo.index.names import UserNames
from ricordo.index.relations import Mentions, PreparedWrite, Relating, Shared
from ricordo.limits import MAX_GRAPH_MEMORIES, MAX_GRAPHED_MEMORIES, MAX_RESULTS
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Item
from ricordo.model.proposal import attributed, other_owner
from ricordo.model.search import (
    Bullet,
    NamedEntity,
    QueryAnswer,
    QueryRequest,
    Related,
    RelationEdge,
    RelationGraph,
    Returns,
)
from ricordo.model.vocabulary import MemoryType
from ricordo.recall.accesses import AccessCounter
from ricordo.recall.memory_search import MemorySearch
from ricordo.recall.ranking import Ranking
from ricordo.recall.turn_search import TurnSearch
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.items import find_items, items_by_id
from ricordo.storage.relations import (
    Pair,
    Relation,
    ids_among,
    latest_active_ids,
    pairs_brought_by,
    relations_of,
    relations_within,
)
from ricordo.storage.search_rows import texts_with_vectors
from ricordo.storage.sql import Condition, plan_by_values
from ricordo.storage.tables import items
from ricordo.storage.where import Audience, matching
from ricordo.text.secrets import without_secrets
from ricordo.text.tokens import estimate_tokens, fit_tokens


@dataclass(frozen=True, slots=True)
class Relations:
    """How the memories of a user are related: by what they say, and by whom they mention."""

    relating: Relating
    names: UserNames

    def related(
        self,
        view: ReadTransaction,
        user_id: str,
        ids: Collection[int],
        limit: int,
        wanted: ItemFilter | None = None,
    ) -> list[Related]:
        wanted = wanted or ItemFilter()
        mentions = self._mentions(view, user_id, wanted.theme, wanted.in_project, ids)
        shared = self.relating.by_name(view, mentions)
        found: dict[int, Shared] = {}
        stored = relations_of(view.connection, user_id, ids)
        for low, high, near in _joined(stored, shared):
            for one, other in ((low, high), (high, low)):
                if one in ids and other not in ids:
                    before = found.get(other, Shared(0.0, ()))
                    names = dict.fromkeys((*before.names, *near.names))
                    found[other] = Shared(max(near.similarity, before.similarity), tuple(names))
        if not found:
            return []
        where = matching(Audience(user_id), wanted, view.now)
        present = find_items(view.connection, where & items.c.id.in_(list(found)))
        related = [
            Related(
                id=item.id,
                theme=item.theme,
                type=item.type,
                content=without_secrets(item.content),
                similarity=round(found[item.id].similarity, 4),
                names=found[item.id].names,
            )
            for item in present
        ]
        return sorted(related, key=lambda one: (-one.similarity, -one.id))[:limit]

    def _mentions(
        self,
        view: ReadTransaction,
        user_id: str,
        themes: Collection[str] | None,
        project: str | None,
        ids: Collection[int] | None = None,
    ) -> Mentions:
        """Which memories mention whom; with ``ids``, whom these mention."""
        names = self.names.of(view, user_id, themes, project)
        if not names:
            return {}
        whom = names.entities[:MAX_GRAPH_MEMORIES]
        if ids is not None:
            texts = [row.content for row in texts_with_vectors(view.connection, user_id, ids)]
            mentioned = (one.entity for text in texts for one in names.mentioned(text))
            whom = list(dict.fromkeys(mentioned))
        return self.relating.mentions(view, user_id, names, whom, themes, project, ids or ())

    def graph(
        self,
        view: ReadTransaction,
        user_id: str,
        wanted: ItemFilter,
        limit: int,
        themes: Collection[str] | None,
    ) -> RelationGraph:
        """The most connected of a user's own memories that match a filter, and their relations.

        Considers the latest ``MAX_GRAPHED_MEMORIES``, and their relations with older ones. Names
        are those that were said in ``themes``.
        """
        plan_by_values(view.connection)
        where = matching(Audience(user_id), wanted, view.now)
        latest = latest_active_ids(
            view.connection, where, MAX_GRAPHED_MEMORIES + 1, of_themes=wanted.theme is not None
        )
        considered = latest[:MAX_GRAPHED_MEMORIES]
        mentions = self._mentions(view, user_id, themes, wanted.in_project)
        shared = self.relating.by_name(view, mentions)
        pairs = {*pairs_brought_by(view.connection, user_id, considered), *shared}
        eligible = set(considered)
        if len(latest) > len(considered):  # otherwise these are all that can be shown
            older = {low for low, high in pairs if high in eligible} - eligible
            eligible |= ids_among(view.connection, where, older)
        near: dict[int, set[int]] = defaultdict(set)
        for low, high in pairs:
            if low in eligible and high in eligible:
                near[low].add(high)
                near[high].add(low)
        chosen = most_connected(near, limit)
        stored = items_by_id(view.connection, [(user_id, item_id) for item_id in chosen])
        within = relations_within(view.connection, user_id, chosen)
        edges = [
            RelationEdge(low, high, round(near_by.similarity, 4), near_by.names)
            for low, high, near_by in _joined(within, shared)
            if low in stored and high in stored
        ]
        return RelationGraph(
            memories=tuple(stored[item_id] for item_id in chosen),
            relations=tuple(
                sorted(edges, key=lambda edge: (-edge.similarity, edge.one, edge.other))
            ),
            more=len(near) > len(chosen) or len(latest) > len(considered),
            entities=_entities(view, mentions, where, limit),
        )


def _entities(
    view: ReadTransaction, mentions: Mentions, where: Condition, limit: int
) -> tuple[NamedEntity, ...]:
    """Those whom memories that meet a condition mention, the most mentioned first."""
    ids = {row.id for rows in mentions.values() for row in rows}
    wanted = ids_among(view.connection, where, ids) if ids else set()
    found = [
        NamedEntity(
            names=entity.names,
            told=entity.told,
            memories=tuple(row.id for row in rows if row.id in wanted)[:limit],
        )
        for entity, rows in mentions.items()
    ]
    named = sorted(found, key=lambda one: (-len(one.memories), one.names))
    return tuple(one for one in named if one.memories)[:limit]


def _joined(
    stored: Iterable[Relation], shared: Mapping[Pair, Shared]
) -> Iterator[tuple[int, int, Shared]]:
    """Each pair once."""
    noted = {(low, high): similarity for low, high, similarity in stored}
    for low, high in {**noted, **shared}:
        names = shared[low, high].names if (low, high) in shared else ()
        similarity = noted.get((low, high))
        yield (
            low,
            high,
            Shared(shared[low, high].similarity if similarity is None else similarity, names),
        )


_Line = tuple[int, str, str, str | None]
"""Id, category, text and owner of a memory (None for the user's own)."""

_DEFAULT_TYPES: Final = tuple(kind for kind in MemoryType if kind is not MemoryType.PROCEDURE)


class QueryService:
    def __init__(
        self, database: Database, search: MemorySearch, relations: Relations, policy: PolicyFile
    ) -> None:
        self._database = database
        self._search = search
        self._relations = relations
        self._policy = policy

    def answer(self, user_id: str, request: QueryRequest) -> QueryAnswer:
        """The memories that an agent may read and that answer its query, within its budget.

        Raises:
            CategoryNotAllowed: a category outside the agent's allowlist; nothing was read.
            InvalidPolicy: the policy file is broken; nothing was read.
            ScopeWidened: the filter names another user.
        """
        policy = self._policy.current()
        allowed = policy.check(
            request.agent, request.categories or (), within=request.within, user=user_id
        )
        wanted = _filter(user_id, request, allowed)
        caps = _caps(policy, request.top_k)
        # Fetch more: capped categories leave room for others.
        limit = MAX_RESULTS if caps else request.top_k
        found = self._search.answer(user_id, request.text, limit, wanted, request.threshold)
        answered = [item.without_secrets() for item in _capped(found.items, caps)[: request.top_k]]
        budget = _TokenBudget(request.budget_tokens)
        bullets: tuple[Bullet, ...] = ()
        items: tuple[Item, ...] = ()
        if request.returns is Returns.BULLETS:
            owners = [other_owner(item.user_id, user_id) for item in answered]
            lines = [
                (item.id, item.theme, attributed(item.content, owner, item.type), owner)
                for item, owner in zip(answered, owners, strict=True)
            ]
            bullets = budget.bullets(lines)
        else:
            items = budget.whole(answered)
        return QueryAnswer(
            bullets=bullets,
            items=items,
            related=self._related(user_id, answered, wanted, request.related, budget),
            tokens=budget.spent,
            confidence=found.confidence,
            degraded=found.degraded,
        )

    def _related(
        self,
        user_id: str,
        found: Sequence[Item],
        wanted: ItemFilter,
        count: int,
        budget: "_TokenBudget",
    ) -> tuple[Bullet, ...]:
        if not count or not found:
            return ()
        with self._database.read(user_id) as view:
            ids = [item.id for item in found]
            near = self._relations.related(view, user_id, ids, count, wanted)
        return budget.bullets([(one.id, one.theme, one.content, None) for one in near])


def _caps(policy: AccessPolicy, top_k: int) -> dict[str, int]:
    """The maximum of memories per category in one answer, where below ``top_k``."""
    return {
        slug: rule.rag_length
        for slug, rule in policy.categories.items()
        if rule.rag_length is not None and rule.rag_length < top_k
    }


def _capped(found: Sequence[Item], caps: Mapping[str, int]) -> list[Item]:
    shown: Counter[str] = Counter()
    kept = []
    for item in found:
        shown[item.theme] += 1
        if shown[item.theme] <= caps.get(item.theme, shown[item.theme]):
            kept.append(item)
    return kept


class _TokenBudget:
    """A token budget that is never exceeded."""

    def __init__(self, tokens: int) -> None:
        self._left = tokens
        self.spent = 0

    def bullets(self, wanted: Sequence[_Line]) -> tuple[Bullet, ...]:
        lines = []
        for item_id, category, content, owner_id in wanted:
            line = f"[{category}] {' '.join(content.split())}"
            shown = fit_tokens(line, self._left)
            if len(shown) <= len(f"[{category}] …"):
                break  # nothing of it would be left
            self._spend(shown)
            lines.append(Bullet(item_id, category, shown, owner_id))
            if shown != line:
                break
        return tuple(lines)

    def whole(self, wanted: Sequence[Item]) -> tuple[Item, ...]:
        kept = []
        for item in wanted:
            if estimate_tokens(item.content) <= self._left:
                self._spend(item.content)
                kept.append(item)
        return tuple(kept)

    def _spend(self, text: str) -> None:
        price = estimate_tokens(text)
        self._left -= price
        self.spent += price


def _filter(user_id: str, request: QueryRequest, allowed: tuple[str, ...] | None) -> ItemFilter:
    given: dict[str, Any] = dict(request.filters)
    named = given.pop("user_id", user_id)
    if named != user_id:
        raise ScopeWidened(f"this memory is of user {user_id!r}; it cannot become {named!r}")
    categories = request.categories if allowed is None else allowed
    if categories is not None:
        given["theme"] = categories
    if "type" not in given and request.categories is None:
        given["type"] = _DEFAULT_TYPES
    return replace(ItemFilter.parse(given), in_project=request.project)


@dataclass(frozen=True, slots=True)
class Recall:
    embedders: Embedders
    indexes: IndexCache
    names: UserNames
    memories: MemorySearch
    turns: TurnSearch
    relating: Relating
    relations: Relations
    accesses: AccessCounter
    filling: VectorBackfill
    querying: QueryService

    @classmethod
    def of(
        cls,
        database: Database,
        embedders: Embedders,
        ranking: Ranking,
        policy: PolicyFile,
        *,
        cache_bytes: int,
        link_min: float,
        relations_per_memory: int,
    ) -> "Recall":
        indexes = IndexCache(cache_bytes)
        names = UserNames()
        accesses = AccessCounter(database)
        relating = Relating(database, indexes, link_min, relations_per_memory)
        relations = Relations(relating, names)
        memories = MemorySearch(database, embedders, indexes, names, ranking, accesses)
        return cls(
            embedders,
            indexes,
            names,
            memories,
            TurnSearch(database, embedders, indexes, names, ranking),
            relating,
            relations,
            accesses,
            VectorBackfill(database, embedders, relating),
            QueryService(database, memories, relations, policy),
        )

    def prepare(self, user_id: str, texts: Iterable[str]) -> PreparedWrite:
        """The vectors of what may be written. No transaction may be open."""
        known = self.embedders.known_vectors(user_id, texts)
        return PreparedWrite(known, self.relating.neighbours(user_id, known))


def most_connected(near: Mapping[int, set[int]], limit: int) -> list[int]:
    """Up to ``limit`` memories with the most neighbours, each with at least one of its own.

    The most connected first, then the latest. A memory whose neighbours all have fewer brings the
    most connected of them along.
    """

    def rank(item_id: int) -> tuple[int, int]:
        return -len(near[item_id]), -item_id

    chosen: set[int] = set()
    for item_id in sorted(near, key=rank):
        if item_id in chosen:
            continue
        new = {item_id}
        if chosen.isdisjoint(near[item_id]):
            new.add(min(near[item_id], key=rank))
        if len(chosen) + len(new) <= limit:
            chosen |= new
        if len(chosen) == limit:
            break
    return sorted(chosen, key=rank)
