"""Adding, reading and changing memories."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue, ThemeNotFound
from ricordo.memories import additions, lifecycle, lookup, ratings, replacement
from ricordo.memories.lifecycle import check_unchanged
from ricordo.memories.replacement import read_lineage
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.filters import ItemFilter, Order, Sort, SortColumn
from ricordo.model.item import Added, Change, Changes, Item, Lineage, Project, Theme
from ricordo.model.proposal import Proposed
from ricordo.model.record import Page
from ricordo.model.vocabulary import Event, VectorState, Verdict
from ricordo.operations import memories as describe
from ricordo.storage.database import ReadTransaction, WriteTransaction, retried
from ricordo.storage.history import changes_since, revision_of
from ricordo.storage.items import change_theme
from ricordo.storage.search_rows import text_hash
from ricordo.storage.users import projects_of
from ricordo.user_memory.base import UserOperations, confined, implements

# What changes one memory takes ``expected_updated_at``: the ``updated_at`` that the caller last
# saw. Where it has another one by now, nothing is written. It is checked in the transaction that
# writes.


class MemoryOperations(UserOperations):
    """Memories of one user."""

    @implements(describe.add)
    def add(
        self, content: str, supersedes: int | None, reason: str | None, **draft: Any
    ) -> Added | Proposed:
        new = NewMemory(content=content, **draft)
        if supersedes is None:
            waiting = None
            if not self._is_asked_for(new):
                from ricordo.formation import agent_notes  # takes long to load

                additions.check_times(new, self.database.clock())
                waiting = agent_notes.proposed(self.parts.formation, self.scope, new)
            return self._add_batch([new], reason)[0] if waiting is None else waiting
        self._check_needs_no_consent("content", new)  # the user decides what takes which place
        added = self._replace([supersedes], new, Event.SUPERSEDE, reason)
        self._count_said_again([added])
        return added

    @implements(describe.add_many)
    def add_many(self, memories: Sequence[NewMemory], reason: str | None) -> tuple[Added, ...]:
        drafts = [draft.stamped(self.scope) for draft in memories]
        for place, draft in enumerate(drafts):
            self._check_needs_no_consent(f"memories[{place}]", draft)
            additions.check_times(draft, self.database.clock())
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], reason)
        return tuple(added)

    @implements(describe.merge)
    def merge(
        self, ids: Sequence[int], content: NewMemory, reason: str | None, **draft: Any
    ) -> Added:
        merged = replace(content, **draft)
        self._check_needs_no_consent("content", merged)
        return self._replace(ids, merged, Event.MERGE, reason)

    def _is_asked_for(self, draft: NewMemory) -> bool:
        return self.scope.is_the_users and draft.is_asked_for

    def _check_needs_no_consent(self, field: str, draft: NewMemory) -> None:
        if not self._is_asked_for(draft):
            from ricordo.formation import agent_notes

            agent_notes.check_needs_no_consent(self.parts.formation, self.scope, field, draft)

    def _add_batch(self, drafts: Sequence[NewMemory], reason: str | None) -> Sequence[Added]:
        added = self._write_batch(drafts, reason)
        self._count_said_again(added)
        return added

    def _count_said_again(self, added: Iterable[Added]) -> None:
        """What somebody says once more is in use. After the transaction, never inside it."""
        met = [one.id for one in added if one.duplicate]
        if met:
            self.recall.accesses.note(self.scope.user_id, met, self.database.clock())

    @retried
    def _write_batch(self, drafts: Sequence[NewMemory], reason: str | None) -> Sequence[Added]:
        texts = [draft.content for draft in drafts]
        prepared = self.recall.prepare(self.scope.user_id, texts)
        shared = len(drafts) <= limits.SHARED_COMMIT_ROWS
        with self.database.write(
            self.scope.user_id, known=prepared.known, shared=shared
        ) as writing:
            added = additions.add_all(writing, self.scope, drafts, reason)
            if prepared.known.by_hash or any(one.updated for one in added):
                self.recall.relating.written(writing, zip(added, texts, strict=True), prepared)
        if prepared.known.model is None:
            return added
        return [
            replace(one, embedding=_state(prepared.known, text))
            for one, text in zip(added, texts, strict=True)
        ]

    @retried
    def _replace(
        self, old_ids: Sequence[int], draft: NewMemory, event: Event, reason: str | None
    ) -> Added:
        user_id = self.scope.user_id
        known, near = self.recall.prepare(user_id, [draft.content])
        with self.database.write(user_id, touching=old_ids, known=known) as writing:
            added = replacement.replace_with(writing, self.scope, old_ids, draft, event, reason)
            self.recall.relating.note(writing, [(added.id, text_hash(draft.content))], known, near)
        return replace(added, embedding=_state(known, draft.content))

    @implements(describe.get)
    def get(self, id: int, include_deleted: bool) -> Item:
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), id, include_deleted=include_deleted)
            return self._detailed(view, [item])[0]

    @implements(describe.get_many)
    def get_many(self, ids: Sequence[int], include_deleted: bool) -> tuple[Item, ...]:
        with self.database.read(self.scope.user_id) as view:
            found = lookup.read_items(
                view, self._audience(view), ids, include_deleted=include_deleted
            )
            return tuple(self._detailed(view, found))

    def _detailed(self, view: ReadTransaction, found: Sequence[Item]) -> Sequence[Item]:
        states = {one.id: one.state for one in self._states(view, [item.id for item in found])}
        return [replace(item, embedding=states.get(item.id)) for item in found]

    @implements(describe.lineage)
    def lineage(self, id: int) -> Lineage:
        with self.database.read(self.scope.user_id) as view:
            audience = self._audience(view)
            item = lookup.read_item(view, audience, id, include_deleted=True)
            if item.user_id != self.scope.user_id:
                return Lineage()
            return read_lineage(view, audience, self.scope, item)

    @implements(describe.list_memories)
    def list(
        self, sort: SortColumn, order: Order, limit: int, cursor: str | None, **filters: Any
    ) -> Page[Item]:
        wanted = confined(ItemFilter.of(filters), self.scope)
        ordered = Sort(sort, order is Order.DESCENDING)
        with self.database.read(self.scope.user_id) as view:
            return lookup.read_page(view, self._audience(view), wanted, ordered, limit, cursor)

    @implements(describe.history)
    def history(self, id: int, limit: int) -> tuple[Change, ...]:
        with self.database.read(self.scope.user_id) as view:
            user_id = self.scope.user_id
            return tuple(lookup.read_history(view, self._audience(view), user_id, id, limit))

    @implements(describe.themes)
    def themes(self) -> tuple[Theme, ...]:
        policy = self.parts.access.for_themes()
        with self.database.read(self.scope.user_id) as view:
            audience, user_id = self._audience(view), self.scope.user_id
            counts = self.parts.theme_counts.seen(view, audience, user_id)
            themes = lookup.read_themes(view, audience, user_id, counts)
        return tuple(map(policy.described, themes))

    @implements(describe.projects)
    def projects(self) -> tuple[Project, ...]:
        scope = self.scope
        with self.database.read(scope.user_id) as view:
            found = projects_of(view.connection, scope.user_id, view.now)
        return tuple(one for one in found if scope.sees_project(one.project_id))

    @implements(describe.changes)
    def changes(
        self,
        since: int,
        before: int | None,
        event: Sequence[Event] | None,
        project_id: str | None,
        order: Order,
        limit: int,
    ) -> Changes:
        with self.database.read(self.scope.user_id) as view:
            return changes_since(
                view.connection,
                self.scope.user_id,
                since,
                limit,
                self.scope.project_id,
                events=event or (),
                up_to=None if before is None else before - 1,
                about=project_id,
                newest_first=order is Order.DESCENDING,
            )

    @implements(describe.revision)
    def revision(self) -> int:
        with self.database.read(self.scope.user_id) as view:
            return revision_of(view.connection, self.scope.user_id)

    @implements(describe.archive)
    @retried
    def archive(self, id: int, reason: str | None, expected_updated_at: datetime | None) -> Item:
        with self._changing(id, expected_updated_at) as writing:
            return lifecycle.archive(writing, self.scope, id, reason)

    @implements(describe.restore)
    @retried
    def restore(self, id: int, reason: str | None, expected_updated_at: datetime | None) -> Item:
        with self._changing(id, expected_updated_at) as writing:
            return lifecycle.restore(writing, self.scope, id, reason)

    @implements(describe.forget)
    @retried
    def forget(
        self,
        id: int | None,
        key: str | None,
        theme: str | None,
        reason: str | None,
        expected_updated_at: datetime | None,
    ) -> tuple[Item, ...]:
        if (id is None) == (key is None) or (theme is not None and key is None):
            raise InvalidValue("forget", "give either an id, or a key with an optional theme")
        if expected_updated_at is not None and id is None:
            raise InvalidValue("expected_updated_at", "is of one memory: give its id")
        if id is not None:
            with self._changing(id, expected_updated_at) as writing:
                return (lifecycle.forget(writing, self.scope, id, reason),)
        assert key is not None
        with self.database.write(self.scope.user_id) as writing:
            return tuple(lifecycle.forget_key(writing, self.scope, key, theme, reason))

    @implements(describe.pin)
    @retried
    def pin(self, id: int, pinned: bool, expected_updated_at: datetime | None) -> Item:
        with self._changing(id, expected_updated_at) as writing:
            return lifecycle.pin(writing, self.scope, id, pinned)

    @implements(describe.verify)
    @retried
    def verify(self, id: int, expected_updated_at: datetime | None) -> Item:
        with self._changing(id, expected_updated_at) as writing:
            return lifecycle.verify(writing, self.scope, id)

    @implements(describe.rate)
    def rate(
        self,
        id: int,
        verdict: Verdict,
        reason: str | None,
        query: str | None,
        expected_updated_at: datetime | None,
    ) -> Item:
        item, is_new = self._rate(id, verdict, reason, query, expected_updated_at)
        if is_new and verdict is Verdict.USED:
            self.recall.accesses.note(item.user_id, [id], self.database.clock())
        return item

    @retried
    def _rate(
        self,
        id: int,
        verdict: Verdict,
        reason: str | None,
        query: str | None,
        expected_updated_at: datetime | None,
    ) -> tuple[Item, bool]:
        with self._changing(id, expected_updated_at) as writing:
            return ratings.rate(writing, self.scope, id, verdict, reason, query)

    @implements(describe.undo)
    @retried
    def undo(self, id: int, reason: str | None, expected_updated_at: datetime | None) -> Item:
        with self._changing(id, expected_updated_at) as writing:
            return replacement.undo(writing, self.scope, id, reason)

    @implements(describe.purge)
    def purge(self, before_time: bool) -> int:
        total = 0
        while purged := self._purge_batch(before_time):
            total += purged
        return total

    @implements(describe.describe_theme)
    @retried
    def describe_theme(self, /, theme: str, **changed: Any) -> Theme:
        self.scope.check_reaches([theme])
        values = {name: value or None for name, value in changed.items() if value is not None}
        if not values:
            raise InvalidValue("theme", f"say what to change: {', '.join(changed)}")
        with self.database.write(self.scope.user_id) as writing:
            values["updated_at"] = writing.now
            if not change_theme(writing.connection, self.scope.user_id, theme, values):
                raise ThemeNotFound(theme)
        return next(found for found in self.themes() if found.slug == theme)

    @contextmanager
    def _changing(self, item_id: int, expected: datetime | None) -> Iterator[WriteTransaction]:
        """A write to one memory, in the state that is expected."""
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            check_unchanged(writing, self.scope, item_id, expected)
            yield writing

    @retried
    def _purge_batch(self, before_time: bool) -> int:
        with self.database.write(self.scope.user_id) as writing:
            lifecycle.expire_due(writing)
            return lifecycle.purge_due(writing, before_time=before_time)


def _state(known: KnownVectors, text: str) -> VectorState | None:
    """How far the vector of a text is that was just written."""
    if known.model is None:
        return None
    return VectorState.READY if text_hash(text) in known.by_hash else VectorState.PENDING
