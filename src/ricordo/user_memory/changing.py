"""Changing where a memory stands, and what a theme says of itself.

What changes one memory takes ``expected_updated_at``: the ``updated_at`` that the caller last saw.
Where it has another one by now, nothing is written. It is checked in the transaction that writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue, ThemeNotFound
from ricordo.memories import lifecycle, lookup, replacement
from ricordo.memories.lifecycle import check_unchanged
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.item import Item, Theme
from ricordo.model.vocabulary import ContextPolicy
from ricordo.storage.database import retried
from ricordo.storage.themes import change_theme
from ricordo.storage.transaction import WriteTransaction
from ricordo.user_memory.adding import When
from ricordo.user_memory.bound import Bound, checked_reason


class Changing(Bound):
    """Operations that change."""

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

    def purge(self, *, before_time: bool = False) -> int:
        """Remove forgotten memories for good whose time has come; how many there were.

        ``before_time`` removes every forgotten memory at once. History keeps that they existed.
        """
        everything = checks.flag("before_time", before_time)
        total = 0
        while purged := self._purge_batch(everything):
            total += purged
        return total

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
        """Change a theme's name, description and context policy.

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
        with self.database.read(self.scope.user_id) as view:
            themes = lookup.read_themes(view, self._audience(view), self.scope.user_id)
        return next(found for found in themes if found.slug == slug)

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
