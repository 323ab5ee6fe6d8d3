"""Background work: ``jobs`` and what can be done with them."""

from typing import Annotated

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.options import Limit, Store, completing, words
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import open_store
from ricordo.cli.shapes import JobCancelled, JobRetried, JobsRun
from ricordo.model.vocabulary import JobState

State = Annotated[
    str | None,
    typer.Option(
        metavar="STATE",
        help=f"Only those: {words(JobState)}.",
        autocompletion=completing(JobState),
    ),
]
Kind = Annotated[str | None, typer.Option(metavar="KIND", help="Only those of this kind.")]
JobId = Annotated[int, typer.Argument(metavar="ID", help="Number of the job.")]
JobLimit = Annotated[
    int,
    typer.Option(
        "--limit", metavar="N", help=f"How many at most (1 to {limits.MAX_JOBS_PER_RUN})."
    ),
]


def list_jobs(
    *,
    state: State = None,
    kind: Kind = None,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    store: Store,
) -> None:
    """List background jobs in the order in which they run or ran."""
    with open_store(store) as memory:
        jobs = memory.jobs(state=state, kind=kind, limit=limit)
    answer(store.as_json, jobs, tables.job_table)


def run_jobs(*, limit: JobLimit = limits.MAX_JOBS_PER_RUN, store: Store) -> None:
    """Run the jobs that are due now."""
    with open_store(store) as memory, working("Running jobs", wanted=not store.as_json):
        count = memory.run_jobs(limit=limit)
    answer(store.as_json, JobsRun(ran=count), lambda _: f"Jobs run: {count}.")


def retry_job(*, job_id: JobId, store: Store) -> None:
    """Give a dead job a fresh set of attempts."""
    with open_store(store) as memory:
        memory.retry_job(job_id)
    done = JobRetried(retried=job_id)
    answer(store.as_json, done, lambda _: f"Job {job_id} is queued again.")


def cancel_job(*, job_id: JobId, store: Store) -> None:
    """Take a job out of the queue that waits, or is dead."""
    with open_store(store) as memory:
        memory.cancel_job(job_id)
    done = JobCancelled(cancelled=job_id)
    answer(store.as_json, done, lambda _: f"Job {job_id} is cancelled.")


def job_stats(*, store: Store) -> None:
    """Count the jobs of each kind that wait, run, are done, dead or cancelled."""
    with open_store(store) as memory:
        stats = memory.job_stats()
    answer(store.as_json, stats, tables.job_stats_table)
