"""The job queue: claim, heartbeat, finish, retry, give up, cancel."""

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from ricordo import limits
from ricordo.conversation.service import COMPACT_JOB
from ricordo.errors import Conflict, JobNotFound
from ricordo.formation.schedule import FORM_JOB, SUMMARY_JOB
from ricordo.index.rebuild import REINDEX_JOB
from ricordo.memories.lifecycle import SCRUB_JOB
from ricordo.model.activity import Job, JobStats
from ricordo.model.vocabulary import JobState, Lane
from ricordo.storage import jobs as rows
from ricordo.storage.database import Database, retried
from ricordo.storage.search_rows import EMBED_JOB
from ricordo.storage.webhooks import DELIVER_JOB
from ricordo.upkeep.schedule import CONSOLIDATE_JOB, INSIGHTS_JOB, RELATE_JOB

SLOW_JOBS: Final = frozenset(
    {
        FORM_JOB,
        SUMMARY_JOB,
        COMPACT_JOB,
        EMBED_JOB,
        REINDEX_JOB,
        CONSOLIDATE_JOB,
        INSIGHTS_JOB,
        RELATE_JOB,
    }
)
"""Jobs that may call a model, embed, or read everything of a user."""

INDISPENSABLE_JOBS: Final = frozenset({REINDEX_JOB, SCRUB_JOB})
"""Jobs queued once by an event that does not recur: they cannot be cancelled."""


def lane_of(kind: str) -> Lane:
    if kind == DELIVER_JOB:
        return Lane.DELIVERY
    return Lane.SLOW if kind in SLOW_JOBS else Lane.FAST


def kinds_in(kinds: Iterable[str], lane: Lane | None) -> frozenset[str]:
    return frozenset(kind for kind in kinds if lane is None or lane_of(kind) is lane)


class JobQueue:
    """Jobs as rows. Only the holder of a row's lease may finish it."""

    def __init__(self, database: Database, lease: timedelta) -> None:
        self.database = database
        self.lease = lease

    @retried
    def claim(self, kinds: frozenset[str], only: int | None = None) -> Job | None:
        """Claim a due job of these kinds, or None; ``only`` names the one."""
        with self.database.transaction() as connection:
            return rows.claim_job(connection, kinds, self.database.clock(), self.lease, only)

    @retried
    def heartbeat(self, job: Job, progress: str | None = None) -> bool:
        """Renew the lease; False when the job was given to another worker."""
        with self.database.transaction_for([job.user_id]) as connection:
            until = self.database.clock() + self.lease
            return rows.extend_lease(connection, job, until, progress)

    @retried
    def finish(self, job: Job) -> bool:
        """Mark the job done; False when it was given to another worker."""
        with self.database.transaction_for([job.user_id]) as connection:
            return rows.finish_job(connection, job, self.database.clock())

    @retried
    def fail(self, job: Job, error: str) -> bool:
        """Retry the job with a growing delay, or mark it dead after its last attempt."""
        now = self.database.clock()
        retry_at = None
        if job.attempts < job.max_attempts:
            doubled = limits.JOB_BACKOFF_BASE_SECONDS * 2.0 ** min(job.attempts - 1, 30)
            pause = min(doubled, limits.JOB_BACKOFF_CAP_SECONDS) * random.uniform(0.8, 1.2)
            retry_at = now + timedelta(seconds=pause)
        with self.database.transaction_for([job.user_id]) as connection:
            return rows.fail_job(connection, job, error, retry_at, now)

    @retried
    def postpone(self, job: Job, until: datetime, why: str) -> bool:
        """Put the job back for later without counting an attempt."""
        with self.database.transaction_for([job.user_id]) as connection:
            return rows.postpone_job(connection, job, until, why, self.database.clock())

    @retried
    def revive(self, job_id: int) -> None:
        """Try a dead job again. Raises JobNotFound: there is no such job;
        Conflict: the job is not dead."""
        with self.database.transaction() as connection:
            job = rows.find_job(connection, job_id)
            if job is None:
                raise JobNotFound(job_id)
            if not rows.revive_job(connection, job_id, self.database.clock()):
                raise Conflict(f"job {job_id} is {job.state}; only dead jobs can be retried")
        self.database.on_job_queued()

    @retried
    def cancel(self, job_id: int) -> None:
        """Take a job out of the queue. Raises JobNotFound: there is no such job; Conflict: it is
        running, has ended, or nothing would queue it again."""
        with self.database.transaction() as connection:
            job = rows.find_job(connection, job_id)
            if job is None:
                raise JobNotFound(job_id)
            if job.kind in INDISPENSABLE_JOBS:
                raise Conflict(
                    f"a {job.kind} job cannot be cancelled: nothing would queue it again"
                )
            if not rows.cancel_job(connection, job_id, self.database.clock()):
                raise Conflict(
                    f"job {job_id} is {job.state}; only queued or dead jobs can be cancelled"
                )

    def listed(self, state: JobState | None, kind: str | None, limit: int) -> list[Job]:
        """Jobs in the order in which they run or ran."""
        with self.database.read_all() as reading:
            return rows.list_jobs(reading.connection, state, kind, limit)

    def stats(self) -> list[JobStats]:
        with self.database.read_all() as view:
            counted = rows.count_jobs(view.connection)
            due = rows.due_jobs(view.connection, view.now)
        by_kind: dict[str, dict[JobState, int]] = {}
        for kind, state, count in counted:
            by_kind.setdefault(kind, {})[state] = count
        return [
            JobStats(
                kind=kind,
                lane=lane_of(kind),
                due=due[kind][0] if kind in due else 0,
                oldest_due_at=due[kind][1] if kind in due else None,
                **{state.value: counts.get(state, 0) for state in JobState},
            )
            for kind, counts in by_kind.items()
        ]

    def seconds_until_due(self, kinds: frozenset[str]) -> float | None:
        """Seconds until a job of these kinds is due; None when there is none."""
        with self.database.read_all() as reading:
            due = rows.next_due(reading.connection, kinds)
        if due is None:
            return None
        seconds: float = (due - self.database.clock()).total_seconds()
        return max(0.0, seconds)

    @retried
    def take_unsent(
        self, kinds: frozenset[str], resend_after: timedelta | None
    ) -> list[tuple[int, str]]:
        """Ids and kinds of jobs to send messages for; they count as sent from now on.

        ``resend_after`` includes those sent so long ago that still wait.
        """
        with self.database.transaction() as connection:
            now = self.database.clock()
            before = None if resend_after is None else now - resend_after
            return rows.take_unsent(connection, kinds, now, before, limits.MAX_WAKE_UPS_PER_SWEEP)

    @retried
    def note_unsent(self, job_ids: Sequence[int]) -> None:
        """Sending messages for these jobs failed."""
        with self.database.transaction() as connection:
            rows.note_unsent(connection, job_ids)

    @retried
    def trim(self) -> None:
        """Delete jobs that ended long ago, and reschedule those that a wrong clock has postponed
        for long."""
        now = self.database.clock()
        with self.database.transaction() as connection:
            rows.trim_finished(connection, now - timedelta(days=limits.FINISHED_JOB_DAYS))
            rows.repair_times(connection, now)
