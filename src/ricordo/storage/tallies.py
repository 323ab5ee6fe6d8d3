"""Counters per user and day."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import tallies
from ricordo.storage.writing import Writing

_add: Final = Prepared(
    sa.text(
        "INSERT INTO tallies (user_id, day, name, count) VALUES (:user_id, :day, :name, :count)"
        " ON CONFLICT (user_id, day, name) DO UPDATE SET count = tallies.count + excluded.count"
    )
)


def day_of(moment: datetime) -> str:
    """The day that something is counted for, in UTC."""
    return moment.astimezone(UTC).date().isoformat()


def tally(writing: Writing, counts: Mapping[str, int]) -> None:
    """Add to the writing user's counters of today.

    Counting makes nobody a user: work for somebody who was erased meanwhile leaves no trace.
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


def tally_of(connection: sa.Connection, user_id: str, now: datetime, name: str) -> int:
    """One of a user's counters of today."""
    wanted = sa.select(tallies.c.count).where(
        tallies.c.user_id == user_id, tallies.c.day == day_of(now), tallies.c.name == name
    )
    return connection.execute(wanted).scalar_one_or_none() or 0


def totals(connection: sa.Connection, user_id: str | None, since_day: str | None) -> dict[str, int]:
    """The sums of a user's counters, or of everybody's, from a day on."""
    wanted = sa.select(tallies.c.name, sa.func.sum(tallies.c.count)).group_by(tallies.c.name)
    if user_id is not None:
        wanted = wanted.where(tallies.c.user_id == user_id)
    if since_day is not None:
        wanted = wanted.where(tallies.c.day >= since_day)
    rows = connection.execute(wanted.order_by(tallies.c.name))
    return {row[0]: int(row[1]) for row in rows}
