"""Answering an agent's query: what it may read, what it needs, and no more than it can afford."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ricordo.access.policy import AccessPolicy
from ricordo.access.reloading import PolicyFile
from ricordo.errors import ScopeWidened
from ricordo.limits import MAX_RESULTS
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Item
from ricordo.model.proposal import attributed, other_owner
from ricordo.model.search import Bullet, QueryAnswer, QueryRequest, Returns
from ricordo.model.vocabulary import MemoryType
from ricordo.recall.memories import MemorySearch
from ricordo.recall.related import read_related
from ricordo.storage.database import Database
from ricordo.text.tokens import estimate_tokens, fit_tokens

_Said = tuple[int, str, str, str | None]
"""The number of a memory, its category, what it says, and whose it is, None for the user's own."""

_UNLESS_ASKED_FOR = tuple(kind for kind in MemoryType if kind is not MemoryType.PROCEDURE)


class Querying:
    """Queries of agents on behalf of users."""

    def __init__(self, database: Database, search: MemorySearch, policy: PolicyFile) -> None:
        self._database = database
        self._search = search
        self._policy = policy

    def answer(self, user_id: str, request: QueryRequest) -> QueryAnswer:
        """What an agent may know that answers its question, within its budget.

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
        # What a capped category may not show leaves room for others.
        limit = MAX_RESULTS if caps else request.top_k
        found = self._search.answer(user_id, request.text, limit, wanted, request.threshold)
        answered = [item.without_secrets() for item in _capped(found.items, caps)[: request.top_k]]
        purse = _Purse(request.budget_tokens)
        bullets: tuple[Bullet, ...] = ()
        items: tuple[Item, ...] = ()
        if request.returns is Returns.BULLETS:
            bullets = purse.bullets([_said(item, user_id) for item in answered])
        else:
            items = purse.whole(answered)
        return QueryAnswer(
            bullets=bullets,
            items=items,
            related=self._related(user_id, answered, wanted, request.related, purse),
            tokens=purse.spent,
            confidence=found.sure,
            degraded=found.degraded,
        )

    def _related(
        self, user_id: str, found: Sequence[Item], wanted: ItemFilter, count: int, purse: "_Purse"
    ) -> tuple[Bullet, ...]:
        if not count or not found:
            return ()
        with self._database.read(user_id) as view:
            ids = [item.id for item in found]
            near = read_related(view, user_id, ids, count, wanted)
        return purse.bullets([(one.id, one.theme, one.content, None) for one in near])


def _said(item: Item, viewer: str) -> _Said:
    owner_id = other_owner(item.user_id, viewer)
    return item.id, item.theme, attributed(item.content, owner_id, item.type), owner_id


def _caps(policy: AccessPolicy, top_k: int) -> dict[str, int]:
    """How many memories of a category one answer may show, where that is fewer than asked for."""
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


class _Purse:
    """A budget of tokens that is never exceeded."""

    def __init__(self, tokens: int) -> None:
        self._left = tokens
        self.spent = 0

    def bullets(self, wanted: Sequence[_Said]) -> tuple[Bullet, ...]:
        """As many lines as can be paid for, in order; the last may be cut short."""
        lines = []
        for item_id, category, content, owner_id in wanted:
            line = f"[{category}] {' '.join(content.split())}"
            shown = fit_tokens(line, self._left)
            if len(shown) <= len(f"[{category}] …"):
                break  # nothing of it would be left
            self._pay(shown)
            lines.append(Bullet(item_id, category, shown, owner_id))
            if shown != line:
                break
        return tuple(lines)

    def whole(self, wanted: Sequence[Item]) -> tuple[Item, ...]:
        """The memories that can be paid for in full."""
        kept = []
        for item in wanted:
            if estimate_tokens(item.content) <= self._left:
                self._pay(item.content)
                kept.append(item)
        return tuple(kept)

    def _pay(self, text: str) -> None:
        price = estimate_tokens(text)
        self._left -= price
        self.spent += price


def _filter(user_id: str, request: QueryRequest, allowed: tuple[str, ...] | None) -> ItemFilter:
    given: dict[str, Any] = dict(request.filters)
    asked_user = given.pop("user_id", user_id)
    if asked_user != user_id:
        raise ScopeWidened(f"this memory is of user {user_id!r}; it cannot become {asked_user!r}")
    categories = request.categories if allowed is None else allowed
    if categories is not None:
        given["theme"] = categories
    if "type" not in given and request.categories is None:
        given["type"] = _UNLESS_ASKED_FOR
    return ItemFilter.parse(given)
