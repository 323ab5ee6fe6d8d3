"""Rows of what conversations were notified of, and the changes since."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo.frozen import dataclass, field
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import upsert
from ricordo.storage.tables import REPLACEMENTS, history, items, thread_views
from ricordo.storage.where import not_expired

_put: Final = upsert(thread_views, replacing=True)
_begin: Final = upsert(thread_views, replacing=False)


@dataclass(frozen=True, slots=True)
class ThreadView:
    """The revision a conversation was notified of.

    ``ahead`` has the memories whose changes are done with up to a later revision, by id; 0 for a
    memory that was gone before the conversation was notified of it.
    """

    revision: int
    ahead: Mapping[int, int] = field(default_factory=dict)


def find_view(connection: sa.Connection, user_id: str, thread_id: str) -> ThreadView | None:
    """None for a conversation that neither began here nor looked."""
    wanted = sa.select(thread_views.c.revision, thread_views.c.ahead).where(
        thread_views.c.user_id == user_id, thread_views.c.thread_id == thread_id
    )
    row = connection.execute(wanted).one_or_none()
    return None if row is None else ThreadView(row.revision, dict(row.ahead or ()))


def has_view(connection: sa.Connection, user_id: str) -> bool:
    """Whether any conversation of a user has looked, who need not have a row."""
    looked = sa.exists().where(thread_views.c.user_id == user_id)
    return connection.execute(sa.select(looked)).scalar_one()


def put_view(writing: WriteTransaction, thread_id: str, view: ThreadView) -> None:
    """Record that a conversation of the writing user is notified up to a revision."""
    _put.run(writing.connection, _view_row(writing, thread_id, view))


def begin_view(writing: WriteTransaction, thread_id: str) -> None:
    """Let what is written from now on be new to a conversation, unless it has looked before."""
    _begin.run(writing.connection, _view_row(writing, thread_id, ThreadView(writing.revision)))


def _view_row(writing: WriteTransaction, thread_id: str, view: ThreadView) -> dict[str, Any]:
    return {
        "user_id": writing.user_id,
        "thread_id": thread_id,
        "revision": view.revision,
        "looked_at": writing.now,
        "ahead": list(view.ahead.items()) or None,
    }


def drop_view(writing: WriteTransaction, thread_id: str) -> None:
    where = sa.and_(
        thread_views.c.user_id == writing.user_id, thread_views.c.thread_id == thread_id
    )
    writing.connection.execute(sa.delete(thread_views).where(where))


class NetChange(NamedTuple):
    """What happened to a memory: the first and the last of its changes, whether it replaced others,
    and whether it is active now."""

    first: Event
    last: Event
    merged: bool
    superseded: bool
    is_active: bool


def count_changes(
    writing: WriteTransaction, since: int, events: Collection[Event], project: str | None = None
) -> Counter[NetChange]:
    """The memories of which there are such changes after a revision, by what happened to them; with
    a ``project``, without those of other ones.

    A replacement counts for the new memory.
    """
    is_replacement = history.c.event.in_(REPLACEMENTS)
    elsewhere = sa.select(items.c.id).where(
        items.c.user_id == writing.user_id, items.c.project_id != project
    )
    about = sa.case((is_replacement, history.c.new_ref), else_=history.c.item_id)
    changes = (
        sa.select(
            history.c.revision,
            about.label("item_id"),
            *(_is_event(event).label(event.value) for event in (Event.MERGE, Event.SUPERSEDE)),
        )
        .where(
            history.c.user_id == writing.user_id,
            history.c.revision > since,
            history.c.event.in_([event.value for event in events]),
            *([] if project is None else [about.not_in(elsewhere)]),
        )
        .subquery()
    )
    spans = (
        sa.select(
            changes.c.item_id,
            sa.func.min(changes.c.revision).label("first"),
            sa.func.max(changes.c.revision).label("last"),
            sa.func.max(changes.c[Event.MERGE.value]).label("merged"),
            sa.func.max(changes.c[Event.SUPERSEDE.value]).label("superseded"),
        )
        .group_by(changes.c.item_id)
        .subquery()
    )
    first, last = history.alias(), history.alias()
    active = items.c.status == Status.ACTIVE.value
    kinds = (first.c.event, last.c.event, spans.c.merged, spans.c.superseded)
    wanted = (
        sa.select(*kinds, items.c.id.is_not(None), sa.func.count())
        .select_from(
            spans.join(first, _is_change(first, writing.user_id, spans.c.first))
            .join(last, _is_change(last, writing.user_id, spans.c.last))
            .outerjoin(
                items,
                sa.and_(items.c.id == spans.c.item_id, active, not_expired(writing.now)),
            )
        )
        .group_by(*kinds, items.c.id.is_not(None))
    )
    return Counter(
        {
            NetChange(Event(began), Event(ended), *map(bool, rest)): count
            for began, ended, *rest, count in writing.connection.execute(wanted)
        }
    )


def _is_event(event: Event) -> sa.ColumnElement[int]:
    return sa.case(
        (history.c.event == event.value, sa.literal_column("1", sa.Integer)),
        else_=sa.literal_column("0", sa.Integer),
    )


def _is_change(
    change: sa.FromClause, user_id: str, revision: sa.ColumnElement[int]
) -> sa.ColumnElement[bool]:
    return sa.and_(change.c.user_id == user_id, change.c.revision == revision)
