"""Upkeep jobs and when they are due."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import StorageError, in_log
from ricordo.frozen import dataclass
from ricordo.model.activity import STORE_JOB_USER, NewJob, Report
from ricordo.model.vocabulary import JobState
from ricordo.storage.database import Database, retried
from ricordo.storage.jobs import put_job
from ricordo.storage.tables import jobs
from ricordo.storage.users import last_rounds, lock_users

PLAN_JOB: Final = "plan-upkeep"
"""Finds users whose daily round is due. One per store, which queues its own successor."""

ROUND_JOB: Final = "upkeep"
"""The daily round of one user: quick work is done, the rest is queued."""

CONSOLIDATE_JOB: Final = "consolidate"
"""Merges duplicates, supersedes outdated memories, links related ones."""

INSIGHTS_JOB: Final = "insights"
"""Draws a few observations from a user's recent activity."""

RELATE_JOB: Final = "relate"
"""Refreshes the relations between memories."""

# Every user has a fixed time of day, so that rounds are spread over the day. One job per store
# checks every hour whose round is due.

_DAY: Final = timedelta(days=1)
_BETWEEN_PLANS: Final = timedelta(hours=1)
_OPEN: Final = (JobState.QUEUED.value, JobState.RUNNING.value)
_GIVEN_UP: Final = (JobState.DEAD.value, JobState.CANCELLED.value)

_log = logging.getLogger(__name__)


def slot_of(user_id: str) -> timedelta:
    """The time of day (UTC) of a user's round; always the same."""
    digest = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).digest()
    number = timedelta(microseconds=int.from_bytes(digest[:7]))
    return number % _DAY


def last_slot(user_id: str, now: datetime) -> datetime:
    """The user's last due time, at or before now."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    today = midnight + slot_of(user_id)
    return today if today <= now else today - _DAY


def ensure_planned(database: Database) -> None:
    """Queue the planning job if there is none.

    Called when a store is opened, usually one quick read. A read-only store gets no upkeep until
    somebody opens it who can write.
    """
    try:
        with database.read(STORE_JOB_USER) as view:
            planned = sa.exists().where(
                jobs.c.user_id == STORE_JOB_USER,
                jobs.c.kind == PLAN_JOB,
                jobs.c.state.in_(_OPEN),
                # One that is due later came from a wrong clock.
                jobs.c.run_at <= view.now + 2 * _BETWEEN_PLANS,
            )
            if view.connection.execute(sa.select(planned)).scalar_one():
                return
        _plan_at(database, database.clock())
    except StorageError as problem:  # opening must not fail because of it
        _log.warning("upkeep is not planned for now: %s", in_log(problem))


def plan_rounds(database: Database, report: Report) -> int:
    """Queue the rounds of all users that have become due; how many.

    Runs again in an hour. If it fails, the job is retried; if it is given up,
    :func:`ensure_planned` queues another.
    """
    queued = 0
    last = ""
    while True:
        with database.read_all() as view:
            page = last_rounds(view.connection, last, limits.USERS_PER_PLAN_STEP)
        if not page:
            break
        queued += _queue_due(database, page)
        last = page[-1][0]
        report(f"{queued} rounds queued")
    _plan_at(database, database.clock() + _BETWEEN_PLANS)
    return queued


@retried
def _queue_due(database: Database, page: Sequence[tuple[str, datetime]]) -> int:
    """Queue the due rounds of one page of users, given the time of each user's last round; how
    many."""
    now = database.clock()
    due = {
        user_id: slot
        for user_id, since in page
        # A last round in the future came from a wrong clock.
        if (slot := last_slot(user_id, now)) > since or since > now + _DAY
    }
    if not due:
        return 0
    with database.transaction() as connection:
        # Locked, so that no user is erased before their job is there to be erased too.
        locked = lock_users(connection, due)
        planned = _already_planned(connection, due)
        new = [user_id for user_id in locked if user_id not in planned]
        for user_id in new:
            # A missed round (the store was closed) gets its own time within the hour: not all at
            # once.
            is_missed = now - due[user_id] > _BETWEEN_PLANS
            run_at = now + slot_of(user_id) % _BETWEEN_PLANS if is_missed else now
            job = NewJob(kind=ROUND_JOB, user_id=user_id, run_at=run_at)
            put_job(database.backend, connection, job, now)
    if new:
        database.on_job_queued()
    return len(new)


def _already_planned(connection: sa.Connection, due: Mapping[str, datetime]) -> set[str]:
    """Users whose round waits or runs, or was given up since it was due: the next day's round makes
    up for that."""
    # Not by state as well: the index over all queued jobs is the wrong one for a few users.
    wanted = sa.select(jobs.c.user_id, jobs.c.state, jobs.c.updated_at).where(
        jobs.c.kind == ROUND_JOB, jobs.c.user_id.in_(sorted(due))
    )
    return {
        user_id
        for user_id, state, updated_at in connection.execute(wanted)
        if state in _OPEN or (state in _GIVEN_UP and updated_at >= due[user_id])
    }


@retried
def _plan_at(database: Database, when: datetime) -> None:
    job = NewJob(kind=PLAN_JOB, user_id=STORE_JOB_USER, run_at=when)
    with database.transaction_for([STORE_JOB_USER]) as connection:
        put_job(database.backend, connection, job, database.clock())
    database.on_job_queued()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPolicy:
    """How long things are kept, and how much work a user's day may cost.

    Memories not recalled for ``forget_after`` and less important than ``forget_below`` are
    forgotten; explicit ones only below ``forget_explicit_below``.
    """

    is_automatic: bool
    forget_after: timedelta
    forget_below: int
    forget_explicit_below: int
    daily_pairs: int
    draws_insights: bool
    event_life: timedelta
