"""Rows of history, of what conversations were notified of, and of the changes since."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo.frozen import dataclass, field
from ricordo.model.item import Change, Changes
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import PreparedStatement, Words, among, bound_list, upsert
from ricordo.storage.tables import (
    REPLACEMENTS,
    history,
    items,
    proposals,
    thread_views,
    users,
    without_user,
)
from ricordo.storage.where import not_expired

_COLUMNS: Final = without_user(history)
_NAMES: Final = [column.name for column in _COLUMNS]
_changes_of: Final = PreparedStatement(
    sa.select(*_COLUMNS)
    .where(
        history.c.user_id == sa.bindparam("user_id", type_=Words),
        among(history.c.item_id, bound_list("item_ids", sa.BigInteger())),
        among(history.c.event, bound_list("events")),
    )
    .order_by(history.c.revision)
)
_version: Final = PreparedStatement(
    sa.select(users.c.revision, users.c.index_epoch).where(
        users.c.user_id == sa.bindparam("user_id", type_=Words)
    )
)
# As the partial indexes have it; what was added refers to itself.
_REFERS_ON: Final = history.c.new_ref != history.c.item_id
_REFERS_BACK: Final = history.c.old_ref != history.c.item_id
_QUOTES: Final = "quotes"
UNDONE_REVISION: Final = "undone_revision"
"""Key in the meta of an UNDO: the revision that it took back."""


def revision_of(connection: sa.Connection, user_id: str) -> int:
    """The user's latest revision; 0 for a user who has never written."""
    return user_version(connection, user_id)[0]


def user_version(connection: sa.Connection, user_id: str) -> tuple[int, int]:
    """The user's revision and index epoch, zeros for an unknown user.

    Unique over time, even if a user is erased and created again.
    """
    found = _version.run(connection, {"user_id": user_id})
    return (found[0][0], found[0][1]) if found else (0, 0)


def changes_since(
    connection: sa.Connection,
    user_id: str,
    since: int,
    limit: int,
    project: str | None = None,
    *,
    events: Collection[Event] = (),
    up_to: int | None = None,
    about: str | None = None,
    newest_first: bool = False,
) -> Changes:
    """Changes after a revision, oldest first; with a ``project``, without those of other ones, and
    without texts that may quote them. ``events`` are those that are wanted, by default all;
    ``about`` is a project that alone is wanted."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(history.c.user_id == user_id, history.c.revision > since)
        .order_by(history.c.revision.desc() if newest_first else history.c.revision)
        .limit(limit + 1)
    )
    if events:
        wanted = wanted.where(history.c.event.in_([event.value for event in events]))
    if up_to is not None:
        wanted = wanted.where(history.c.revision <= up_to)
    if about is not None:
        of_it = (
            sa.select(table.c.id).where(table.c.user_id == user_id, table.c.project_id == about)
            for table in (items, proposals)
        )
        # They are found first: most changes of a user are of something else.
        wanted = wanted.where(history.c.item_id.in_(sa.union_all(*of_it)))
    show = _change
    if project is not None:
        named = (history.c.item_id, history.c.old_ref, history.c.new_ref)
        hidden = [_is_elsewhere(items, one, project) for one in named]
        wanted = wanted.add_columns(sa.or_(*hidden[1:]).label(_QUOTES))
        wanted = wanted.where(~hidden[0], ~_is_elsewhere(proposals, named[0], project))
        show = _change_in_project
    rows = connection.execute(wanted).mappings().all()
    return Changes(
        changes=tuple(show(row) for row in rows[:limit]),
        revision=revision_of(connection, user_id),
        more=len(rows) > limit,
    )


def history_of(connection: sa.Connection, user_id: str, item_id: int, limit: int) -> list[Change]:
    """The newest changes of one memory, oldest first."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(history.c.user_id == user_id, history.c.item_id == item_id)
        .order_by(history.c.revision.desc())
        .limit(limit)
    )
    rows = connection.execute(wanted).mappings().all()
    return [_change(row) for row in reversed(rows)]


def last_change(
    connection: sa.Connection, user_id: str, item_id: int, events: tuple[Event, ...]
) -> Change | None:
    return last_changes(connection, user_id, [item_id], events).get(item_id)


def last_changes(
    connection: sa.Connection, user_id: str, item_ids: Collection[int], events: tuple[Event, ...]
) -> dict[int, Change]:
    """The newest change of each of these memories that is one of these events, by id."""
    if not item_ids:
        return {}
    given = {
        "user_id": user_id,
        "item_ids": list(item_ids),
        "events": [event.value for event in events],
    }
    rows = _changes_of.run_typed(connection, given)
    changes = (_change(dict(zip(_NAMES, row, strict=True))) for row in rows)
    return {change.item_id: change for change in changes}


