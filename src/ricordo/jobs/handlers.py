"""The job handlers. All are idempotent."""

import contextlib
from collections.abc import Callable, Mapping

from ricordo.conversation.compaction import COMPACT_JOB
from ricordo.conversation.service import ConversationService
from ricordo.errors import (
    BudgetExhausted,
    EmbeddingError,
    InvalidInput,
    StorageBusy,
    ThreadNotFound,
)
from ricordo.formation.narrative import renew_summary
from ricordo.formation.proposals import lapse_due
from ricordo.formation.schedule import (
    FORM_JOB,
    LAPSE_JOB,
    SUMMARY_JOB,
    SWEEP_JOB,
    plan_lapsing,
    sweep,
    wait_for_silence,
)
from ricordo.formation.service import Formation
from ricordo.index.rebuild import REINDEX_JOB, reindex_as_asked
from ricordo.jobs.runner import Handler, JobContext
from ricordo.memories.erasure import SCRUB_JOB
from ricordo.memories.lifecycle import (
    LIFECYCLE_JOB,
    expire_due,
    next_end,
    plan_lifecycle,
    purge_due,
)
from ricordo.model.job import Postpone, Report
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, retried
from ricordo.storage.search_rows import EMBED_JOB
from ricordo.upkeep.schedule import CONSOLIDATE_JOB, INSIGHTS_JOB, PLAN_JOB, RELATE_JOB, ROUND_JOB
from ricordo.upkeep.service import Upkeep


def standard_handlers(
    database: Database,
    recall: Recall,
    formation: Formation,
    upkeep: Upkeep,
    conversation: ConversationService,
) -> Mapping[str, Handler]:
    """The handlers of the jobs that the store itself queues."""
    return {
        **_store_handlers(database, recall),
        **_formation_handlers(database, formation),
        **_upkeep_handlers(upkeep),
        **_conversation_handlers(conversation),
    }


def _conversation_handlers(conversation: ConversationService) -> Mapping[str, Handler]:

    def compact(job_context: JobContext) -> None:
        job = job_context.job
        is_last = job.attempts >= job.max_attempts
        conversation.compact_full(
            job.user_id, job.unique_key, job_context.report, is_last_attempt=is_last
        )

    return {COMPACT_JOB: compact}


def _upkeep_handlers(upkeep: Upkeep) -> Mapping[str, Handler]:

    def plan(job_context: JobContext) -> None:
        upkeep.plan_rounds(job_context.report)

    def daily_round(job_context: JobContext) -> None:
        upkeep.run_round(job_context.job.user_id, job_context.report)

    def consolidate(job_context: JobContext) -> None:
        upkeep.consolidate(job_context.job.user_id, job_context.report)

    def insights(job_context: JobContext) -> None:
        try:
            upkeep.draw_insights(job_context.job.user_id)
        except BudgetExhausted as problem:
            raise Postpone(problem.until, str(problem)) from None

    def relate(job_context: JobContext) -> None:
        upkeep.relate(job_context.job.user_id, job_context.report)

    on_demand = {CONSOLIDATE_JOB: consolidate, INSIGHTS_JOB: insights, RELATE_JOB: relate}
    if not upkeep.policy.is_automatic:  # another process with a model may do it
        return on_demand
    return {PLAN_JOB: plan, ROUND_JOB: daily_round, **on_demand}


def _formation_handlers(database: Database, formation: Formation) -> Mapping[str, Handler]:
    policy = formation.policy

    def form(job_context: JobContext) -> None:
        job = job_context.job
        wait_for_silence(database, policy, job)
        # The conversation may be deleted by now; any other missing thing is an error.
        with contextlib.suppress(ThreadNotFound):
            formation.form(job.user_id, job.unique_key)

    def form_stale(_context: JobContext) -> None:
        sweep(database, policy)

    def summarise(job_context: JobContext) -> None:
        try:
            renew_summary(database, formation.model, job_context.job.user_id)
        except BudgetExhausted as problem:
            raise Postpone(problem.until, str(problem)) from None

    def lapse(job_context: JobContext) -> None:
        run_lapsing(database, job_context.job.user_id)

    return {FORM_JOB: form, SWEEP_JOB: form_stale, SUMMARY_JOB: summarise, LAPSE_JOB: lapse}


def _store_handlers(database: Database, recall: Recall) -> Mapping[str, Handler]:

    def lifecycle(job_context: JobContext) -> None:
        run_lifecycle(database, job_context.job.user_id, job_context.report)

    def scrub(_context: JobContext) -> None:
        with database.our_errors():
            finished = database.backend.scrub()
        if not finished:
            raise StorageBusy("another process is reading; the freed space is overwritten later")

    def embed(job_context: JobContext) -> None:
        job = job_context.job
        try:
            recall.filling.fill(job.user_id, _progress(job_context, "vectors made"))
        except (EmbeddingError, InvalidInput) as problem:
            if job.attempts >= job.max_attempts:
                recall.filling.give_up(job.user_id, problem)
            raise

    def renew_terms(job_context: JobContext) -> None:
        reindex_as_asked(database, job_context.job.payload, _progress(job_context, "texts indexed"))

    return {LIFECYCLE_JOB: lifecycle, SCRUB_JOB: scrub, EMBED_JOB: embed, REINDEX_JOB: renew_terms}


def _progress(job_context: JobContext, what: str) -> Callable[[int], None]:
    """A callback that sums up and reports progress."""
    total = 0

    def tick(count: int) -> None:
        nonlocal total
        total += count
        job_context.report(f"{total} {what}")

    return tick


def run_lifecycle(database: Database, user_id: str, report: Report) -> None:
    """Expire and purge what is due for one user, in bounded steps, and queue the next run."""
    ended = 0
    while worked := _lifecycle_step(database, user_id):
        ended += worked
        report(f"{ended} memories ended")


@retried
def _lifecycle_step(database: Database, user_id: str) -> int:
    with database.write(user_id) as writing:
        worked = expire_due(writing) + purge_due(writing)
        following = next_end(writing)
        if worked == 0 and following is not None:
            plan_lifecycle(writing, user_id, following)
    return worked


@retried
def run_lapsing(database: Database, user_id: str) -> None:
    """Expire one user's undecided proposals, and queue the next run."""
    with database.write(user_id) as writing:
        following = lapse_due(writing)
        if following is not None:
            plan_lapsing(writing, following)
