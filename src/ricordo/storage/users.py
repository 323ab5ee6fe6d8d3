"""Rows of users: their upkeep, their narrative, their projects, and erasure."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.frozen import dataclass
from ricordo.model.group import space_of
from ricordo.model.item import Project
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.backend import Backend
from ricordo.storage.database import OWNER_ACTED, WriteTransaction
from ricordo.storage.groups import forget_name
from ricordo.storage.sql import Moment, PreparedStatement, Words
from ricordo.storage.tables import (
    INDEXED,
    OWNED_TABLES,
    blocked_senders,
    checkpoints,
    graph_checkpoints,
    graph_writes,
    group_members,
    groups,
    history,
    items,
    link_offers,
    links,
    proposals,
    store_entries,
    summaries,
    themes,
    threads,
    upkeep,
    users,
    without_user,
)
from ricordo.storage.where import active, not_expired

_FORGETTING: Final = (Event.DELETE.value, Event.TTL.value, Event.PURGE.value)
EXPIRED = "expired"
"""The status counted for expired memories that are not archived yet."""


def has_user(connection: sa.Connection, user_id: str) -> bool:
    known = sa.exists().where(users.c.user_id == user_id)
    return connection.execute(sa.select(known)).scalar_one()


def has_anything(connection: sa.Connection, user_id: str) -> bool:
    """True where a user has any data or activity of their own.

    What others shared with them does not count.
    """
    acted = sa.exists().where(history.c.user_id == user_id, history.c.actor != OWNER_ACTED)
    memory = (groups, items, themes, threads, proposals, summaries)
    agent_state = (checkpoints, graph_checkpoints, graph_writes, store_entries)
    own = [sa.exists().where(table.c.user_id == user_id) for table in (*memory, *agent_state)]
    return connection.execute(sa.select(sa.or_(acted, *own))).scalar_one()


def list_users(
    connection: sa.Connection, after: str, limit: int, *, with_groups: bool = True
) -> list[str]:
    """Users after the given one, in order; with or without the spaces of groups."""
    wanted = sa.select(users.c.user_id).where(users.c.user_id > after).order_by(users.c.user_id)
    if not with_groups:
        wanted = wanted.where(users.c.user_id.not_like(f"{space_of('_')}%"))
    return list(connection.execute(wanted.limit(limit)).scalars())


def last_rounds(connection: sa.Connection, after: str, limit: int) -> list[tuple[str, datetime]]:
    """Users after the given one, with the time of their last upkeep or else of their creation."""
    since = sa.func.coalesce(upkeep.c.upkept_at, users.c.created_at, type_=Moment)
    wanted = (
        sa.select(users.c.user_id, since)
        .select_from(users.outerjoin(upkeep, users.c.user_id == upkeep.c.user_id))
        .where(users.c.user_id > after)
        .order_by(users.c.user_id)
        .limit(limit)
    )
    return [(user_id, moment) for user_id, moment in connection.execute(wanted)]


def lock_users(connection: sa.Connection, wanted: Collection[str]) -> list[str]:
    """Lock those of the users who exist, in order.

    Users locked by another transaction are skipped.
    """
    there = (
        sa.select(users.c.user_id)
        .where(users.c.user_id.in_(sorted(wanted)))
        .order_by(users.c.user_id)
        .with_for_update(read=True, key_share=True, skip_locked=True)
    )
    return list(connection.execute(there).scalars())


def delete_user_rows(backend: Backend, connection: sa.Connection, user_id: str) -> dict[str, int]:
    """Delete all rows of a user; returns the count per table."""
    for kind in INDEXED:
        backend.search.drop_owner(connection, kind, user_id)
    backend.search.compact(connection)
    removed: Counter[str] = Counter()
    for column in (
        links.c.owner_id,
        link_offers.c.owner_id,
        blocked_senders.c.sender_id,
        group_members.c.space_id,
    ):
        shared = connection.execute(sa.delete(column.table).where(column == user_id))
        removed[str(column.table.name)] += shared.rowcount
    for table in OWNED_TABLES:
        own = connection.execute(sa.delete(table).where(table.c.user_id == user_id))
        removed[str(table.name)] += own.rowcount
    mentions = sa.update(history).where(history.c.other_user == user_id).values(other_user=None)
    named = forget_name(connection, user_id)
    removed["mentions"] = connection.execute(mentions).rowcount + named
    return dict(removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepState:
    """When each part of a user's upkeep was last done.

    ``tended_since``: when upkeep began, if later than the memories. ``pairs_wait_since``: the
    oldest change that consolidation has not checked. ``related_after``: the last memory whose
    relations were refreshed in this round.
    """

    tended_since: datetime | None = None
    upkept_at: datetime | None = None
    consolidated_at: datetime | None = None
    pairs_wait_since: datetime | None = None
    insights_at: datetime | None = None
    related_after: int = 0


def upkeep_state(connection: sa.Connection, user_id: str) -> UpkeepState:
    wanted = sa.select(*without_user(upkeep)).where(upkeep.c.user_id == user_id)
    row = connection.execute(wanted).mappings().first()
    return UpkeepState() if row is None else UpkeepState(**row)


def note_upkeep(writing: WriteTransaction, **done: Any) -> None:
    """Record upkeep of the writing user, by the fields of :class:`UpkeepState`.

    Does not create a user: work for a user erased meanwhile leaves no trace.
    """
    if writing.is_first and not writing.keeps_user:
        return
    own = upkeep.c.user_id == writing.user_id
    changed = writing.connection.execute(sa.update(upkeep).where(own).values(**done)).rowcount
    if not changed:
        first = {"related_after": 0, **done, "user_id": writing.user_id}
        writing.connection.execute(sa.insert(upkeep).values(**first))


def find_summary(connection: sa.Connection, user_id: str) -> sa.RowMapping | None:
    wanted = sa.select(summaries).where(summaries.c.user_id == user_id)
    return connection.execute(wanted).mappings().first()


def put_summary(writing: WriteTransaction, content: str, revision: int, made_by: str) -> None:
    """Store the narrative of a revision in place of the last one.

    Not if a memory, or the user, was erased since: the text may mention it.
    """
    forgotten = sa.exists().where(
        history.c.user_id == writing.user_id,
        history.c.revision > revision,
        history.c.event.in_(_FORGETTING),
    )
    if writing.revision < revision or writing.connection.execute(sa.select(forgotten)).scalar_one():
        return
    drop_summary(writing.connection, writing.user_id)
    row = {
        "user_id": writing.user_id,
        "content": content,
        "revision": revision,
        "made_by": made_by,
        "updated_at": writing.now,
    }
    writing.connection.execute(sa.insert(summaries).values(**row))
    writing.keeps_user = True


def drop_summary(connection: sa.Connection, user_id: str) -> bool:
    """Delete a narrative, because it may mention something forgotten; whether there was one."""
    gone = connection.execute(sa.delete(summaries).where(summaries.c.user_id == user_id))
    return gone.rowcount > 0


def memories_by_status(connection: sa.Connection, now: datetime) -> dict[str, int]:
    is_past = sa.and_(items.c.status == Status.ACTIVE.value, sa.not_(not_expired(now)))
    shown = sa.case((is_past, sa.literal(EXPIRED)), else_=items.c.status).label("shown")
    counted = connection.execute(sa.select(shown, sa.func.count()).group_by(shown))
    return {row[0]: row[1] for row in counted}


def count_users(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(users)).scalar_one()


def waiting_vectors(connection: sa.Connection) -> dict[str, int]:
    """The number of texts of all users without a vector yet, by kind."""
    return {
        kind.name: connection.execute(
            sa.select(sa.func.count())
            .select_from(kind.index)
            # A literal, so that the partial index is used.
            .where(kind.index.c.state == sa.literal_column("'pending'"))
        ).scalar_one()
        for kind in INDEXED
    }


_user: Final = sa.bindparam("user_id", type_=Words)
_now: Any = sa.bindparam("now", type_=Moment)
_of_items: Final = PreparedStatement(
    sa.select(
        items.c.project_id,
        sa.func.sum(sa.case((active(_now), 1), else_=0), type_=sa.Integer),
        sa.func.max(items.c.updated_at, type_=Moment),
    )
    .where(items.c.user_id == _user, items.c.project_id.is_not(None))
    .group_by(items.c.project_id)
)
_of_threads: Final = PreparedStatement(
    sa.select(
        threads.c.project_id, sa.func.count(), sa.func.max(threads.c.updated_at, type_=Moment)
    )
    .where(threads.c.user_id == _user, threads.c.project_id.is_not(None))
    .group_by(threads.c.project_id)
)


def projects_of(connection: sa.Connection, user_id: str, now: datetime) -> list[Project]:
    """The latest first."""
    remembered = _by_project(_of_items.run_typed(connection, {"user_id": user_id, "now": now}))
    talked = _by_project(_of_threads.run_typed(connection, {"user_id": user_id}))
    found = [
        Project(
            project_id=one,
            memories=remembered[one][0] if one in remembered else 0,
            threads=talked[one][0] if one in talked else 0,
            last_activity=max(known[one][1] for known in (remembered, talked) if one in known),
        )
        for one in remembered.keys() | talked.keys()
    ]
    by_name = sorted(found, key=lambda one: one.project_id)
    return sorted(by_name, key=lambda one: one.last_activity, reverse=True)


def _by_project(rows: list[tuple[Any, ...]]) -> dict[str, tuple[int, datetime]]:
    return {project: (int(count), last) for project, count, last in rows}
