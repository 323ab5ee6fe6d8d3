"""Adding, reading and changing memories."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue, ThemeNotFound
from ricordo.index.relations import Neighbours
from ricordo.memories import additions, lifecycle, lookup, replacement
from ricordo.memories.lifecycle import check_unchanged
from ricordo.memories.replacement import read_lineage
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.item import Added, Change, Changes, Item, Lineage, Theme
from ricordo.model.record import Page
from ricordo.model.vocabulary import ContextPolicy, Event, MemoryType, Source
from ricordo.storage.database import WriteTransaction, retried
from ricordo.storage.history import changes_since, revision_of
from ricordo.storage.items import change_theme
from ricordo.storage.search_rows import text_hash
from ricordo.user_memory.base import (
    UserOperations,
    checked_reason,
    confined,
    whole_memory,
    within_categories,
)

When = datetime | date | str


_NOT_OF_THE_DRAFT = frozenset({"self", "supersedes", "reason"})


# What changes one memory takes ``expected_updated_at``: the ``updated_at`` that the caller last
# saw. Where it has another one by now, nothing is written. It is checked in the transaction that
# writes.


class MemoryOperations(UserOperations):
    """Memories of one user."""

    @within_categories
    def add(
        self,
        content: str,
        *,
        theme: str | None = None,
        type: MemoryType | str | None = None,
        key: str | None = None,
        tags: Iterable[str] | None = None,
        source: Source | str | None = None,
        source_context: str | None = None,
        thread_id: str | None = None,
        message_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        actor_id: str | None = None,
        role: str | None = None,
        confidence: int | None = None,
        importance: int | None = None,
        pinned: bool | None = None,
        valid_from: When | None = None,
        valid_to: When | None = None,
        expires_at: When | None = None,
        created_at: When | None = None,
        supersedes: int | None = None,
        reason: str | None = None,
    ) -> Added:
        """Remember something.

        The same text in the same theme is not written twice; the memory that is there counts as
        recalled. With a ``key``, what had that key is updated. With ``supersedes``, the memory of
        that id is closed and kept as history, and what is not given (theme, type, key, tags,
        importance, pin) is taken from it.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
            MemoryNotFound, NotOwner, IllegalTransition: about the memory to supersede.
            CategoryNotAllowed: its theme is out of this scope's reach.
            ScopeWidened: it names another agent, thread, run, actor or role than the scope.
        """
        given = {name: value for name, value in locals().items() if name not in _NOT_OF_THE_DRAFT}
        draft = NewMemory.parse(given)
        why = checked_reason(reason)
        if supersedes is None:
            return self._add_batch([draft], why)[0]
        added = self._replace([checks.memory_id(supersedes)], draft, Event.SUPERSEDE, why)
        self._count_said_again([added])
        return added

    @within_categories
    def add_many(
        self, memories: Iterable[NewMemory | Mapping[str, Any] | str], *, reason: str | None = None
    ) -> tuple[Added, ...]:
        """Add many memories, one transaction per batch; the result of each, in order.

        Every value is checked before anything is written. What can only be checked against what is
        stored (a keyed statement that begins before the one it updates) stops its own batch. What
        is there already counts as recalled.

        Raises:
            InvalidValue, UnknownField: one of them is not allowed; nothing of its batch is stored.
            CategoryNotAllowed: the theme of one is out of this scope's reach; nothing is stored.
            ScopeWidened: one names another agent, thread, run, actor or role than the scope.
        """
        listed = checks.entries("memories", memories, limits.MAX_BULK_ITEMS)
        drafts = [NewMemory.parse(given).stamped(self.scope) for given in listed]
        for draft in drafts:
            additions.check_times(draft, self.database.clock())
        why = checked_reason(reason)
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], why)
        return tuple(added)

    @within_categories
    def merge(
        self,
        ids: Iterable[int],
        content: str | NewMemory | Mapping[str, Any],
        *,
        reason: str | None = None,
    ) -> Added:
        """Put one memory in the place of several, which are kept as history.

        What is not given is taken from them where they agree; tags are put together.

        Raises:
            InvalidValue: fewer than two memories, or too many.
            MemoryNotFound, NotOwner, IllegalTransition: about the memories to merge.
            CategoryNotAllowed: the theme of the new one is out of this scope's reach.
        """
        listed = checks.entries("ids", ids, limits.MAX_MERGED_ITEMS)
        sources = list(dict.fromkeys(checks.memory_id(item_id) for item_id in listed))
        if len(sources) < 2:
            raise InvalidValue(
                "ids", f"only {len(sources)}; allowed: 2 to {limits.MAX_MERGED_ITEMS} memories"
            )
        return self._replace(sources, NewMemory.parse(content), Event.MERGE, checked_reason(reason))

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
        known, near = self._look_up(draft.content for draft in drafts)
        with self.database.write(self.scope.user_id, known=known) as writing:
            added = additions.add_all(writing, self.scope, drafts, reason)
            if known.by_hash or any(one.updated for one in added):
                self._relate(writing, list(zip(added, drafts, strict=True)), known, near)
            return added

    def _relate(
        self,
        writing: WriteTransaction,
        written: Sequence[tuple[Added, NewMemory]],
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        relating = self.recall.relating
        hashed = [(one, text_hash(draft.content)) for one, draft in written]
        new = [(one.id, digest) for one, digest in hashed if one.is_new]
        changed = [(one.id, digest) for one, digest in hashed if one.updated]
        relating.renew(writing, changed, known, near)
        relating.note(writing, new, known, near)

    @retried
    def _replace(
        self, old_ids: Sequence[int], draft: NewMemory, event: Event, reason: str | None
    ) -> Added:
        known, near = self._look_up([draft.content])
        with self.database.write(self.scope.user_id, touching=old_ids, known=known) as writing:
            added = replacement.replace_with(writing, self.scope, old_ids, draft, event, reason)
            self.recall.relating.note(writing, [(added.id, text_hash(draft.content))], known, near)
            return added

    def _look_up(self, texts: Iterable[str]) -> tuple[KnownVectors, Neighbours]:
        """What a write needs of vectors, found out before its transaction."""
        known = self.recall.embedders.known_vectors(self.scope.user_id, texts)
        return known, self.recall.relating.neighbours(self.scope.user_id, known)

    @within_categories
    def get(self, id: int, *, include_deleted: bool = False) -> Item:
        """One memory.

        Raises:
            MemoryNotFound: there is none, it has expired, or it is another user's.
        """
        item_id = checks.memory_id(id)
        also_deleted = checks.flag("include_deleted", include_deleted)
        with self.database.read(self.scope.user_id) as view:
            return lookup.read_item(
                view, self._audience(view), item_id, include_deleted=also_deleted
            )

    @within_categories
    def get_many(self, ids: Iterable[int], *, include_deleted: bool = False) -> tuple[Item, ...]:
        """Those of some memories that ``get`` would find, in the order of the ids, each once.

        What does not exist, has expired or is another user's is left out.

        Raises:
            InvalidValue: something that is no id, or too many.
        """
        listed = checks.entries("ids", ids, limits.MAX_PAGE_ITEMS)
        wanted = [checks.memory_id(item_id) for item_id in listed]
        also_deleted = checks.flag("include_deleted", include_deleted)
        with self.database.read(self.scope.user_id) as view:
            found = lookup.read_items(
                view, self._audience(view), wanted, include_deleted=also_deleted
            )
        return tuple(found)

    @within_categories
    def lineage(self, id: int) -> Lineage:
        """What took the place of a memory, whose place it took, and what ``undo`` would take back.

        Also of one that was forgotten or has expired. What this scope does not reach is not named.
        Memories that others share have no history here.

        Raises:
            MemoryNotFound: there is none, or it is another user's.
        """
        item_id = checks.memory_id(id)
        with self.database.read(self.scope.user_id) as view:
            audience = self._audience(view)
            item = lookup.read_item(view, audience, item_id, include_deleted=True)
            if item.user_id != self.scope.user_id:
                return Lineage()
            return read_lineage(view, audience, self.scope, item)

    @within_categories
    def list(
        self,
        /,
        *,
        sort: str = "created_at",
        order: str = "desc",
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
        **filters: Any,
    ) -> Page[Item]:
        """A page of memories, newest first unless sorted otherwise.

        The filters are the fields of ``ItemFilter``, e.g. ``theme="work"``, ``contains="tea"``,
        ``status="any"``. Unknown ones are refused.

        Raises:
            UnknownField, InvalidValue: a filter does not exist or has a value that is not allowed.
            InvalidCursor: the cursor is from a list in another order.
            CategoryNotAllowed: a theme that this scope does not reach.
        """
        wanted = confined(ItemFilter.parse(filters), self.scope)
        ordered = Sort.parse(sort, order)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read(self.scope.user_id) as view:
            return lookup.read_page(view, self._audience(view), wanted, ordered, size, cursor)

    @within_categories
    def history(self, id: int, *, limit: int = limits.DEFAULT_CHANGES) -> tuple[Change, ...]:
        """What happened to a memory, oldest first; also for one that was purged.

        Raises:
            MemoryNotFound: this user never had to do with such a memory.
        """
        item_id = checks.memory_id(id)
        size = checks.integer("limit", limit, 1, limits.MAX_CHANGES)
        with self.database.read(self.scope.user_id) as view:
            user_id = self.scope.user_id
            return tuple(lookup.read_history(view, self._audience(view), user_id, item_id, size))

    @within_categories
    def themes(self) -> tuple[Theme, ...]:
        """The headings with the number of active memories under each, most used first.

        What the policy file says of them overrides what the user has set.
        """
        policy = self.parts.access.for_themes()
        with self.database.read(self.scope.user_id) as view:
            themes = lookup.read_themes(view, self._audience(view), self.scope.user_id)
        return tuple(map(policy.described, themes))

    @whole_memory
    def changes(self, since: int = 0, *, limit: int = limits.DEFAULT_CHANGES) -> Changes:
        """What happened after a revision, oldest first."""
        after = checks.integer("since", since, 0, limits.MAX_ID)
        size = checks.integer("limit", limit, 1, limits.MAX_CHANGES)
        with self.database.read(self.scope.user_id) as view:
            return changes_since(view.connection, self.scope.user_id, after, size)

    @whole_memory
    def revision(self) -> int:
        """The position of this user's change feed: one more with each change of a memory."""
        with self.database.read(self.scope.user_id) as view:
            return revision_of(view.connection, self.scope.user_id)

    @within_categories
    @retried
    def archive(
        self, id: int, *, reason: str | None = None, expected_updated_at: When | None = None
    ) -> Item:
        """Put a memory aside: kept, and out of reads unless asked for.

        With ``expected_updated_at`` only in the state that has this ``updated_at``.

        Raises:
            Changed: it is in another state by now.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, why = checks.memory_id(id), checked_reason(reason)
        with self._changing(item_id, expected_updated_at) as writing:
            return lifecycle.archive(writing, self.scope, item_id, why)

    @within_categories
    @retried
    def restore(
        self, id: int, *, reason: str | None = None, expected_updated_at: When | None = None
    ) -> Item:
        """Bring back an archived or forgotten memory.

        With ``expected_updated_at`` only in the state that has this ``updated_at``.

        Raises:
            Changed: it is in another state by now.
            Occupied: its key or text was taken by another active memory.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, why = checks.memory_id(id), checked_reason(reason)
        with self._changing(item_id, expected_updated_at) as writing:
            return lifecycle.restore(writing, self.scope, item_id, why)

    @within_categories
    @retried
    def forget(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        theme: str | None = None,
        reason: str | None = None,
        expected_updated_at: When | None = None,
    ) -> tuple[Item, ...]:
        """Soft-delete a memory by id, or what has a key (in one theme, or in all).

        It is gone from every read, can be restored for a while, and is then removed for good. By id
        with ``expected_updated_at`` only in the state that has this ``updated_at``.

        Raises:
            InvalidValue: neither or both of id and key, or what belongs to the other one.
            Changed: it is in another state by now.
            CategoryNotAllowed: a theme that this scope does not reach.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        if (id is None) == (key is None) or (theme is not None and key is None):
            raise InvalidValue("forget", "give either an id, or a key with an optional theme")
        if expected_updated_at is not None and id is None:
            raise InvalidValue("expected_updated_at", "is of one memory: give its id")
        why = checked_reason(reason)
        wanted_key = None if key is None else checks.text("key", key, limits.MAX_KEY_CHARS)
        slug = None if theme is None else theme_slug(theme)
        item_id = None if id is None else checks.memory_id(id)
        if item_id is not None:
            with self._changing(item_id, expected_updated_at) as writing:
                return (lifecycle.forget(writing, self.scope, item_id, why),)
        assert wanted_key is not None
        with self.database.write(self.scope.user_id) as writing:
            return tuple(lifecycle.forget_key(writing, self.scope, wanted_key, slug, why))

    @within_categories
    @retried
    def pin(self, id: int, pinned: bool = True, *, expected_updated_at: When | None = None) -> Item:
        """Mark a memory as one to keep, or take the mark away.

        With ``expected_updated_at`` only in the state that has this ``updated_at``.

        Raises:
            Changed: it is in another state by now.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, wanted = checks.memory_id(id), checks.flag("pinned", pinned)
        with self._changing(item_id, expected_updated_at) as writing:
            return lifecycle.pin(writing, self.scope, item_id, wanted)

    @within_categories
    @retried
    def verify(self, id: int, *, expected_updated_at: When | None = None) -> Item:
        """Note that a memory was found to be still true.

        With ``expected_updated_at`` only in the state that has this ``updated_at``.

        Raises:
            Changed: it is in another state by now.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id = checks.memory_id(id)
        with self._changing(item_id, expected_updated_at) as writing:
            return lifecycle.verify(writing, self.scope, item_id)

    @within_categories
    @retried
    def undo(
        self, id: int, *, reason: str | None = None, expected_updated_at: When | None = None
    ) -> Item:
        """Bring a superseded or merged memory back, or take back the last update of a keyed one.

        A replacement is undone by naming either side of it; the memory that came back is returned.
        With ``expected_updated_at`` only if the one that is named has this ``updated_at``.

        Raises:
            Changed: it is in another state by now.
            NothingToUndo: nothing of the kind happened to it.
            Occupied: its key or text was taken by another active memory.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, why = checks.memory_id(id), checked_reason(reason)
        with self._changing(item_id, expected_updated_at) as writing:
            return replacement.undo(writing, self.scope, item_id, why)

    @whole_memory
    def purge(self, *, before_time: bool = False) -> int:
        """Remove forgotten memories for good whose time has come; how many there were.

        ``before_time`` removes every forgotten memory at once. History keeps that they existed.
        """
        everything = checks.flag("before_time", before_time)
        total = 0
        while purged := self._purge_batch(everything):
            total += purged
        return total

    @within_categories
    @retried
    def describe_theme(
        self,
        theme: str,
        *,
        display_name: str | None = None,
        description: str | None = None,
        context: ContextPolicy | str | None = None,
        rag_length: int | None = None,
    ) -> Theme:
        """Change a theme's name, description and context policy; what the policy file says of it
        overrides them, also in the answer.

        Raises:
            ThemeNotFound: this user has no such theme.
            CategoryNotAllowed: this scope does not reach it.
        """
        slug = theme_slug(theme)
        self.scope.check_reaches([slug])
        values = _theme_values(display_name, description, context, rag_length)
        with self.database.write(self.scope.user_id) as writing:
            changed = {**values, "updated_at": writing.now}
            if not change_theme(writing.connection, self.scope.user_id, slug, changed):
                raise ThemeNotFound(slug)
        return next(found for found in self.themes() if found.slug == slug)

    @contextmanager
    def _changing(
        self, item_id: int, expected_updated_at: When | None
    ) -> Iterator[WriteTransaction]:
        """A write to one memory, in the state that is expected."""
        expected = checks.optional_moment("expected_updated_at", expected_updated_at)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            check_unchanged(writing, self.scope, item_id, expected)
            yield writing

    @retried
    def _purge_batch(self, before_time: bool) -> int:
        with self.database.write(self.scope.user_id) as writing:
            lifecycle.expire_due(writing)
            return lifecycle.purge_due(writing, before_time=before_time)


def _theme_values(
    display_name: str | None,
    description: str | None,
    context: ContextPolicy | str | None,
    rag_length: int | None,
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if display_name is not None:
        values["display_name"] = checks.text("display_name", display_name, limits.MAX_THEME_CHARS)
    if description is not None:
        maximum = limits.MAX_THEME_DESCRIPTION_CHARS
        values["description"] = checks.optional_text("description", description, maximum)
    if context is not None:
        values["context"] = checks.choice("context", context, ContextPolicy).value
    if rag_length is not None:
        values["rag_length"] = checks.integer("rag_length", rag_length, 1, limits.MAX_RAG_LENGTH)
    if not values:
        raise InvalidValue(
            "theme", "say what to change: display_name, description, context or rag_length"
        )
    return values
