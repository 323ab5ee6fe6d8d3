"""Rows of the job queue."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.model.activity import Job, NewJob
from ricordo.model.vocabulary import JobState
from ricordo.storage.backend import Backend
from ricordo.storage.sql import Json, Moment, PreparedStatement, among, bound_list, stored_choice
from ricordo.storage.tables import JOB_IDS, jobs

# Two queued jobs for the same work become one, at the earlier time.
_put: Final = PreparedStatement(
    sa.text(
        "INSERT INTO jobs (id, kind, user_id, unique_key, payload, state, run_at, attempts,"
        " max_attempts, created_at, updated_at) VALUES (:id, :kind, :user_id, :unique_key,"
        " :payload, 'queued', :run_at, 0, :max_attempts, :now, :now)"
        " ON CONFLICT (kind, user_id, unique_key) WHERE state = 'queued' DO UPDATE SET"
        " run_at = CASE WHEN excluded.run_at < jobs.run_at THEN excluded.run_at"
        " ELSE jobs.run_at END, payload = excluded.payload, updated_at = excluded.updated_at"
    ).bindparams(
        sa.bindparam("payload", type_=Json),
        sa.bindparam("run_at", type_=Moment),
        sa.bindparam("now", type_=Moment),
    )
)

_NAMES: Final = [column.name for column in jobs.c]
_NO_LEASE: Final[dict[str, Any]] = {"lease_token": None, "lease_until": None}

_LONGEST_LEASE: Final = timedelta(days=2)
"""A longer lease was given by a wrong clock."""

_now = sa.bindparam("now", type_=Moment)
_too_far = sa.bindparam("too_far", type_=Moment)
_abandoned = sa.and_(
    jobs.c.state == JobState.RUNNING.value,
    sa.or_(jobs.c.lease_until <= _now, jobs.c.lease_until > _too_far),
)
IS_CLAIMABLE: Final = sa.or_(
    sa.and_(jobs.c.state == JobState.QUEUED.value, jobs.c.run_at <= _now), _abandoned
)
"""Jobs that are due, or whose lease has expired; bind :func:`at_time`."""

_due = (
    sa.select(*jobs.c)
    .where(IS_CLAIMABLE, among(jobs.c.kind, bound_list("kinds")))
    .order_by(jobs.c.run_at, jobs.c.id)
    .limit(sa.literal_column("1"))
    .with_for_update(skip_locked=True)
)
_claimable: Final = PreparedStatement(_due)
_claimable_one: Final = PreparedStatement(
    _due.where(jobs.c.id == sa.bindparam("only", type_=sa.BigInteger))
)
_claim: Final = PreparedStatement(
    sa.update(jobs)
    .where(jobs.c.id == sa.bindparam("job_id", type_=sa.BigInteger))
    .values(
        {
            name: sa.bindparam(name, type_=jobs.c[name].type)
            for name in ("state", "attempts", "lease_token", "lease_until", "updated_at")
        }
        | {"woken_at": None}
    )
)


def at_time(now: datetime) -> dict[str, datetime]:
    return {"now": now, "too_far": now + _LONGEST_LEASE}


def put_job(backend: Backend, connection: sa.Connection, job: NewJob, now: datetime) -> None:
    values = {
        "id": backend.take_ids(connection, JOB_IDS, 1)[0],
        "kind": job.kind,
        "user_id": job.user_id,
        "unique_key": job.unique_key,
        "payload": dict(job.payload),
        "run_at": job.run_at,
        "max_attempts": limits.MAX_JOB_ATTEMPTS,
        "now": now,
    }
    _put.run(connection, values)


def claim_job(
    connection: sa.Connection,
    kinds: frozenset[str],
    now: datetime,
    lease: timedelta,
    only: int | None = None,
) -> Job | None:
    """Claim the job that is due longest, or whose lease has expired.

    ``only`` claims this one. A claim counts as an attempt, so that a job which kills its worker is
    not retried for ever.
    """
    statement = _claimable if only is None else _claimable_one
    given = {"kinds": sorted(kinds), "only": only, **at_time(now)}
    while rows := statement.run_typed(connection, given):
        row = dict(zip(_NAMES, rows[0], strict=True))
        if row["state"] != JobState.RUNNING.value or row["attempts"] < row["max_attempts"]:
            taken = {
                "state": JobState.RUNNING.value,
                "attempts": row["attempts"] + 1,
                "lease_token": secrets.token_hex(16),
                "lease_until": now + lease,
                "updated_at": now,
                "woken_at": None,
            }
            _claim.run(connection, {**taken, "job_id": row["id"]})
            return as_job({**row, **taken})
        dead = {
            "state": JobState.DEAD.value,
            "last_error": "the worker vanished during the last attempt",
            "updated_at": now,
            **_NO_LEASE,
        }
        connection.execute(sa.update(jobs).where(jobs.c.id == row["id"]).values(**dead))
    return None


def extend_lease(
    connection: sa.Connection, job: Job, until: datetime, progress: str | None = None
) -> bool:
    """Heartbeat of a worker with its progress; False when it has lost the job."""
    reported = {} if progress is None else {"progress": progress[: limits.MAX_JOB_PROGRESS_CHARS]}
    return _change_leased(connection, job, lease_until=until, **reported)


def finish_job(connection: sa.Connection, job: Job, now: datetime) -> bool:
    done = {"state": JobState.DONE.value, "last_error": None, "updated_at": now}
    return _change_leased(connection, job, **done, **_NO_LEASE)


def fail_job(
    connection: sa.Connection, job: Job, error: str, retry_at: datetime | None, now: datetime
) -> bool:
    """Requeue a job for another attempt, or mark it dead when ``retry_at`` is None."""
    values: dict[str, Any] = {"state": JobState.DEAD.value}
    if retry_at is None:  # one dead job is enough to see what is wrong
        connection.execute(sa.delete(jobs).where(_same_work(job, JobState.DEAD)))
    else:
        if _same_is_queued(connection, job):  # a newer one will do this one's work
            return finish_job(connection, job, now)
        values = {"state": JobState.QUEUED.value, "run_at": retry_at, "woken_at": None}
    return _change_leased(
        connection,
        job,
        **values,
        **_NO_LEASE,
        last_error=error[: limits.MAX_JOB_ERROR_CHARS],
        updated_at=now,
    )


def postpone_job(
    connection: sa.Connection, job: Job, until: datetime, why: str, now: datetime
) -> bool:
    """Requeue a job for later without counting an attempt."""
    if _same_is_queued(connection, job):  # a newer one will do this one's work
        return finish_job(connection, job, now)
    return _change_leased(
        connection,
        job,
        state=JobState.QUEUED.value,
        run_at=until,
        attempts=job.attempts - 1,
        **_NO_LEASE,
        woken_at=None,
        last_error=why[: limits.MAX_JOB_ERROR_CHARS],
        updated_at=now,
    )


def revive_job(connection: sa.Connection, job_id: int, now: datetime) -> bool:
    """Requeue a dead job with fresh attempts; False when there is no such dead job."""
    found = find_job(connection, job_id)
    if found is None or found.state is not JobState.DEAD:
        return False
    if _same_is_queued(connection, found):
        connection.execute(sa.delete(jobs).where(jobs.c.id == job_id))
        return True
    values: dict[str, Any] = {
        "state": JobState.QUEUED.value,
        "run_at": now,
        "attempts": 0,
        "woken_at": None,
        "updated_at": now,
    }
    connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(**values))
    return True


def cancel_job(connection: sa.Connection, job_id: int, now: datetime) -> bool:
    """Cancel a job that is not running; False when there is no such job."""
    idle = sa.or_(jobs.c.state.in_([JobState.QUEUED.value, JobState.DEAD.value]), _abandoned)
    values = {"state": JobState.CANCELLED.value, "updated_at": now, **_NO_LEASE}
    cancelled = sa.update(jobs).where(jobs.c.id == job_id, idle).values(**values)
    return connection.execute(cancelled, at_time(now)).rowcount == 1


def discard_queued(connection: sa.Connection, job: NewJob, not_after: datetime) -> None:
    """Delete a queued job whose work is done, unless it was queued again since."""
    where = sa.and_(_same_work(job, JobState.QUEUED), jobs.c.updated_at <= not_after)
    connection.execute(sa.delete(jobs).where(where))


def trim_finished(connection: sa.Connection, before: datetime) -> None:
    """Delete jobs that were done or cancelled long ago."""
    ended = (JobState.DONE.value, JobState.CANCELLED.value)
    old = sa.and_(jobs.c.state.in_(ended), jobs.c.updated_at < before)
    connection.execute(sa.delete(jobs).where(old))


def repair_times(connection: sa.Connection, now: datetime) -> None:
    """Make jobs due that were queued by a clock far ahead of the present one."""
    ahead = sa.and_(jobs.c.state == JobState.QUEUED.value, jobs.c.updated_at > now + _LONGEST_LEASE)
    connection.execute(sa.update(jobs).where(ahead).values(run_at=now, updated_at=now))


def _change_leased(connection: sa.Connection, job: Job, **values: Any) -> bool:
    leased = sa.and_(
        jobs.c.id == job.id,
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.lease_token == job.lease_token,
    )
    return connection.execute(sa.update(jobs).where(leased).values(**values)).rowcount == 1


def _same_work(job: Job | NewJob, state: JobState) -> sa.ColumnElement[bool]:
    """Jobs in a state that do the same work as this one."""
    return sa.and_(
        jobs.c.kind == job.kind,
        jobs.c.user_id == job.user_id,
        jobs.c.unique_key == job.unique_key,
        jobs.c.state == state.value,
    )


def _same_is_queued(connection: sa.Connection, job: Job) -> bool:
    queued = sa.exists().where(_same_work(job, JobState.QUEUED))
    return connection.execute(sa.select(queued)).scalar_one()


def as_job(row: Mapping[Any, Any]) -> Job:
    return Job(**{**row, "state": stored_choice(JobState, row["state"])})


def find_job(connection: sa.Connection, job_id: int) -> Job | None:
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job_id)).mappings().first()
    return None if row is None else as_job(row)


def list_jobs(
    connection: sa.Connection, state: JobState | None, kind: str | None, limit: int
) -> list[Job]:
    wanted = sa.select(jobs).order_by(jobs.c.run_at, jobs.c.id).limit(limit)
    if state is not None:
        wanted = wanted.where(jobs.c.state == state.value)
    if kind is not None:
        wanted = wanted.where(jobs.c.kind == kind)
    return [as_job(row) for row in connection.execute(wanted).mappings()]


def count_jobs(connection: sa.Connection) -> list[tuple[str, JobState, int]]:
    counted = (
        sa.select(jobs.c.kind, jobs.c.state, sa.func.count())
        .group_by(jobs.c.kind, jobs.c.state)
        .order_by(jobs.c.kind)
    )
    return [(kind, JobState(state), count) for kind, state, count in connection.execute(counted)]


def due_jobs(connection: sa.Connection, now: datetime) -> dict[str, tuple[int, datetime]]:
    """By kind: the number of queued jobs that are due, and since when."""
    counted = (
        sa.select(jobs.c.kind, sa.func.count(), sa.func.min(jobs.c.run_at, type_=Moment))
        .where(jobs.c.state == JobState.QUEUED.value, jobs.c.run_at <= now)
        .group_by(jobs.c.kind)
    )
    return {kind: (count, since) for kind, count, since in connection.execute(counted)}


def next_due(connection: sa.Connection, kinds: frozenset[str]) -> datetime | None:
    """When the next queued job of these kinds is due, or a lease expires."""
    running = jobs.c.state == JobState.RUNNING.value
    moment = sa.case((running, jobs.c.lease_until), else_=jobs.c.run_at)
    open_states = (JobState.QUEUED.value, JobState.RUNNING.value)
    earliest = sa.select(sa.func.min(moment, type_=Moment)).where(
        jobs.c.state.in_(open_states), jobs.c.kind.in_(sorted(kinds))
    )
    found: datetime | None = connection.execute(earliest).scalar_one()
    return found


def take_unsent(
    connection: sa.Connection,
    kinds: frozenset[str],
    now: datetime,
    sent_before: datetime | None,
    limit: int,
) -> list[tuple[int, str]]:
    """Due jobs (id and kind) that no broker message was sent for; marks them as sent.

    With ``sent_before`` also those whose message was sent before then: it was lost.
    """
    unsent: sa.ColumnElement[bool] = jobs.c.woken_at.is_(None)
    if sent_before is not None:
        unsent = sa.or_(unsent, jobs.c.woken_at <= sent_before)
    wanted = (
        sa.select(jobs.c.id, jobs.c.kind)
        .where(IS_CLAIMABLE, unsent, jobs.c.kind.in_(sorted(kinds)))
        .order_by(jobs.c.run_at, jobs.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    taken = [(row.id, row.kind) for row in connection.execute(wanted, at_time(now))]
    if taken:
        listed = jobs.c.id.in_([job_id for job_id, _ in taken])
        connection.execute(sa.update(jobs).where(listed).values(woken_at=now))
    return taken


def note_unsent(connection: sa.Connection, job_ids: Sequence[int]) -> None:
    """Unmark jobs whose message could not be sent."""
    waiting = sa.and_(jobs.c.id.in_(list(job_ids)), jobs.c.woken_at.is_not(None))
    connection.execute(sa.update(jobs).where(waiting).values(woken_at=None))
