"""The kinds of jobs that upkeep consists of."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import StorageError, in_log
from ricordo.model.job import STORE_JOB_USER, NewJob, Report
from ricordo.model.vocabulary import JobState
from ricordo.storage.database import Database, retried
from ricordo.storage.jobs import put_job
from ricordo.storage.tables import jobs
from ricordo.storage.users import hold_users, last_rounds

PLAN_JOB: Final = "plan-upkeep"
"""Finds out whose daily round is due. One for the whole store, which queues its own next."""

ROUND_JOB: Final = "upkeep"
"""The daily round of one user: what is quick is done, what is not is queued."""

CONSOLIDATE_JOB: Final = "consolidate"
"""Merges what says the same, replaces what is outdated, links what belongs together."""

INSIGHTS_JOB: Final = "insights"
"""Draws a few observations from what a user was recently busy with."""

RELATE_JOB: Final = "relate"
"""Refreshes which memories are about the same."""


# Every user has a time of day of their own, so that the rounds of a large store are spread over
# the day. One job for the whole store looks every hour whose time has come.

_DAY: Final = timedelta(days=1)
_BETWEEN_PLANS: Final = timedelta(hours=1)
_OPEN: Final = (JobState.QUEUED.value, JobState.RUNNING.value)
_GIVEN_UP: Final = (JobState.DEAD.value, JobState.CANCELLED.value)

_log = logging.getLogger(__name__)


def slot_of(user_id: str) -> timedelta:
    """The time of day, in UTC, at which a user's round comes; always the same."""
    digest = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).digest()
    number = timedelta(microseconds=int.from_bytes(digest[:7]))
    return number % _DAY


def last_slot(user_id: str, now: datetime) -> datetime:
    """When a user's round last came due, at or before now."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    today = midnight + slot_of(user_id)
    return today if today <= now else today - _DAY


def ensure_planned(database: Database) -> None:
    """See to it that there is a job which plans the rounds.

    For when a store is opened: usually one quick read. A store that cannot be written now has no
    upkeep until somebody opens it who can.
    """
    try:
        with database.read(STORE_JOB_USER) as view:
            if _is_planned(view.connection, view.now):
                return
        _plan_at(database, database.clock())
    except StorageError as problem:  # opening goes on, and needs none of this
        _log.warning("upkeep is not planned for now: %s", in_log(problem))


def plan_rounds(database: Database, report: Report) -> int:
    """Queue the rounds of all users whose time has come since the last; how many.

    Runs again in an hour. Where this time fails, the job is tried again and tells why; should it
    be given up, :func:`ensure_planned` makes another.
    """
    queued = 0
    last = ""
    while page := _page_after(database, last):
        queued += _queue_due(database, page)
        last = page[-1][0]
        report(f"{queued} rounds queued")
    _plan_at(database, database.clock() + _BETWEEN_PLANS)
    return queued


def _page_after(database: Database, last: str) -> list[tuple[str, datetime]]:
    with database.read_all() as view:
        return last_rounds(view.connection, last, limits.USERS_PER_PLAN_STEP)


@retried
def _queue_due(database: Database, page: Sequence[tuple[str, datetime]]) -> int:
    """Queue the rounds that are due on one page of users, each of whom was last looked after
    then; how many."""
    now = database.clock()
    due = {
        user_id: slot
        for user_id, since in page
        # One who was looked after in the future had that from a clock that was wrong.
        if (slot := last_slot(user_id, now)) > since or since > now + _DAY
    }
    if not due:
        return 0
    with database.transaction() as connection:
        # Held, so that nobody is erased before their job is there to be erased with them.
        held = hold_users(connection, due)
        seen_to = _seen_to(connection, due)
        new = [user_id for user_id in held if user_id not in seen_to]
        for user_id in new:
            put_job(database.backend, connection, _round(user_id, due[user_id], now), now)
    if new:
        database.on_job_queued()
    return len(new)


def _seen_to(connection: sa.Connection, due: Mapping[str, datetime]) -> set[str]:
    """Those whose round waits or runs already, or was given up since it came due: one that fails
    or was cancelled is made up for by the next day's."""
    # Not by state as well: an index over all that is queued is the wrong one for a few users.
    wanted = sa.select(jobs.c.user_id, jobs.c.state, jobs.c.updated_at).where(
        jobs.c.kind == ROUND_JOB, jobs.c.user_id.in_(sorted(due))
    )
    return {
        user_id
        for user_id, state, updated_at in connection.execute(wanted)
        if state in _OPEN or (state in _GIVEN_UP and updated_at >= due[user_id])
    }


def _round(user_id: str, slot: datetime, now: datetime) -> NewJob:
    """A round that was missed, because the store was closed, comes at a time of its own within the
    hour: not everybody's at once."""
    missed = now - slot > _BETWEEN_PLANS
    run_at = now + slot_of(user_id) % _BETWEEN_PLANS if missed else now
    return NewJob(kind=ROUND_JOB, user_id=user_id, run_at=run_at, unique_key="", payload={})


def _is_planned(connection: sa.Connection, now: datetime) -> bool:
    """Whether there is a job that plans soon; a clock may have been wrong when it was queued."""
    waiting = sa.exists().where(
        jobs.c.user_id == STORE_JOB_USER,
        jobs.c.kind == PLAN_JOB,
        jobs.c.state.in_(_OPEN),
        jobs.c.run_at <= now + 2 * _BETWEEN_PLANS,
    )
    return connection.execute(sa.select(waiting)).scalar_one()


@retried
def _plan_at(database: Database, when: datetime) -> None:
    job = NewJob(kind=PLAN_JOB, user_id=STORE_JOB_USER, run_at=when, unique_key="", payload={})
    with database.transaction_for([STORE_JOB_USER]) as connection:
        put_job(database.backend, connection, job, database.clock())
    database.on_job_queued()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPolicy:
    """How long what is kept, and how much work a user's day may cost.

    What is not recalled for ``forget_after`` and matters less than ``forget_below`` is forgotten;
    what was put there on purpose only where it matters less than ``forget_explicit_below``.
    """

    is_automatic: bool
    forget_after: timedelta
    forget_below: int
    forget_explicit_below: int
    daily_pairs: int
    draws_insights: bool
    event_life: timedelta
