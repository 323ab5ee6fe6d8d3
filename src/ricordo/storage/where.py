"""Builds the WHERE clause of every read of memories.

It is the only one, on both databases, so no read can forget a filter or show a user what they may
not see.
"""

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from ricordo.frozen import dataclass, replace
from ricordo.model.filters import ItemFilter
from ricordo.model.group import is_person
from ricordo.model.vocabulary import GLOBAL_OWNER, Ownership, Status
from ricordo.storage.sql import (
    Condition,
    Moment,
    PreparedStatement,
    Words,
    has_tag,
    joined_texts,
    surely_among,
)
from ricordo.storage.tables import group_members, items, links, threads

_viewer = sa.bindparam("viewer", type_=Words)
_own_active = (
    sa.select(items.c.id)
    .where(
        items.c.user_id == _viewer,
        items.c.status == Status.ACTIVE.value,
        sa.or_(
            items.c.expires_at.is_(None), items.c.expires_at > sa.bindparam("now", type_=Moment)
        ),
    )
    .limit(sa.bindparam("global_until", type_=sa.Integer))
    .subquery()
)
_look_up: Final = PreparedStatement(
    sa.select(
        sa.select(sa.func.count()).select_from(_own_active).scalar_subquery(),
        sa.case((sa.exists().where(links.c.user_id == _viewer), 1), else_=0),
        sa.select(joined_texts(group_members.c.space_id))
        .where(group_members.c.user_id == _viewer)
        .scalar_subquery(),
    )
)

_ESCAPE: Final = "/"
MOST_SHAPES: Final = 256
"""Filters that differ in more than their values, and are prepared."""
_SHAPING: Final = ("statuses", "types", "sources", "pinned", "ownership")
"""What has few values, which are part of a statement."""
_VALUES: Final = [one.name for one in fields(ItemFilter) if one.name not in _SHAPING]

_REACHED: Final = "reached"
_SPACE: Final = "space"

_sees_any: Final = PreparedStatement(
    sa.select(
        sa.case(
            (sa.exists().where(items.c.user_id == _viewer), 1),
            (sa.exists().where(items.c.user_id == GLOBAL_OWNER), 1),
            (sa.exists().where(links.c.user_id == _viewer), 1),
            (sa.exists().where(group_members.c.user_id == _viewer), 1),
            else_=0,
        )
    )
)

_of_people: Final = items.c.user_id.not_like(f"{GLOBAL_OWNER}%")
_is_linked: Final = sa.exists().where(
    links.c.owner_id == items.c.user_id, links.c.item_id == items.c.id
)


@dataclass(frozen=True, slots=True)
class Audience:
    """Whose memories a read may see: the viewer's own, linked and global ones, those of groups.

    ``viewer`` None is an administrator who reads across users. The flags are looked up once per
    read: most users have no links and are in no group, and for them the condition is a plain
    ``user_id = ?``. ``themes`` are those that a restricted scope may see, None for all. Of the
    viewer's own memories and those of groups, those of other projects than ``project`` are left
    out; None for no such bound. ``spaces`` are the owners of what the viewer's groups share.
    """

    viewer: str | None
    has_links: bool = False
    sees_global: bool = False
    themes: Collection[str] | None = None
    project: str | None = None

    def within(self, project: str | None) -> "Audience":
        return self if project is None else replace(self, project=project)

    spaces: Sequence[str] = ()

    @property
    def sees_others(self) -> bool:
        """Whether it may see more than the viewer's own memories."""
        return self.viewer is None or self.has_links or self.sees_global or bool(self.spaces)

    @property
    def owners(self) -> list[str]:
        """All of whose memories the viewer sees; not those of users who share single ones."""
        assert self.viewer is not None
        return [self.viewer, *self.spaces, *([GLOBAL_OWNER] if self.sees_global else [])]

    def owned(self) -> Condition:
        return sa.true() if self.viewer is None else items.c.user_id == self.viewer

    def owned_as(self, ownership: Ownership) -> Condition:
        """What of that is this to the viewer; to an administrator, whose it is at all."""
        if ownership is Ownership.OWN:
            return self.owned() if self.viewer is not None else _of_people
        if ownership is Ownership.SHARED:
            return sa.and_(self.owned(), _is_linked)
        if ownership is Ownership.GLOBAL:
            return items.c.user_id == GLOBAL_OWNER
        if ownership is Ownership.GROUP:
            if self.viewer is None:
                return sa.and_(~_of_people, items.c.user_id != GLOBAL_OWNER)
            return _one_of(items.c.user_id, self.spaces)
        if self.viewer is None:
            return _is_linked
        return sa.and_(items.c.user_id != self.viewer, _of_people)

    def condition(self) -> Condition:
        if self.themes is None:
            return self._of_anybody_visible()
        return sa.and_(self._of_anybody_visible(), _one_of(items.c.theme, tuple(self.themes)))

    def _of_anybody_visible(self) -> Condition:
        if self.viewer is None:
            return sa.true()
        visible = [self.owned()]
        if self.project is not None:
            visible = [sa.and_(self.owned(), in_project(items, self.project))]
        if self.has_links:
            linked = sa.select(links.c.owner_id, links.c.item_id).where(
                links.c.user_id == self.viewer
            )
            shared = sa.tuple_(items.c.user_id, items.c.id).in_(linked)
            visible.append(sa.and_(shared, items.c.status != Status.DELETED.value))
        if self.sees_global:
            visible.append(
                sa.and_(items.c.user_id == GLOBAL_OWNER, items.c.status != Status.DELETED.value)
            )
        if self.spaces:
            of_groups = _one_of(items.c.user_id, self.spaces)
            if self.project is not None:
                of_groups = sa.and_(of_groups, in_project(items, self.project))
            visible.append(sa.and_(of_groups, items.c.status != Status.DELETED.value))
        if not self.has_links:
            return sa.or_(*visible)
        # Restrict the owners: otherwise PostgreSQL scans everybody's memories.
        sharers = sa.select(links.c.owner_id).where(links.c.user_id == self.viewer)
        named = [sa.select(_literal(name, items.c.user_id)) for name in self.owners]
        whose = sa.union_all(*named, sharers).scalar_subquery()
        return sa.and_(surely_among(items.c.user_id, whose), sa.or_(*visible))


