"""CrewAI with a user's memory: ``Crew(memory=RicordoMemory(user))``, or that of a single agent.

``pip install 'ricordo[crewai]'``.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NoReturn

from ricordo.errors import InvalidValue
from ricordo.frozen import replace
from ricordo.integrations.adapter import one_user
from ricordo.model.item import Added, Item
from ricordo.model.proposal import attributed
from ricordo.model.search import MemoryHit
from ricordo.model.vocabulary import Source
from ricordo.user_memory import UserMemory

try:
    from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
    from crewai.memory.unified_memory import Memory as UnifiedMemory
    from pydantic import PrivateAttr
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.crewai", "crewai")) from missing

__all__ = ["RicordoMemory"]

_ROOT: Final = "/"
_LEAST_IMPORTANT, _MOST_IMPORTANT = 1, 5


class RicordoMemory(UnifiedMemory):
    """One user's memory, for a crew or an agent.

    Each task begins with what is recalled for it, and agents search and save with CrewAI's own
    memory tools. What they save is screened like all notes of agents: secrets are refused, and
    what is sensitive waits for the user's consent. Nothing else of a run is kept: what a crew
    produces is no word of the user. A scope is a theme, such as ``/travel``; categories are tags.

    Raises:
        InvalidValue: this is not one user's memory.
    """

    _user: UserMemory = PrivateAttr()

    def __init__(self, user: UserMemory) -> None:
        given = one_user(user)
        # No model and no embedder of CrewAI's is asked, and none is made.
        super().__init__(storage=_Records(given))
        self._user = UserMemory(given.parts, replace(given.scope, is_agent=True))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> "RicordoMemory":
        return self  # an open store cannot be copied, and copies of a crew share it

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: str = "deep",  # noqa: ARG002 - every search is as deep
        source: str | None = None,
        include_private: bool = False,  # noqa: ARG002 - nothing is stored so
    ) -> list[MemoryMatch]:
        """What is remembered and sure enough, the best first."""
        _refuse(source=source)
        least = self._user.parts.prompting.policy.threshold
        found = self._user.search(query, theme=_theme(scope), tags=categories, limit=limit)
        return [
            MemoryMatch(record=_record_of_hit(hit), score=hit.confidence)
            for hit in found
            if hit.confidence >= least
        ]

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord:
        """Store a memory, or propose it to the user where it needs their consent; the record then
        says so. Raises InvalidValue: it holds a secret, or has what memories here do not have."""
        _refuse(metadata=metadata, source=source, private=private)
        kept = self._user.add(
            content,
            theme=_theme(scope or root_scope),
            tags=categories,
            importance=None if importance is None else _importance(importance),
            agent_id=agent_role,
            source=Source.CONVERSATION,
        )
        if isinstance(kept, Added):
            return _record(self._user.get(kept.id))
        note = {"status": kept.status, "note": kept.note}
        return MemoryRecord(id=f"proposal-{kept.proposal_id}", content=content, metadata=note)

    def remember_many(
        self, contents: list[str], scope: str | None = None, **given: Any
    ) -> list[MemoryRecord]:
        """The same for several, one by one."""
        return [self.remember(one, scope, **given) for one in contents]

    def extract_memories(self, content: str) -> list[str]:  # noqa: ARG002 - see above
        """Nothing: what a crew produces is no word of the user."""
        return []

    def update(self, record_id: str, *_: Any, **__: Any) -> NoReturn:
        """Refused: agents correct a memory by saving what is right. Raises InvalidValue: always."""
        raise InvalidValue("record_id", f"{record_id!r} is not changed: remember what is right")


class _Records:
    """What CrewAI lists, counts and deletes of a memory; it never stores or searches here."""

    def __init__(self, user: UserMemory) -> None:
        self._user = user

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        return [_record(one) for one in self._items(scope_prefix)][offset : offset + limit]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        return next((one for one in self.list_records() if one.id == record_id), None)

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._items(scope_prefix))

    def list_scopes(self, parent: str = _ROOT) -> list[str]:
        themes = self._user.themes() if parent == _ROOT else ()
        return [f"{_ROOT}{one.slug}" for one in themes if one.active_count]

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        counts: dict[str, int] = {}
        for item in self._items(scope_prefix):
            for tag in item.tags:
                counts[tag] = counts.get(tag, 0) + 1
        return counts

    def get_scope_info(self, scope: str) -> ScopeInfo:
        times = [one.created_at for one in self._items(scope)]
        return ScopeInfo(
            path=scope,
            record_count=len(times),
            categories=list(self.list_categories(scope)),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget memories by their ids; a person can bring them back. Raises InvalidValue: it is to
        be by anything else."""
        others = (scope_prefix, categories, older_than, metadata_filter)
        if not record_ids or any(one is not None for one in others):
            raise InvalidValue("record_ids", "say by their ids what to forget, and by nothing else")
        ids = [int(one) for one in record_ids if one.isdecimal()]
        return sum(len(self._user.forget(one)) for one in ids)

    def reset(self, scope_prefix: str | None = None) -> NoReturn:
        """Refused: what is a user's is not a crew's to delete. Raises InvalidValue: always."""
        raise InvalidValue("memory", f"is the user's, and not reset ({scope_prefix or 'all'})")

    def _items(self, scope: str | None) -> Iterable[Item]:
        cursor: str | None = None
        while True:
            page = self._user.list(theme=_theme(scope), cursor=cursor)
            yield from page
            cursor = page.next_cursor
            if cursor is None:
                return


def _record(item: Item) -> MemoryRecord:
    return _made(item.id, item.content, item.theme, item.tags, item.created_at, item.importance)


def _record_of_hit(hit: MemoryHit) -> MemoryRecord:
    content = attributed(hit.content_snippet, hit.owner_id, hit.type)
    return _made(hit.id, content, hit.theme, (), hit.created_at, None)


def _made(
    item_id: int,
    content: str,
    theme: str,
    tags: Sequence[str],
    at: datetime,
    importance: int | None,
) -> MemoryRecord:
    share = {} if importance is None else {"importance": importance / _MOST_IMPORTANT}
    return MemoryRecord(
        id=str(item_id),
        content=content,
        scope=f"{_ROOT}{theme}",
        categories=list(tags),
        created_at=at,
        last_accessed=at,
        **share,
    )


def _theme(scope: str | None) -> str | None:
    """The theme of a scope; None for the root."""
    return "-".join(filter(None, (scope or "").split("/"))) or None


def _importance(share: float) -> int:
    return max(_LEAST_IMPORTANT, min(_MOST_IMPORTANT, round(share * _MOST_IMPORTANT)))


def _refuse(**given: Any) -> None:
    """Refuse what memories here do not have, rather than lose it."""
    for name, value in given.items():
        if value:
            raise InvalidValue(name, "is nothing that a memory here has; leave it out")
