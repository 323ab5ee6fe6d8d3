"""Rows of activity: events of background work, and counters per user and day."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.activity import (
    COUNTED_BY_DAY,
    TOKENS,
    ActivityEvent,
    Counters,
    DayActivity,
    counters_from,
    day_from,
)
from ricordo.model.record import Page
from ricordo.model.vocabulary import EventStatus
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction
from ricordo.storage.items import memories_by_day
from ricordo.storage.sql import PreparedStatement, Words, page_by_id, stored_choice
from ricordo.storage.tables import EVENT_IDS, events, items, tallies, users, without_user
from ricordo.storage.where import active

_EVENT_COLUMNS: Final = without_user(events)
_EVENTS_CURSOR: Final = "events"

LONG_AGO: Final = "0001-01-01"
"""The day under which old counters are summed up."""

_add: Final = PreparedStatement(
    sa.text(
        "INSERT INTO tallies (user_id, day, name, count) VALUES (:user_id, :day, :name, :count)"
        " ON CONFLICT (user_id, day, name) DO UPDATE SET count = tallies.count + excluded.count"
    )
)
_count: Final = PreparedStatement(
    sa.select(tallies.c.count).where(
        tallies.c.user_id == sa.bindparam("user_id", type_=Words),
        tallies.c.day == sa.bindparam("day", type_=Words),
        tallies.c.name == sa.bindparam("name", type_=Words),
    )
)
_insert_events: Final = PreparedStatement(sa.insert(events))


def day_of(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def tally(writing: WriteTransaction, counts: Mapping[str, int]) -> None:
    """Add to the writing user's counters of today.

    Does not create a user: work for a user erased meanwhile leaves no trace.
    """
    if writing.is_first:
        return
    day = day_of(writing.now)
    rows = [
        {"user_id": writing.user_id, "day": day, "name": name, "count": count}
        for name, count in counts.items()
        if count
    ]
    if rows:
        _add.run_many(writing.connection, rows)


def add_counts(connection: sa.Connection, counts: Mapping[tuple[str, str, str], int]) -> None:
    """Add to counters by user, day and name; unknown users are skipped."""
    named = {user_id for user_id, _, _ in counts}
    present = sa.select(users.c.user_id).where(users.c.user_id.in_(named))
    there = set(connection.execute(present).scalars())
    rows = [
        {"user_id": user_id, "day": day, "name": name, "count": count}
        for (user_id, day, name), count in sorted(counts.items())
        if user_id in there
    ]
    if rows:
        _add.run_many(connection, rows)


def tally_of(connection: sa.Connection, user_id: str, now: datetime, name: str) -> int:
    found = _count.run(connection, {"user_id": user_id, "day": day_of(now), "name": name})
    return found[0][0] if found else 0


def totals(connection: sa.Connection, user_id: str | None, since_day: str | None) -> dict[str, int]:
    wanted = sa.select(tallies.c.name, sa.func.sum(tallies.c.count)).group_by(tallies.c.name)
    if user_id is not None:
        wanted = wanted.where(tallies.c.user_id == user_id)
    if since_day is not None:
        wanted = wanted.where(tallies.c.day >= since_day)
    rows = connection.execute(wanted.order_by(tallies.c.name))
    return {row[0]: int(row[1]) for row in rows}


def daily_totals(
    connection: sa.Connection,
    user_id: str | None,
    first_day: str,
    last_day: str,
    names: Collection[str],
) -> dict[str, dict[str, int]]:
    wanted = (
        sa.select(tallies.c.day, tallies.c.name, sa.func.sum(tallies.c.count))
        .where(tallies.c.day >= first_day, tallies.c.day <= last_day, tallies.c.name.in_(names))
        .group_by(tallies.c.day, tallies.c.name)
    )
    if user_id is not None:
        wanted = wanted.where(tallies.c.user_id == user_id)
    found: dict[str, dict[str, int]] = {}
    for day, name, count in connection.execute(wanted):
        found.setdefault(day, {})[name] = int(count)
    return found


def counters_of(
    view: ReadTransaction, user_id: str | None, days: int | None, total: int
) -> Counters:
    """The counters of one user, or of all users, over the last days or all time; ``total`` is how
    many active memories there are."""
    since = None if days is None else day_of(view.now - timedelta(days=days - 1))
    counts = totals(view.connection, user_id, since)
    today = totals(view.connection, user_id, day_of(view.now))
    return counters_from(total, counts, today.get(TOKENS, 0))


def count_active(view: ReadTransaction) -> int:
    """How many memories all users have."""
    counted = sa.select(sa.func.count()).select_from(items).where(active(view.now))
    total: int = view.connection.execute(counted).scalar_one()
    return total


def daily_of(database: Database, user_id: str | None, days: int) -> tuple[DayActivity, ...]:
    """The last days of one user, or of all users; today (UTC) is last."""
    with database.read_all() if user_id is None else database.read(user_id) as view:
        today = view.now.astimezone(UTC).date()
        dates = [(today - timedelta(days=days - 1 - past)).isoformat() for past in range(days)]
        counts = daily_totals(view.connection, user_id, dates[0], dates[-1], COUNTED_BY_DAY)
        added = memories_by_day(view.connection, user_id, dates)
    return tuple(day_from(one, added.get(one, 0), counts.get(one, {})) for one in dates)


def fold_tallies(writing: WriteTransaction, before_day: str, limit: int) -> int:
    """Sum up a bounded number of the writing user's counters from before a day.

    The totals do not change. Returns the number of rows folded.
    """
    mine = tallies.c.user_id == writing.user_id
    by_day = sa.tuple_(tallies.c.day, tallies.c.name)
    oldest = (
        sa.select(tallies.c.day, tallies.c.name, tallies.c.count)
        .where(mine, tallies.c.day > LONG_AGO, tallies.c.day < before_day)
        .order_by(tallies.c.day, tallies.c.name)
        .limit(limit)
    )
    rows = writing.connection.execute(oldest).all()
    if not rows:
        return 0
    sums: Counter[str] = Counter()
    for _, name, count in rows:
        sums[name] += count
    _add.run_many(
        writing.connection,
        [
            {"user_id": writing.user_id, "day": LONG_AGO, "name": name, "count": count}
            for name, count in sums.items()
        ],
    )
    last = sa.tuple_(sa.literal(rows[-1].day), sa.literal(rows[-1].name))
    folded = sa.and_(mine, tallies.c.day > LONG_AGO, by_day <= last)
    return writing.connection.execute(sa.delete(tallies).where(folded)).rowcount


def put_events(writing: WriteTransaction, happened: Sequence[dict[str, Any]]) -> None:
    """Record steps of the writing user's background work; each has node, op, status and more.

    Nothing is recorded for a user erased meanwhile.
    """
    if not happened or writing.is_first:
        return
    ids = writing.take_ids(EVENT_IDS, len(happened))
    empty = dict.fromkeys(("thread_id", "item_id", "theme", "similarity", "detail"))
    rows = [
        {**empty, **entry, "user_id": writing.user_id, "id": event_id, "at": writing.now}
        for event_id, entry in zip(ids, happened, strict=True)
    ]
    _insert_events.run_many(writing.connection, rows)


def page_of_events(
    connection: sa.Connection,
    user_id: str,
    limit: int,
    cursor: str | None,
    thread_id: str | None = None,
    steps: tuple[str, Collection[str]] | None = None,
) -> Page[ActivityEvent]:
    """A user's events, the latest first; ``steps`` are a node and its ops. Raises InvalidCursor:
    the cursor was not given out by this call."""
    wanted = sa.select(*_EVENT_COLUMNS).where(events.c.user_id == user_id)
    if thread_id is not None:
        wanted = wanted.where(events.c.thread_id == thread_id)
    if steps is not None:
        wanted = wanted.where(events.c.node == steps[0], events.c.op.in_(steps[1]))
    return page_by_id(
        connection,
        wanted,
        lambda row: ActivityEvent(**{**row, "status": stored_choice(EventStatus, row["status"])}),
        _EVENTS_CURSOR,
        events.c.id,
        limit,
        cursor,
        descending=True,
    )


def trim_events(connection: sa.Connection, user_id: str, before: datetime, limit: int) -> int:
    """Delete a bounded number of a user's events from before then; returns how many."""
    oldest = (
        sa.select(events.c.id)
        .where(events.c.user_id == user_id, events.c.at < before)
        .order_by(events.c.at)
        .limit(limit)
    )
    gone = sa.delete(events).where(events.c.user_id == user_id, events.c.id.in_(oldest))
    return connection.execute(gone).rowcount
