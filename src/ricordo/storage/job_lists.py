"""Looking at the job queue's rows: one, a list, counts, what is due, what a broker is told of."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from ricordo.model.job import Job
from ricordo.model.vocabulary import JobState
from ricordo.storage.columns import Moment
from ricordo.storage.jobs import IS_CLAIMABLE, as_job, at_time
from ricordo.storage.tables import jobs


def find_job(connection: sa.Connection, job_id: int) -> Job | None:
    """One job, or None."""
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job_id)).mappings().first()
    return None if row is None else as_job(row)


def list_jobs(
    connection: sa.Connection, state: JobState | None, kind: str | None, limit: int
) -> list[Job]:
    """Jobs in the order in which they run or ran."""
    wanted = sa.select(jobs).order_by(jobs.c.run_at, jobs.c.id).limit(limit)
    if state is not None:
        wanted = wanted.where(jobs.c.state == state.value)
    if kind is not None:
        wanted = wanted.where(jobs.c.kind == kind)
    return [as_job(row) for row in connection.execute(wanted).mappings()]


def count_jobs(connection: sa.Connection) -> list[tuple[str, JobState, int]]:
    """How many jobs of each kind are in each state."""
    counted = (
        sa.select(jobs.c.kind, jobs.c.state, sa.func.count())
        .group_by(jobs.c.kind, jobs.c.state)
        .order_by(jobs.c.kind)
    )
    return [(kind, JobState(state), count) for kind, state, count in connection.execute(counted)]


def due_jobs(connection: sa.Connection, now: datetime) -> dict[str, tuple[int, datetime]]:
    """By kind: how many queued jobs could run now, and since when the first of them could."""
    counted = (
        sa.select(jobs.c.kind, sa.func.count(), sa.func.min(jobs.c.run_at, type_=Moment))
        .where(jobs.c.state == JobState.QUEUED.value, jobs.c.run_at <= now)
        .group_by(jobs.c.kind)
    )
    return {kind: (count, since) for kind, count, since in connection.execute(counted)}


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


def take_unsent(
    connection: sa.Connection,
    kinds: frozenset[str],
    now: datetime,
    sent_before: datetime | None,
    limit: int,
) -> list[tuple[int, str]]:
    """Jobs (id and kind) that could run now and that a broker has not been told of; noted as told.

    ``sent_before`` takes also those of which it was told before then and which still wait: the
    message, or whoever had it, was lost.
    """
    untold: sa.ColumnElement[bool] = jobs.c.woken_at.is_(None)
    if sent_before is not None:
        untold = sa.or_(untold, jobs.c.woken_at <= sent_before)
    wanted = (
        sa.select(jobs.c.id, jobs.c.kind)
        .where(IS_CLAIMABLE, untold, jobs.c.kind.in_(sorted(kinds)))
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
    """The broker could not be told of these jobs after all."""
    waiting = sa.and_(jobs.c.id.in_(list(job_ids)), jobs.c.woken_at.is_not(None))
    connection.execute(sa.update(jobs).where(waiting).values(woken_at=None))
