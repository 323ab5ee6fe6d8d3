"""Reads memories: one, a page of them, their themes with their counts, their history."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa

from ricordo.errors import MemoryNotFound
from ricordo.frozen import dataclass
from ricordo.index.cache import LruCache
from ricordo.model.embedding import EmbeddingState
from ricordo.model.filters import ItemFilter, Sort, SortColumn
from ricordo.model.item import Change, Item, Theme
from ricordo.model.record import Page
from ricordo.model.vocabulary import ContextPolicy, Status, VectorState
from ricordo.storage.database import ReadTransaction
from ricordo.storage.history import history_of, user_version
from ricordo.storage.items import (
    Stretch,
    count_by_theme,
    default_name,
    find_item,
    find_items,
    has_ended,
    page_of_items,
    themes_of,
)
from ricordo.storage.sql import Condition
from ricordo.storage.tables import ITEMS, item_index, items
from ricordo.storage.where import Audience, active, matching, not_expired


def read_item(
    reading: ReadTransaction, audience: Audience, item_id: int, *, include_deleted: bool = False
) -> Item:
    """One memory that the audience may see. Raises MemoryNotFound: there is none, or it is another
    user's; or it has expired or was deleted, and ``include_deleted`` is not set."""
    readable = _readable(reading, audience, include_deleted=include_deleted)
    found = find_item(reading.connection, readable & (items.c.id == item_id))
    if found is None:
        raise MemoryNotFound(item_id)
    return _shown(audience, found)


def read_items(
    reading: ReadTransaction,
    audience: Audience,
    ids: Iterable[int],
    *,
    include_deleted: bool = False,
) -> list[Item]:
    """Those memories that ``read_item`` would find, in the order of the ids, each once."""
    listed = list(dict.fromkeys(ids))
    if not listed:
        return []
    readable = _readable(reading, audience, include_deleted=include_deleted)
    found = find_items(reading.connection, readable & items.c.id.in_(listed))
    by_id = {item.id: _shown(audience, item) for item in found}
    return [by_id[item_id] for item_id in listed if item_id in by_id]


def _readable(reading: ReadTransaction, audience: Audience, *, include_deleted: bool) -> Condition:
    if include_deleted:
        return audience.condition()
    return sa.and_(
        audience.condition(), not_expired(reading.now), items.c.status != Status.DELETED.value
    )


def read_page(
    reading: ReadTransaction,
    audience: Audience,
    wanted: ItemFilter,
    sort: Sort,
    limit: int,
    cursor: str | None,
) -> Page[Item]:
    """A page of the memories that the audience may see and the filter matches. Raises
    InvalidCursor: the cursor is from a list in another order."""
    where = matching(audience, wanted, reading.now)
    levels = _themes(reading, audience, wanted, sort) if sort.column is SortColumn.THEME else ()
    page = page_of_items(reading.connection, where, sort, limit, cursor, levels)
    return Page(tuple(_shown(audience, item) for item in page), page.next_cursor)


def _themes(
    reading: ReadTransaction, audience: Audience, wanted: ItemFilter, sort: Sort
) -> list[Stretch]:
    """The memories of each theme, where all are the viewer's own; otherwise nothing."""
    if audience.viewer is None or audience.sees_others:
        return []
    known = themes_of(reading.connection, audience.viewer)
    slugs = known if wanted.theme is None else known.keys() & set(wanted.theme)
    return [
        (matching(audience, replace(wanted, theme=(slug,)), reading.now), None)
        for slug in sorted(slugs, reverse=sort.descending)
    ]


def read_history(
    reading: ReadTransaction, audience: Audience, viewer: str, item_id: int, limit: int
) -> list[Change]:
    """A memory's changes in the viewer's history, also after its purge. Raises MemoryNotFound: the
    viewer never had to do with such a memory. For an audience of some themes or one project only,
    also where it is gone: nobody can tell any more of which it was."""
    is_whole = audience.themes is None and audience.project is None
    if not is_whole:
        read_item(reading, audience, item_id, include_deleted=True)
    found = history_of(reading.connection, viewer, item_id, limit)
    if not found:
        read_item(reading, audience, item_id)  # global memories have no history of the viewer's
    return found if is_whole else _without_others(reading, audience, found)


def _without_others(
    reading: ReadTransaction, audience: Audience, found: list[Change]
) -> list[Change]:
    """Changes as an audience restricted to themes or to a project may read them.

    The reason of a replacement by a memory of another theme or project may quote it, and an update
    from another theme has its old text.
    """
    refs = {one.revision: {one.old_ref, one.new_ref} - {None} for one in found}
    named = {ref for several in refs.values() for ref in several if ref is not None}
    seen = {item.id for item in read_items(reading, audience, named, include_deleted=True)}

    def is_readable(change: Change) -> bool:
        theme = (change.before or {}).get("theme")
        in_reach = theme is None or audience.themes is None or theme in audience.themes
        return refs[change.revision] <= seen and in_reach

    return [
        one if is_readable(one) else replace(one, reason=None, before=None, meta={})
        for one in found
    ]


