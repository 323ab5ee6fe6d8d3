"""The queue: taking jobs, showing signs of life, finishing, retrying, giving up."""

import random
from datetime import datetime, timedelta

from ricordo import limits
from ricordo.errors import Conflict, JobNotFound
from ricordo.model.job import Job
from ricordo.model.vocabulary import JobState
from ricordo.storage import jobs as rows
from ricordo.storage.database import Database, retried


class JobQueue:
    """Jobs as rows. The row is the truth: whoever holds its lease may finish it, nobody else."""

    def __init__(self, database: Database, lease: timedelta) -> None:
        self.database = database
        self.lease = lease

    @retried
    def claim(self, kinds: frozenset[str]) -> Job | None:
        """Take a job that is due and of one of these kinds, or None."""
        with self.database.transaction() as connection:
            return rows.claim_job(connection, kinds, self.database.clock(), self.lease)

    @retried
    def heartbeat(self, job: Job) -> bool:
        """Keep the lease; False when the job was given to another worker."""
        with self.database.transaction() as connection:
            return rows.extend_lease(connection, job, self.database.clock() + self.lease)

    @retried
    def finish(self, job: Job) -> bool:
        """Mark the job done; False when it was given to another worker."""
        with self.database.transaction() as connection:
            return rows.finish_job(connection, job, self.database.clock())

    @retried
    def fail(self, job: Job, error: str) -> bool:
        """Put the job back with a growing delay, or among the dead after its last attempt."""
        now = self.database.clock()
        retry_at = None
        if job.attempts < job.max_attempts:
            retry_at = now + timedelta(seconds=backoff_seconds(job.attempts))
        with self.database.transaction() as connection:
            return rows.fail_job(connection, job, error, retry_at, now)

    @retried
    def postpone(self, job: Job, until: datetime, why: str) -> bool:
        """Put the job back for later; this was no attempt."""
        with self.database.transaction() as connection:
            return rows.postpone_job(connection, job, until, why, self.database.clock())

    @retried
    def revive(self, job_id: int) -> None:
        """Give a dead job a fresh set of attempts.

        Raises:
            JobNotFound: there is no such job.
            Conflict: the job is not dead.
        """
        with self.database.transaction() as connection:
            job = rows.find_job(connection, job_id)
            if job is None:
                raise JobNotFound(job_id)
            if not rows.revive_job(connection, job_id, self.database.clock()):
                raise Conflict(f"job {job_id} is {job.state}; only dead jobs can be retried")
        self.database.on_job_queued()

    def listed(self, state: JobState | None, limit: int) -> list[Job]:
        """Jobs in the order in which they run or ran."""
        with self.database.read() as reading:
            return rows.list_jobs(reading.connection, state, limit)

    def seconds_until_due(self, kinds: frozenset[str]) -> float | None:
        """How long until there is something of these kinds to do; None when there is nothing."""
        with self.database.read() as reading:
            due = rows.next_due(reading.connection, kinds)
        if due is None:
            return None
        seconds: float = (due - self.database.clock()).total_seconds()
        return max(0.0, seconds)

    @retried
    def trim(self) -> None:
        """Forget jobs that were done long ago."""
        before = self.database.clock() - timedelta(days=limits.FINISHED_JOB_DAYS)
        with self.database.transaction() as connection:
            rows.trim_finished(connection, before)


def backoff_seconds(attempts: int) -> float:
    """How long to wait after the given number of attempts: doubling, bounded, spread by chance."""
    doubled: float = limits.JOB_BACKOFF_BASE_SECONDS * 2.0 ** min(attempts - 1, 30)
    return min(doubled, limits.JOB_BACKOFF_CAP_SECONDS) * random.uniform(0.8, 1.2)
