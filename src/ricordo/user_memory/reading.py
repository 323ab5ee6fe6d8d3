"""Reading: single memories, pages of them, themes, history, the change feed."""

from collections.abc import Iterable
from typing import Any

from ricordo import limits
from ricordo.memories import lookup
from ricordo.memories.replacement import read_lineage
from ricordo.model import checks
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.item import Change, Changes, Item, Lineage, Theme
from ricordo.model.record import Page
from ricordo.storage.history import changes_since, revision_of
from ricordo.user_memory.bound import Bound
from ricordo.user_memory.confining import confined


class Reading(Bound):
    """Operations that read."""

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

    def lineage(self, id: int) -> Lineage:
        """What took the place of a memory, whose place it took, and what ``undo`` would take back.

        Also of one that was forgotten or has expired. What this scope does not reach is not named.
        Of what another user shares nothing is told.

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

    def themes(self) -> tuple[Theme, ...]:
        """The headings with the number of active memories under each, most used first."""
        with self.database.read(self.scope.user_id) as view:
            return tuple(lookup.read_themes(view, self._audience(view), self.scope.user_id))

    def changes(self, since: int = 0, *, limit: int = limits.DEFAULT_CHANGES) -> Changes:
        """What happened after a revision, oldest first."""
        after = checks.integer("since", since, 0, limits.MAX_ID)
        size = checks.integer("limit", limit, 1, limits.MAX_CHANGES)
        with self.database.read(self.scope.user_id) as view:
            return changes_since(view.connection, self.scope.user_id, after, size)

    def revision(self) -> int:
        """Where this user's change feed stands: it grows by one with each change of a memory."""
        with self.database.read(self.scope.user_id) as view:
            return revision_of(view.connection, self.scope.user_id)
