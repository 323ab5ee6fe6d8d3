"""The job queue's rows. ``ricordo.jobs`` decides what runs; this is how it is remembered."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.model.job import Job, NewJob
from ricordo.model.vocabulary import JobState
from ricordo.storage.backend import Backend
from ricordo.storage.columns import Json, Moment
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import JOB_IDS, jobs

# Two queued jobs for the same thing become one, at the earlier of their times.
_put: Final = Prepared(
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


def put_job(backend: Backend, connection: sa.Connection, job: NewJob, now: datetime) -> None:
    """Queue a job in the transaction that causes it."""
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
    connection: sa.Connection, kinds: frozenset[str], now: datetime, lease: timedelta
) -> Job | None:
    """Take the job that is due longest, or whose worker let its lease run out.

    Taking counts as an attempt, so that a job which kills its worker is not tried for ever.
    """
    _bury_exhausted(connection, now)
    due = sa.or_(
        sa.and_(jobs.c.state == JobState.QUEUED.value, jobs.c.run_at <= now),
        sa.and_(jobs.c.state == JobState.RUNNING.value, jobs.c.lease_until <= now),
    )
    wanted = (
        sa.select(jobs)
        .where(due, jobs.c.kind.in_(sorted(kinds)))
        .order_by(jobs.c.run_at, jobs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = connection.execute(wanted).mappings().first()
    if row is None:
        return None
    taken = {
        "state": JobState.RUNNING.value,
        "attempts": row["attempts"] + 1,
        "lease_token": secrets.token_hex(16),
        "lease_until": now + lease,
        "updated_at": now,
    }
    connection.execute(sa.update(jobs).where(jobs.c.id == row["id"]).values(**taken))
    return _job({**row, **taken})


def _bury_exhausted(connection: sa.Connection, now: datetime) -> None:
    """Give up jobs whose worker vanished during their last attempt."""
    lost = sa.and_(
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.lease_until <= now,
        jobs.c.attempts >= jobs.c.max_attempts,
    )
    buried = {
        "state": JobState.DEAD.value,
        "last_error": "the worker vanished during the last attempt",
        "lease_token": None,
        "lease_until": None,
        "updated_at": now,
    }
    connection.execute(sa.update(jobs).where(lost).values(**buried))


def extend_lease(connection: sa.Connection, job: Job, until: datetime) -> bool:
    """The worker's sign of life; False when the job was taken away from it."""
    return _change_leased(connection, job, lease_until=until)


def finish_job(connection: sa.Connection, job: Job, now: datetime) -> bool:
    """Mark a job done; False when the job was taken away meanwhile."""
    return _change_leased(
        connection,
        job,
        state=JobState.DONE.value,
        lease_token=None,
        lease_until=None,
        last_error=None,
        updated_at=now,
    )


def fail_job(
    connection: sa.Connection, job: Job, error: str, retry_at: datetime | None, now: datetime
) -> bool:
    """Put a job back for another try, or among the dead when ``retry_at`` is None."""
    values: dict[str, Any] = {"state": JobState.DEAD.value}
    if retry_at is None:  # one dead job tells what is wrong; those before it would only pile up
        connection.execute(sa.delete(jobs).where(_alike(job, JobState.DEAD)))
    else:
        if _same_is_queued(connection, job):  # a newer one will do this one's work
            return finish_job(connection, job, now)
        values = {"state": JobState.QUEUED.value, "run_at": retry_at}
    return _change_leased(
        connection,
        job,
        **values,
        lease_token=None,
        lease_until=None,
        last_error=error[: limits.MAX_JOB_ERROR_CHARS],
        updated_at=now,
    )


def postpone_job(
    connection: sa.Connection, job: Job, until: datetime, why: str, now: datetime
) -> bool:
    """Put a job back for later without counting this as an attempt."""
    if _same_is_queued(connection, job):  # a newer one will do this one's work
        return finish_job(connection, job, now)
    return _change_leased(
        connection,
        job,
        state=JobState.QUEUED.value,
        run_at=until,
        attempts=job.attempts - 1,
        lease_token=None,
        lease_until=None,
        last_error=why[: limits.MAX_JOB_ERROR_CHARS],
        updated_at=now,
    )


def revive_job(connection: sa.Connection, job_id: int, now: datetime) -> bool:
    """Give a dead job a fresh set of attempts; False when there is no such dead job."""
    found = find_job(connection, job_id)
    if found is None or found.state is not JobState.DEAD:
        return False
    if _same_is_queued(connection, found):
        connection.execute(sa.delete(jobs).where(jobs.c.id == job_id))
        return True
    values = {"state": JobState.QUEUED.value, "run_at": now, "attempts": 0, "updated_at": now}
    connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(**values))
    return True


def find_job(connection: sa.Connection, job_id: int) -> Job | None:
    """One job, or None."""
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job_id)).mappings().first()
    return None if row is None else _job(row)


def list_jobs(connection: sa.Connection, state: JobState | None, limit: int) -> list[Job]:
    """Jobs in the order in which they run or ran."""
    wanted = sa.select(jobs).order_by(jobs.c.run_at, jobs.c.id).limit(limit)
    if state is not None:
        wanted = wanted.where(jobs.c.state == state.value)
    return [_job(row) for row in connection.execute(wanted).mappings()]


def next_due(connection: sa.Connection, kinds: frozenset[str]) -> datetime | None:
    """When the next queued job of these kinds is to run, or a lease runs out."""
    running = jobs.c.state == JobState.RUNNING.value
    moment = sa.case((running, jobs.c.lease_until), else_=jobs.c.run_at)
    open_states = (JobState.QUEUED.value, JobState.RUNNING.value)
    earliest = sa.select(sa.func.min(moment, type_=Moment)).where(
        jobs.c.state.in_(open_states), jobs.c.kind.in_(sorted(kinds))
    )
    found: datetime | None = connection.execute(earliest).scalar_one()
    return found


def discard_queued(connection: sa.Connection, job: NewJob, not_after: datetime) -> None:
    """Take a job out of the queue whose work was done otherwise, unless it was asked for again."""
    where = sa.and_(_queued_like(job), jobs.c.updated_at <= not_after)
    connection.execute(sa.delete(jobs).where(where))


def trim_finished(connection: sa.Connection, before: datetime) -> None:
    """Forget jobs that were done long ago."""
    old = sa.and_(jobs.c.state == JobState.DONE.value, jobs.c.updated_at < before)
    connection.execute(sa.delete(jobs).where(old))


def _change_leased(connection: sa.Connection, job: Job, **values: Any) -> bool:
    held = sa.and_(
        jobs.c.id == job.id,
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.lease_token == job.lease_token,
    )
    return connection.execute(sa.update(jobs).where(held).values(**values)).rowcount == 1


def _queued_like(job: Job | NewJob) -> sa.ColumnElement[bool]:
    return _alike(job, JobState.QUEUED)


def _alike(job: Job | NewJob, state: JobState) -> sa.ColumnElement[bool]:
    """Jobs in a state that do the same work as this one."""
    return sa.and_(
        jobs.c.kind == job.kind,
        jobs.c.user_id == job.user_id,
        jobs.c.unique_key == job.unique_key,
        jobs.c.state == state.value,
    )


def _same_is_queued(connection: sa.Connection, job: Job) -> bool:
    return connection.execute(sa.select(sa.exists().where(_queued_like(job)))).scalar_one()


def _job(row: Mapping[Any, Any]) -> Job:
    return Job(**{**row, "state": JobState(row["state"])})
