"""The job handlers. All are idempotent."""

import contextlib
from collections.abc import Callable, Iterator, Mapping

from ricordo.conversation.service import COMPACT_JOB, ConversationService
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
from ricordo.index.rebuild import REINDEX_JOB, run_reindex_job
from ricordo.jobs.runner import Handler, JobContext
from ricordo.jobs.webhooks import WebhookDeliveries
from ricordo.memories.lifecycle import (
    LIFECYCLE_JOB,
    SCRUB_JOB,
    expire_due,
    next_end,
    plan_lifecycle,
    purge_due,
)
from ricordo.model.activity import Postpone, Report
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, retried
from ricordo.storage.search_rows import EMBED_JOB
from ricordo.storage.webhooks import DELIVER_JOB, NOTE_JOB
from ricordo.upkeep.schedule import CONSOLIDATE_JOB, INSIGHTS_JOB, PLAN_JOB, RELATE_JOB, ROUND_JOB
from ricordo.upkeep.service import Upkeep


def standard_handlers(
    database: Database,
    recall: Recall,
    formation: Formation,
    upkeep: Upkeep,
    conversation: ConversationService,
    webhooks: WebhookDeliveries,
) -> Mapping[str, Handler]:
    """The handlers of the jobs that the store itself queues."""

    def scrub(_run: JobContext) -> None:
        with database.our_errors():
            finished = database.backend.scrub()
        if not finished:
            raise StorageBusy("another process is reading; the freed space is overwritten later")

    def embed(run: JobContext) -> None:
        try:
            recall.filling.fill(run.job.user_id, _progress(run, "vectors made"))
        except (EmbeddingError, InvalidInput) as problem:
            if _is_last_attempt(run):
                recall.filling.give_up(run.job.user_id, problem)
            raise

    def reindex(run: JobContext) -> None:
        tick = _progress(run, "texts indexed")
        run_reindex_job(database, recall.embedders, run.job.payload, tick)

    def form(run: JobContext) -> None:
        wait_for_silence(database, formation.policy, run.job)
        # The conversation may be deleted by now; any other missing thing is an error.
        with contextlib.suppress(ThreadNotFound):
            formation.form(run.job.user_id, run.job.unique_key)

    def summarise(run: JobContext) -> None:
        with _postponed_without_budget():
            renew_summary(database, formation.model, run.job.user_id)

    def insights(run: JobContext) -> None:
        with _postponed_without_budget():
            upkeep.draw_insights(run.job.user_id)

    def compact(run: JobContext) -> None:
        thread_id = run.job.unique_key
        is_last = _is_last_attempt(run)
        conversation.compact_full(run.job.user_id, thread_id, run.report, is_last_attempt=is_last)

    handlers: dict[str, Handler] = {
        LIFECYCLE_JOB: lambda run: run_lifecycle(database, run.job.user_id, run.report),
        SCRUB_JOB: scrub,
        EMBED_JOB: embed,
        REINDEX_JOB: reindex,
        FORM_JOB: form,
        SWEEP_JOB: lambda _run: sweep(database, formation.policy),
        SUMMARY_JOB: summarise,
        LAPSE_JOB: lambda run: run_lapsing(database, run.job.user_id),
        CONSOLIDATE_JOB: lambda run: upkeep.consolidate(run.job.user_id, run.report),
        INSIGHTS_JOB: insights,
        RELATE_JOB: lambda run: upkeep.relate(run.job.user_id, run.report),
        COMPACT_JOB: compact,
        NOTE_JOB: webhooks.note,
        DELIVER_JOB: webhooks.deliver,
    }
    if upkeep.policy.is_automatic:  # otherwise another process with a model may do it
        handlers[PLAN_JOB] = lambda run: upkeep.plan_rounds(run.report)
        handlers[ROUND_JOB] = lambda run: upkeep.run_round(run.job.user_id, run.report)
    return handlers


def _is_last_attempt(run: JobContext) -> bool:
    return run.job.attempts >= run.job.max_attempts


@contextlib.contextmanager
def _postponed_without_budget() -> Iterator[None]:
    """Postpone the job until there are tokens again."""
    try:
        yield
    except BudgetExhausted as problem:
        raise Postpone(problem.until, str(problem)) from None


def _progress(run: JobContext, what: str) -> Callable[[int], None]:
    """A callback that sums up and reports progress."""
    total = 0

    def tick(count: int) -> None:
        nonlocal total
        total += count
        run.report(f"{total} {what}")

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