def matching(audience: Audience, wanted: ItemFilter, now: datetime) -> Condition:
    """Memories that this audience may see, that have not expired, and that match the filter."""
    audience = audience.within(wanted.in_project)
    return sa.and_(audience.condition(), not_expired(now), *_filtered(audience, wanted))


def prepared(
    audience: Audience, wanted: ItemFilter, now: datetime
) -> tuple[Condition, Mapping[str, Any]]:
    """The same, with the values apart: the condition is the same object for all filters alike."""
    values: dict[str, Any] = {"viewer": audience.viewer, "now": now}
    values |= {f"{_SPACE}_{place}": one for place, one in enumerate(audience.spaces)}
    shape: list[tuple[str, int | None]] = []
    themes = None if audience.themes is None else tuple(sorted(audience.themes))
    for name, value in ((_REACHED, themes), *((name, getattr(wanted, name)) for name in _VALUES)):
        if isinstance(value, tuple):
            values |= {f"{name}_{place}": one for place, one in enumerate(value)}
            shape.append((name, len(value)))
        elif value is not None:
            values[name] = _containing(value) if name == "contains" else value
            shape.append((name, None))
    few = (wanted.effective_statuses, wanted.types, wanted.sources, wanted.pinned, wanted.ownership)
    sees = (audience.has_links, audience.sees_global, len(audience.spaces))
    return _shaped(sees, few, tuple(shape)), values


@lru_cache(maxsize=MOST_SHAPES)
def _shaped(
    sees: tuple[bool, bool, int], few: Sequence[Any], shape: Sequence[tuple[str, int | None]]
) -> Condition:
    given: dict[str, Any] = dict(zip(_SHAPING, few, strict=True))
    for name, count in shape:
        given[name] = (
            sa.bindparam(name)
            if count is None
            else tuple(sa.bindparam(f"{name}_{place}", type_=Words) for place in range(count))
        )
    viewer: Any = sa.bindparam("viewer", type_=Words)
    now: Any = sa.bindparam("now", type_=Moment)
    reached = given.pop(_REACHED, None)
    has_links, sees_global, count = sees
    spaces: Any = [sa.bindparam(f"{_SPACE}_{place}", type_=Words) for place in range(count)]
    audience = Audience(viewer, has_links, sees_global, reached, spaces=spaces)
    return matching(audience, ItemFilter(**given), now)


def active(now: datetime) -> Condition:
    """Active memories, written so that a partial index alone can count them."""
    is_active: Condition = items.c.status == sa.literal_column("'active'")
    return sa.and_(is_active, sa.or_(items.c.expires_at.is_(None), items.c.expires_at > now))


def not_expired(now: datetime | sa.BindParameter[datetime]) -> Condition:
    """Hide expired memories, whether or not upkeep has archived them.

    Once archived, they are deleted memories like any other, and can be restored.
    """
    return sa.or_(
        items.c.expires_at.is_(None),
        items.c.expires_at > now,
        items.c.status == Status.DELETED.value,
    )