def read_theme_counts(reading: ReadTransaction, audience: Audience) -> dict[str, int]:
    return count_by_theme(reading.connection, audience.condition() & active(reading.now))


def read_themes(
    reading: ReadTransaction,
    audience: Audience,
    viewer: str,
    counts: Mapping[str, int] | None = None,
) -> list[Theme]:
    """The viewer's themes, and those shared with them; most used first.

    ``counts`` are those of ``read_theme_counts``, if already known.
    """
    own = themes_of(reading.connection, viewer)
    if counts is None:
        counts = read_theme_counts(reading, audience)
    # An empty one may be a heading of another project.
    slugs = own.keys() | counts.keys() if audience.project is None else counts.keys()
    found = [
        _theme(slug, own.get(slug), counts.get(slug, 0), reading)
        for slug in sorted(slugs)
        if audience.themes is None or slug in audience.themes
    ]
    return sorted(found, key=lambda theme: -theme.active_count)


def _theme(slug: str, row: Mapping[str, Any] | None, count: int, reading: ReadTransaction) -> Theme:
    if row is None:  # only seen through a link or as global
        return Theme(
            slug=slug,
            display_name=default_name(slug),
            description=None,
            context=ContextPolicy.RAG,
            rag_length=None,
            created_at=reading.now,
            updated_at=reading.now,
            active_count=count,
        )
    values = {name: value for name, value in row.items() if name != "user_id"}
    values["context"] = ContextPolicy(values["context"])
    return Theme(**values, active_count=count)


def _shown(audience: Audience, item: Item) -> Item:
    return item if audience.viewer is None else item.as_seen_by(audience.viewer)


def read_states(
    view: ReadTransaction, audience: Audience, ids: Iterable[int], *, are_made: bool
) -> list[EmbeddingState]:
    """The vector states of the memories that the audience may see, in the order of the ids.

    Another user's have the state only. Without an embedding model the viewer's own are left out.
    """
    listed = list(dict.fromkeys(ids))
    columns = (
        item_index.c.provider,
        item_index.c.model,
        item_index.c.dimensions,
        item_index.c.error,
    )
    wanted = (
        sa.select(items.c.id, items.c.user_id, item_index.c.state, *columns)
        .select_from(ITEMS.joined())
        .where(audience.condition(), not_expired(view.now), items.c.id.in_(listed))
    )
    found = {}
    for item_id, owner, state, *details in view.connection.execute(wanted):
        own = owner == audience.viewer
        if own and not are_made and state == VectorState.PENDING.value:
            continue
        provider, model, dimensions, error = details if own else (None, None, None, None)
        found[item_id] = EmbeddingState(
            id=item_id,
            state=VectorState(state),
            provider=provider,
            model=model,
            dimensions=dimensions,
            error=error,
        )
    return [found[item_id] for item_id in listed if item_id in found]


# How many memories each theme of a user has, counted once for as long as nothing is written.

_USERS_REMEMBERED: Final = 1_024

UserVersion = tuple[int, int]
"""A user's revision and generation; the latter differs for a new user with an erased one's name."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Cached(Generic[Value]):
    """Something known of a user, as of a version and a time."""

    version: UserVersion
    at: datetime
    value: Value


def is_current(view: ReadTransaction, user_id: str, cached: Cached[Any]) -> bool:
    """Whether nothing was written since, and no memory has expired."""
    if user_version(view.connection, user_id) != cached.version:
        return False
    return not has_ended(view.connection, user_id, cached.at, view.now)


class ThemeCounts:
    """Counting reads all of a user's memories. Thread-safe."""

    def __init__(self) -> None:
        self._own: LruCache[tuple[str, str | None], Cached[Mapping[str, int]]] = LruCache(
            _USERS_REMEMBERED
        )

    def own(
        self, view: ReadTransaction, user_id: str, project: str | None = None
    ) -> Mapping[str, int]:
        """The active memories that are a user's own, by theme; with a ``project``, those of it and
        of none."""
        known = self._own.get((user_id, project))
        if known is None or not is_current(view, user_id, known):
            version = user_version(view.connection, user_id)
            own = Audience(user_id, project=project)
            known = Cached(version, view.now, read_theme_counts(view, own))
            self._own.put((user_id, project), known)
        return known.value

    def seen(self, view: ReadTransaction, audience: Audience, user_id: str) -> Mapping[str, int]:
        """Also those of others, which can change without the user."""
        if audience.sees_others:
            return read_theme_counts(view, audience)
        return self.own(view, user_id, audience.project)
