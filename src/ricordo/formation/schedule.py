"""When conversations are formed: jobs queued in the transaction that causes them."""

from datetime import datetime, timedelta
from typing import Final

from ricordo.frozen import dataclass
from ricordo.limits import MAX_THREADS_PER_SWEEP
from ricordo.memories.lifecycle import next_end, plan_lifecycle
from ricordo.model.activity import STORE_JOB_USER, Job, NewJob, Postpone
from ricordo.model.group import is_person
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.formation import (
    end_others,
    next_lapse,
    note_observed,
    observed_and_behind,
    state_of,
)
from ricordo.storage.jobs import put_job

FORM_JOB: Final = "form"
SWEEP_JOB: Final = "form-stale"
SUMMARY_JOB: Final = "summarise"
LAPSE_JOB: Final = "lapse-proposals"
_LONGEST_DELAYS: Final = 6  # that a conversation without pauses waits


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationPolicy:
    """When conversations are formed, what needs consent, and what counts as known already.

    ``redundant_min`` and ``judge_min`` are similarities: from the first on a statement counts as
    known unless something speaks against it; below the second two are unrelated.
    """

    is_automatic: bool
    delay: timedelta
    stale_after: timedelta
    daily_writes: int
    sensitive_fields: frozenset[str]
    proposal_life: timedelta
    corroborating_signals: int
    redundant_min: float
    judge_min: float


def plan_after_turns(
    writing: WriteTransaction, policy: FormationPolicy, thread_id: str, *, is_new_thread: bool
) -> None:
    """Queue the forming of a conversation that has new turns.

    Formation waits for a pause. A new conversation is also a sign that those before it are over:
    they wait no longer. What is left of them for another reason, such as a budget, is not hurried.
    """
    if not policy.is_automatic or not is_person(writing.user_id):
        return
    note_observed(writing, thread_id)
    plan_forming(writing, thread_id, writing.now + policy.delay)
    if is_new_thread:
        for other in end_others(writing, thread_id, writing.now - policy.delay):
            plan_forming(writing, other, writing.now)
    writing.enqueue(_sweep_at(writing.now + policy.stale_after))


def plan_forming(writing: WriteTransaction, thread_id: str, when: datetime) -> None:
    writing.enqueue(_forming(writing.user_id, thread_id, when))


def plan_summary(writing: WriteTransaction) -> None:
    writing.enqueue(NewJob(kind=SUMMARY_JOB, user_id=writing.user_id, run_at=writing.now))


def plan_lapsing(writing: WriteTransaction, when: datetime) -> None:
    writing.enqueue(NewJob(kind=LAPSE_JOB, user_id=writing.user_id, run_at=when))


def plan_what_ends(writing: WriteTransaction) -> None:
    """Queue the jobs for the writing user's next memory and next proposal to expire."""
    next_expiry = next_end(writing)
    if next_expiry is not None:
        plan_lifecycle(writing, writing.user_id, next_expiry)
    lapses_at = next_lapse(writing.connection, writing.user_id)
    if lapses_at is not None:
        plan_lapsing(writing, lapses_at)


def wait_for_silence(database: Database, policy: FormationPolicy, job: Job) -> None:
    """Postpone a conversation that is still going on, within limits. Raises Postpone: something was
    said a moment ago."""
    with database.read(job.user_id) as view:
        state = state_of(view.connection, job.user_id, job.unique_key)
        now = view.now
    if state is None or state.observed_at is None:
        return
    silent_at = state.observed_at + policy.delay
    longest = _LONGEST_DELAYS * policy.delay
    until = min(silent_at, job.created_at + longest)
    # A time far in the future comes from a wrong clock.
    if now < until <= now + longest:
        raise Postpone(until, "the conversation goes on")


@retried
def sweep(database: Database, policy: FormationPolicy) -> int:
    """Queue the forming of conversations that have long been silent; returns how many.

    Conversations with a job of their own are skipped: it has its own retries. The sweep runs again
    as long as anything is unformed, because that job may die.
    """
    with database.transaction() as connection:
        now = database.clock()
        behind = observed_and_behind(connection, 1)
        left = observed_and_behind(connection, MAX_THREADS_PER_SWEEP, without_job=FORM_JOB)
        stale = [
            state
            for state in left
            if state.observed_at is not None and state.observed_at <= now - policy.stale_after
        ]
        for state in stale:
            job = _forming(state.user_id, state.thread_id, now)
            put_job(database.backend, connection, job, now)
        if behind:
            following = _next_sweep(now, policy.stale_after, behind[0].observed_at)
            put_job(database.backend, connection, _sweep_at(following), now)
    if behind:
        database.on_job_queued()
    return len(stale)


def _next_sweep(now: datetime, stale_after: timedelta, longest_silent: datetime | None) -> datetime:
    """When the next conversation will have been silent long enough; never at once."""
    earliest = now + stale_after / 6
    return earliest if longest_silent is None else max(earliest, longest_silent + stale_after)


def _forming(user_id: str, thread_id: str, when: datetime) -> NewJob:
    return NewJob(kind=FORM_JOB, user_id=user_id, run_at=when, unique_key=thread_id)


def _sweep_at(when: datetime) -> NewJob:
    return NewJob(kind=SWEEP_JOB, user_id=STORE_JOB_USER, run_at=when)
