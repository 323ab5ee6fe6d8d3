"""Cutting back what only tells what happened: events, counters, notes of pairs, kept answers."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from ricordo import limits
from ricordo.model.job import Report
from ricordo.storage.daily_counters import day_of, fold_tallies
from ricordo.storage.database import Database, retried
from ricordo.storage.history import trim_events
from ricordo.storage.idempotency import trim_answers
from ricordo.storage.tables import checked_pairs
from ricordo.storage.users import upkeep_state
from ricordo.upkeep.policy import UpkeepPolicy


def trim(database: Database, policy: UpkeepPolicy, user_id: str, report: Report) -> int:
    """Remove a user's old events, notes of pairs and kept answers, and put old counters together;
    how many rows.

    Sums of counters over all time stay as they are.
    """
    trimmed = gone = _trim_step(database, policy, user_id)
    while gone >= limits.TRIM_BATCH_ROWS:  # or else there was room for all of each kind
        report(f"{trimmed} rows trimmed")
        gone = _trim_step(database, policy, user_id)
        trimmed += gone
    return trimmed


@retried
def _trim_step(database: Database, policy: UpkeepPolicy, user_id: str) -> int:
    most = limits.TRIM_BATCH_ROWS
    with database.write(user_id) as writing:
        now = writing.now
        oldest_day = day_of(now - timedelta(days=limits.COUNTER_DAYS))
        waiting = upkeep_state(writing.connection, user_id).pairs_wait_since
        # Kept while pairs wait, or those looked at first would come again before the last.
        checked_before = min(now - timedelta(days=limits.CHECKED_PAIR_DAYS), waiting or now)
        return (
            trim_events(writing.connection, user_id, now - policy.event_life, most)
            + fold_tallies(writing, oldest_day, most)
            + _trim_pairs(writing.connection, user_id, checked_before, most)
            + trim_answers(writing.connection, user_id, now)
        )


def _trim_pairs(connection: sa.Connection, user_id: str, before: datetime, limit: int) -> int:
    own = checked_pairs.c.user_id == user_id
    pair = (checked_pairs.c.low_id, checked_pairs.c.high_id)
    oldest = (
        sa.select(*pair)
        .where(own, checked_pairs.c.checked_at < before)
        .order_by(checked_pairs.c.checked_at)
        .limit(limit)
    )
    gone = sa.delete(checked_pairs).where(own, sa.tuple_(*pair).in_(oldest))
    return connection.execute(gone).rowcount