def last_update(connection: sa.Connection, user_id: str, item_id: int) -> Change | None:
    """The newest update of a memory that has not been undone."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(
            history.c.user_id == user_id,
            history.c.item_id == item_id,
            history.c.event.in_([Event.UPDATE.value, Event.UNDO.value]),
        )
        .order_by(history.c.revision.desc())
    )
    undone: set[int] = set()
    for change in map(_change, connection.execute(wanted).mappings()):
        if change.event is Event.UNDO:
            undone.add(change.meta.get(UNDONE_REVISION, 0))
        elif change.revision not in undone:
            return change
    return None


def replaced_by(connection: sa.Connection, user_id: str, new_id: int) -> list[int]:
    """The memories superseded by or merged into this one."""
    wanted = (
        sa.select(history.c.item_id)
        .where(
            history.c.user_id == user_id,
            history.c.new_ref == new_id,
            _REFERS_ON,
            history.c.event.in_(REPLACEMENTS),
        )
        .order_by(history.c.revision.desc())
    )
    return list(connection.execute(wanted).scalars())


def old_versions(connection: sa.Connection, user_id: str, item_id: int) -> list[int]:
    """The superseded memories that keep the former texts of a keyed one."""
    wanted = sa.select(history.c.old_ref).where(
        history.c.user_id == user_id,
        history.c.item_id == item_id,
        history.c.event == Event.UPDATE.value,
        history.c.old_ref.is_not(None),
    )
    return list(connection.execute(wanted).scalars())


def formers_of(connection: sa.Connection, user_id: str, item_id: int, limit: int) -> list[int]:
    """The memories that this one superseded, and its former texts, the latest first."""
    theirs = history.c.user_id == user_id
    replaced = sa.select(history.c.item_id.label("former"), history.c.revision).where(
        theirs, history.c.new_ref == item_id, _REFERS_ON, history.c.event.in_(REPLACEMENTS)
    )
    updated = sa.select(history.c.old_ref, history.c.revision).where(
        theirs,
        history.c.item_id == item_id,
        history.c.event == Event.UPDATE.value,
        history.c.old_ref.is_not(None),
    )
    ever = sa.union_all(replaced, updated).subquery()
    latest = sa.func.max(ever.c.revision).desc()
    wanted = sa.select(ever.c.former).group_by(ever.c.former).order_by(latest).limit(limit)
    return list(connection.execute(wanted).scalars())


def update_that_kept(connection: sa.Connection, user_id: str, version_id: int) -> Change | None:
    """The update whose former text was kept as this memory."""
    wanted = sa.select(*_COLUMNS).where(
        history.c.user_id == user_id,
        history.c.old_ref == version_id,
        _REFERS_BACK,
        history.c.event == Event.UPDATE.value,
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else _change(row)


def drop_replaced_values(connection: sa.Connection, user_id: str, revision: int) -> None:
    """Clear the values that an update replaced, once it was undone."""
    where = sa.and_(history.c.user_id == user_id, history.c.revision == revision)
    connection.execute(sa.update(history).where(where).values(before=None))


def take_received(connection: sa.Connection, user_id: str) -> list[Change]:
    """Remove and return the history of what others shared with a user who has nothing else yet."""
    theirs = history.c.user_id == user_id
    rows = connection.execute(sa.select(*_COLUMNS).where(theirs).order_by(history.c.revision))
    received = [_change(row) for row in rows.mappings()]
    connection.execute(sa.delete(history).where(theirs))
    return received


def silence(connection: sa.Connection, user_id: str, item_ids: list[int]) -> None:
    """Strip the contents from the history of these memories, keeping the events."""
    theirs = sa.and_(history.c.user_id == user_id, history.c.item_id.in_(item_ids))
    connection.execute(sa.update(history).where(theirs).values(reason=None, before=None, meta={}))
    # The update that replaced a text has it in the history of another memory.
    replaced = sa.and_(
        history.c.user_id == user_id,
        history.c.old_ref.in_(item_ids),
        _REFERS_BACK,
        history.c.event == Event.UPDATE.value,
    )
    connection.execute(sa.update(history).where(replaced).values(before=None))
    # The reason for replacing another memory by one of these may quote them.
    replacing = sa.and_(history.c.user_id == user_id, history.c.new_ref.in_(item_ids), _REFERS_ON)
    connection.execute(sa.update(history).where(replacing).values(reason=None))


def _is_elsewhere(table: sa.Table, number: sa.Column[Any], project: str) -> sa.ColumnElement[bool]:
    return _exists(table, number, table.c.project_id != project)


def _exists(
    table: sa.Table, number: sa.Column[Any], where: sa.ColumnElement[bool]
) -> sa.ColumnElement[bool]:
    found: sa.Select[Any] = sa.select(sa.literal_column("1")).where(
        table.c.user_id == history.c.user_id, table.c.id == number, where
    )
    return found.exists()


def _change_in_project(row: Mapping[Any, Any]) -> Change:
    values = {name: row[name] for name in _NAMES}
    # What was taken out of a conversation is noted as a purge; it may be one of another project.
    if row[_QUOTES] or row["event"] == Event.PURGE.value:
        values |= {"reason": None, "before": None, "meta": {}}
    return _change(values)


def _change(row: Mapping[Any, Any]) -> Change:
    return Change(**{**row, "event": Event(row["event"])})


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
