"""What each kind of job does. Every handler may run twice for one job without harm."""

import contextlib
from collections.abc import Callable, Mapping

from ricordo.errors import (
    BudgetExhausted,
    EmbeddingError,
    InvalidInput,
    StorageBusy,
    ThreadNotFound,
)
from ricordo.formation.consent.proposing import lapse_due
from ricordo.formation.forming import Formation
from ricordo.formation.narrative import renew_summary
from ricordo.formation.scheduling import (
    FORM_JOB,
    LAPSE_JOB,
    SUMMARY_JOB,
    SWEEP_JOB,
    plan_lapsing,
    sweep,
    wait_for_silence,
)
from ricordo.indexing.reindexing import REINDEX_JOB, reindex_as_asked
from ricordo.memories.erasing import SCRUB_JOB
from ricordo.memories.expiring import LIFECYCLE_JOB, expire_due, next_end, plan_lifecycle, purge_due
from ricordo.model.job import Job, Postpone
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, retried
from ricordo.storage.index_rows import EMBED_JOB

Handler = Callable[[Job], None]


def standard_handlers(
    database: Database, recall: Recall, formation: Formation
) -> Mapping[str, Handler]:
    """The handlers of the jobs that the store itself queues."""
    return {
        **_store_handlers(database, recall),
        **_formation_handlers(database, formation),
    }


def _formation_handlers(database: Database, formation: Formation) -> Mapping[str, Handler]:
    policy = formation.policy

    def form(job: Job) -> None:
        wait_for_silence(database, policy, job)
        # A conversation can be gone by now; whatever else is missing is worth an error.
        with contextlib.suppress(ThreadNotFound):
            formation.form(job.user_id, job.unique_key)

    def form_stale(_job: Job) -> None:
        sweep(database, policy)

    def summarise(job: Job) -> None:
        try:
            renew_summary(database, formation.model, job.user_id)
        except BudgetExhausted as problem:
            raise Postpone(problem.until, str(problem)) from None

    def lapse(job: Job) -> None:
        run_lapsing(database, job.user_id)

    return {FORM_JOB: form, SWEEP_JOB: form_stale, SUMMARY_JOB: summarise, LAPSE_JOB: lapse}


def _store_handlers(database: Database, recall: Recall) -> Mapping[str, Handler]:

    def lifecycle(job: Job) -> None:
        run_lifecycle(database, job.user_id)

    def scrub(_job: Job) -> None:
        with database.our_errors():
            finished = database.backend.scrub()
        if not finished:
            raise StorageBusy("another process is reading; the freed space is overwritten later")

    def embed(job: Job) -> None:
        try:
            recall.filling.fill(job.user_id)
        except (EmbeddingError, InvalidInput) as problem:
            if job.attempts >= job.max_attempts:
                recall.filling.give_up(job.user_id, problem)
            raise

    def renew_terms(job: Job) -> None:
        reindex_as_asked(database, job.payload)

    return {
        LIFECYCLE_JOB: lifecycle,
        SCRUB_JOB: scrub,
        EMBED_JOB: embed,
        REINDEX_JOB: renew_terms,
    }


def run_lifecycle(database: Database, user_id: str) -> None:
    """Expire and purge what is due for one user, in bounded steps, and plan the next time."""
    while _lifecycle_step(database, user_id):
        pass


@retried
def _lifecycle_step(database: Database, user_id: str) -> bool:
    with database.write(user_id) as writing:
        worked = expire_due(writing) + purge_due(writing)
        following = next_end(writing)
        if worked == 0 and following is not None:
            plan_lifecycle(writing, user_id, following)
    return worked > 0


@retried
def run_lapsing(database: Database, user_id: str) -> None:
    """Close one user's proposals that nobody has decided in time, and plan the next time."""
    with database.write(user_id) as writing:
        following = lapse_due(writing)
        if following is not None:
            plan_lapsing(writing, following)