def _filtered(audience: Audience, wanted: ItemFilter) -> Iterator[Condition]:
    statuses = wanted.effective_statuses
    if wanted.theme is not None and statuses == (Status.ACTIVE,):
        # A literal, so that the partial index of active memories is used.
        yield items.c.status == sa.literal_column("'active'")
    else:
        yield _one_of(items.c.status, statuses)
    for column, several in (
        (items.c.theme, wanted.theme),
        (items.c.type, wanted.types),
        (items.c.source, wanted.sources),
    ):
        if several is not None:
            yield _one_of(column, several)
    if wanted.ownership is not None:
        yield sa.or_(*map(audience.owned_as, wanted.ownership))
    if wanted.pinned is not None:
        yield items.c.pinned.is_(wanted.pinned)
    if wanted.contains is not None:
        yield items.c.folded.like(_containing(wanted.contains), escape=_ESCAPE)
    for tag in wanted.tags or ():
        yield has_tag(items.c.tags, tag)
    for column, compare, value in (
        (items.c.key, operator.eq, wanted.key),
        (items.c.importance, operator.ge, wanted.importance_min),
        (items.c.importance, operator.le, wanted.importance_max),
        (items.c.confidence, operator.ge, wanted.confidence_min),
        (items.c.created_at, operator.ge, wanted.created_after),
        (items.c.created_at, operator.lt, wanted.created_before),
        (items.c.updated_at, operator.ge, wanted.updated_after),
        (items.c.updated_at, operator.lt, wanted.updated_before),
        (items.c.valid_from, operator.le, wanted.as_of),
    ):
        if value is not None:
            yield compare(column, value)
    if wanted.as_of is not None:
        yield sa.or_(items.c.valid_to.is_(None), items.c.valid_to > wanted.as_of)
    origin = {
        items.c.source_context: wanted.source_context,
        items.c.thread_id: wanted.thread_id,
        items.c.message_id: wanted.message_id,
        items.c.agent_id: wanted.agent_id,
        items.c.run_id: wanted.run_id,
        items.c.actor_id: wanted.actor_id,
        items.c.role: wanted.role,
        items.c.project_id: wanted.project_id,
    }
    known = [column == value for column, value in origin.items() if value is not None]
    if known:
        # The origin of a shared memory is private to its owner; a filter must not reveal it.
        yield sa.and_(audience.owned(), *known)


def _literal(value: Any, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    if isinstance(value, sa.BindParameter):
        return value
    return sa.literal(value.value if isinstance(value, StrEnum) else value, column.type)


def _one_of(column: sa.Column[Any], values: Sequence[Any]) -> Condition:
    if not values:  # an empty list would be written when the statement runs, not when prepared
        return sa.false()
    return column.in_([_literal(value, column) for value in values])


def _containing(text: Any) -> Any:
    """A pattern for a text with this one in it."""
    if isinstance(text, sa.BindParameter):
        return text
    for sign in (_ESCAPE, "%", "_"):
        text = text.replace(sign, _ESCAPE + sign)
    return f"%{text}%"


def audience_of(
    connection: sa.Connection,
    viewer: str,
    global_until: int,
    now: datetime,
    themes: frozenset[str] | None = None,
    project: str | None = None,
) -> Audience:
    """What a user may see: own and linked memories and those of their groups, restricted to
    ``themes`` (None for all) and, but for linked ones, to a ``project`` and to what has none.

    Also global ones, while they have fewer than ``global_until`` active ones of their own.
    """
    given = {"viewer": viewer, "global_until": global_until, "now": now}
    own_active, has_links, spaces = _look_up.run(connection, given)[0]
    cold = own_active < global_until and is_person(viewer)
    return Audience(
        viewer,
        has_links=bool(has_links),
        sees_global=cold,
        themes=themes,
        project=project,
        spaces=tuple(sorted(spaces.split(","))) if spaces else (),
    )


def in_project(table: sa.FromClause, project: Any) -> Condition:
    """Rows of a user that belong to a project, or to none."""
    own = table.c.project_id
    return sa.or_(own.is_(None), own == project)


def is_of(table: sa.FromClause, project: str | None) -> Condition:
    """Rows of a user that belong to just this project, or to none."""
    own = table.c.project_id
    return own.is_(None) if project is None else own == project


def in_project_of_thread(table: sa.FromClause, project: Any) -> Condition:
    """Rows whose conversation belongs to a project, or to none."""
    elsewhere: sa.Select[Any] = sa.select(sa.literal_column("1")).where(
        threads.c.user_id == table.c.user_id,
        threads.c.thread_id == table.c.thread_id,
        threads.c.project_id != project,
    )
    return ~elsewhere.exists()


def is_of_project(table: sa.FromClause, project: Any) -> Condition:
    """Rows whose conversation belongs to just this project."""
    found: sa.Select[Any] = sa.select(sa.literal_column("1")).where(
        threads.c.user_id == table.c.user_id,
        threads.c.thread_id == table.c.thread_id,
        threads.c.project_id == project,
    )
    return found.exists()


def sees_any(connection: sa.Connection, viewer: str) -> bool:
    """Whether there may be a memory that a user sees, own, linked, global or a group's."""
    return bool(_sees_any.run(connection, {"viewer": viewer})[0][0])


EVERYONE: Final = Audience(None)
"""For administration only."""
