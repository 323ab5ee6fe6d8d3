"""Upkeep: the daily round of each user, and everything else that keeps a store's memories clean."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.formation.conflicts import ModelJudge
from ricordo.formation.narrative import LEFT_OUT
from ricordo.formation.schedule import SUMMARY_JOB, plan_summary, plan_what_ends
from ricordo.formation.service import Formation
from ricordo.index import rebuild
from ricordo.memories.lifecycle import SYSTEM_ACTED, soft_delete
from ricordo.model.activity import UPKEEP_FORGOTTEN, UPKEEP_ROUNDS, NewJob, Report
from ricordo.model.embedding import VectorModel
from ricordo.model.group import is_person
from ricordo.model.item import is_valued
from ricordo.model.reports import ConsolidationReport, RoundReport
from ricordo.model.vocabulary import (
    ON_PURPOSE,
    Event,
    EventStatus,
    MemoryType,
    Status,
    VectorState,
)
from ricordo.providers.embedding_choice import test_embedder
from ricordo.recall.service import Recall
from ricordo.storage.activity import day_of, fold_tallies, put_events, tally, trim_events
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.idempotency import trim_answers
from ricordo.storage.items import find_items
from ricordo.storage.relations import trim_checked
from ricordo.storage.sql import Condition, Moment
from ricordo.storage.tables import history, item_index, items, links, threads
from ricordo.storage.upstream_ids import trim_ids
from ricordo.storage.users import UpkeepState, find_summary, note_upkeep, upkeep_state
from ricordo.upkeep.consolidation import Consolidation
from ricordo.upkeep.relations import prune_relations, refresh_relations
from ricordo.upkeep.schedule import (
    CONSOLIDATE_JOB,
    INSIGHTS_JOB,
    RELATE_JOB,
    UpkeepPolicy,
    ensure_planned,
    plan_rounds,
)

NODE: Final = "upkeep"
"""The node of upkeep events."""


def forget_unused(database: Database, policy: UpkeepPolicy, user_id: str, report: Report) -> int:
    """Soft-delete a user's unimportant memories that were not used for long; how many.

    Pinned and shared ones are kept, and what the user says helped. A recall, rating, change,
    verification, restore or import starts a new period.
    """
    before = database.clock() - policy.forget_after
    if not _has_regular_upkeep(database, user_id, before):
        return 0
    unused = _is_unused(policy, user_id, before)
    forgotten = 0
    seen: tuple[datetime, int] | None = None
    while page := _page_after(database, user_id, before, unused, seen):
        ids = [row.id for row in page if row.unused]
        seen = (page[-1].updated_at, page[-1].id)
        if ids:  # not interrupted before any progress: a new run starts from the beginning
            forgotten += _forget(database, policy, unused, user_id, ids)
            report(f"{forgotten} memories forgotten")
    return forgotten


@retried
def _has_regular_upkeep(database: Database, user_id: str, before: datetime) -> bool:
    """Whether upkeep has run for this user since then, without a long break.

    A store that was closed for months, or had a wrong clock, saw no recalls: its memories get a
    full period from now on.
    """
    with database.write(user_id) as writing:
        state = upkeep_state(writing.connection, user_id)
        pause = (writing.now - before) / 2
        if state.upkept_at is not None and writing.now - state.upkept_at > pause:
            note_upkeep(writing, tended_since=writing.now)
            return False
    return state.tended_since is None or state.tended_since <= before


def _page_after(
    database: Database,
    user_id: str,
    before: datetime,
    unused: Condition,
    seen: tuple[datetime, int] | None,
) -> Sequence[sa.Row[tuple[int, datetime, bool]]]:
    """The next memories that have not changed since then, to be forgotten or kept."""
    own = sa.and_(items.c.user_id == user_id, items.c.updated_at < before)
    if seen is not None:
        last = sa.tuple_(sa.literal(seen[0], Moment), sa.literal(seen[1], sa.BigInteger))
        own &= sa.tuple_(items.c.updated_at, items.c.id) > last
    wanted = (
        sa.select(items.c.id, items.c.updated_at, unused.label("unused"))
        .where(own)
        .order_by(items.c.updated_at, items.c.id)
        .limit(limits.SWEEP_BATCH_ITEMS)
    )
    with database.read(user_id) as view:
        return view.connection.execute(wanted).all()


@retried
def _forget(
    database: Database, policy: UpkeepPolicy, unused: Condition, user_id: str, ids: Sequence[int]
) -> int:
    """Soft-delete those that are still unused; how many."""
    reason = f"not recalled for {policy.forget_after.total_seconds() / 86_400:g} days"
    with database.write(user_id, touching=ids) as writing:
        found = find_items(writing.connection, sa.and_(items.c.id.in_(ids), unused))
        doomed = [item for item in found if not is_valued(item.ratings)]
        if doomed and find_summary(writing.connection, user_id) is not None:
            plan_summary(writing)  # deleted with its source, and written again
        for item in doomed:
            soft_delete(writing, item, Event.TTL, SYSTEM_ACTED, reason)
        tally(writing, {UPKEEP_FORGOTTEN: len(doomed)})
    return len(doomed)


def _is_unused(policy: UpkeepPolicy, user_id: str, before: datetime) -> Condition:
    explicit = items.c.source.in_([source.value for source in ON_PURPOSE])
    too_important = sa.case((explicit, policy.forget_explicit_below), else_=policy.forget_below)
    # A memory may be older than its import: its history says since when it is in this store.
    touched = sa.exists().where(
        history.c.user_id == items.c.user_id,
        history.c.item_id == items.c.id,
        history.c.at >= before,
    )
    shared = sa.exists().where(links.c.owner_id == items.c.user_id, links.c.item_id == items.c.id)
    # What was superseded marks the turn that it is from for as long as it is there.
    superseded = (items.c.status == Status.SUPERSEDED.value) & items.c.thread_id.is_(None)
    return sa.and_(
        items.c.user_id == user_id,
        sa.or_(items.c.status == Status.ACTIVE.value, superseded),
        sa.not_(items.c.pinned),
        items.c.importance < too_important,
        items.c.updated_at < before,
        _never_or_before(items.c.last_accessed_at, before),
        _never_or_before(items.c.last_verified_at, before),
        sa.not_(touched),
        sa.not_(shared),
    )


def _never_or_before(moment: sa.Column[datetime], before: datetime) -> Condition:
    return sa.or_(moment.is_(None), moment < before)


def trim(database: Database, policy: UpkeepPolicy, user_id: str, report: Report) -> int:
    """Delete a user's old events, pair records and cached answers, and fold old counters; the
    number of rows.

    All-time sums stay the same.
    """
    trimmed = gone = _trim_step(database, policy, user_id)
    while gone >= limits.TRIM_BATCH_ROWS:  # otherwise nothing exceeded its limit
        report(f"{trimmed} rows trimmed")
        gone = _trim_step(database, policy, user_id)
        trimmed += gone
    return trimmed


@retried
def _trim_step(database: Database, policy: UpkeepPolicy, user_id: str) -> int:
    most = limits.TRIM_BATCH_ROWS
    with database.write(user_id) as writing:
        now = writing.now
        oldest_day = day_of(now - timedelta(days=limits.COUNTER_DAYS))
        waiting = upkeep_state(writing.connection, user_id).pairs_wait_since
        # Kept while pairs wait, or the first ones would be compared again before the last.
        checked_before = min(now - timedelta(days=limits.CHECKED_PAIR_DAYS), waiting or now)
        return (
            trim_events(writing.connection, user_id, now - policy.event_life, most)
            + fold_tallies(writing, oldest_day, most)
            + trim_checked(writing.connection, user_id, checked_before, most)
            + trim_answers(writing.connection, user_id, now)
            + trim_ids(writing.connection, user_id, now)
        )


def run_round(
    database: Database,
    recall: Recall,
    policy: UpkeepPolicy,
    *,
    link_min: float,
    has_model: bool,
    user_id: str,
    report: Report,
) -> RoundReport:
    """Run one user's daily round.

    What many share (global memories, those of a group) is theirs to change: none of it is
    forgotten, merged or observed.

    Can stop between any two steps and be run again: the last step records in one transaction that
    the round is over, with the jobs it queues. Raises StorageError: the database failed; the round
    can be run again.
    """
    recall.accesses.flush()  # or recent recalls would count as unused
    forgotten = forget_unused(database, policy, user_id, report) if is_person(user_id) else 0
    trimmed = trim(database, policy, user_id, report)
    unrelated = prune_relations(database, link_min, user_id, report)
    report(f"{unrelated} relations cut")
    queued, problem = _queue_vectors(database, recall, user_id)
    report(f"{queued} vectors queued")
    done = RoundReport(
        forgotten=forgotten, trimmed=trimmed, unrelated=unrelated, vectors_asked=queued
    )
    return _finish(database, policy, user_id, done, problem, has_model=has_model)


def _queue_vectors(database: Database, recall: Recall, user_id: str) -> tuple[int, str | None]:
    """Queue vectors that are missing, failed or of another model; how many are waiting, and what is
    wrong with the user's settings, if anything."""
    with database.read(user_id) as view:
        chosen = recall.embedders.chosen(view.connection, user_id)
        if chosen.model is None:
            return 0, chosen.problem
        if not rebuild.count_missing(view.connection, user_id, chosen.model):
            return 0, None
    if chosen.embedder is not None and not chosen.embedder.is_local:
        # Existing vectors are not dropped for an embedder that does not answer.
        problem = test_embedder(chosen.embedder).problem
        if problem:
            return 0, problem
    return _backfill(database, user_id, chosen.model), None


@retried
def _backfill(database: Database, user_id: str, model: VectorModel) -> int:
    with database.write(user_id) as writing:
        return rebuild.backfill(writing, model).pending


@retried
def _finish(
    database: Database,
    policy: UpkeepPolicy,
    user_id: str,
    done: RoundReport,
    problem: str | None,
    *,
    has_model: bool,
) -> RoundReport:
    """Queue the remaining jobs and record the round, in one transaction."""
    with database.write(user_id) as writing:
        if writing.is_first:  # erased meanwhile
            return done
        plan_what_ends(writing)  # in case that job was lost or cancelled
        following = _following(writing, policy, has_model=has_model)
        for job in following:
            writing.enqueue(job)
        concluded = replace(done, queued=tuple(job.kind for job in following))
        note_upkeep(writing, upkept_at=writing.now)
        kinds = ", ".join(concluded.queued) or "nothing"
        detail = (
            f"{done.forgotten} forgotten, {done.trimmed} trimmed, {done.unrelated} unrelated,"
            f" {done.vectors_asked} vectors queued; queued: {kinds}"
        )
        happened = [] if problem is None else [_event("vectors", EventStatus.ERROR, problem)]
        put_events(writing, [*happened, _event("round", EventStatus.OK, detail)])
        tally(writing, {UPKEEP_ROUNDS: 1})
    return concluded


def _event(op: str, status: EventStatus, detail: str) -> dict[str, str]:
    return {"node": NODE, "op": op, "status": status.value, "detail": detail}


def _following(writing: WriteTransaction, policy: UpkeepPolicy, *, has_model: bool) -> list[NewJob]:
    """The longer jobs that are due for the user."""
    if not is_person(writing.user_id):
        return []
    state = upkeep_state(writing.connection, writing.user_id)
    due: dict[str, datetime] = {}
    if _is_narrative_behind(writing):
        due[SUMMARY_JOB] = writing.now
    if policy.daily_pairs and _is_consolidation_due(writing, state):
        due[CONSOLIDATE_JOB] = writing.now
    if has_model and policy.draws_insights and _is_anything_new(writing, state.insights_at):
        # At least a day after the last: a little after the round, which comes at the same time
        # every day. Waiting for the next round would make it every other day.
        due[INSIGHTS_JOB] = writing.now
        if state.insights_at is not None:
            next_day = state.insights_at + timedelta(hours=limits.INSIGHT_HOURS)
            due[INSIGHTS_JOB] = max(writing.now, next_day)
    if _are_relations_due(writing, state):
        due[RELATE_JOB] = writing.now
    return [
        NewJob(kind=kind, user_id=writing.user_id, run_at=run_at) for kind, run_at in due.items()
    ]


def _is_narrative_behind(writing: WriteTransaction) -> bool:
    """Whether a memory that the narrative may cover has changed since it was written."""
    stored = find_summary(writing.connection, writing.user_id)
    if stored is None or stored["revision"] >= writing.revision:
        return False
    excluded = sa.exists().where(
        items.c.user_id == history.c.user_id,
        items.c.id == history.c.item_id,
        items.c.type.in_([kind.value for kind in LEFT_OUT]),
    )
    changed = sa.exists().where(
        history.c.user_id == writing.user_id,
        history.c.revision > stored["revision"],
        sa.not_(excluded),
    )
    return writing.connection.execute(sa.select(changed)).scalar_one()


def _is_consolidation_due(writing: WriteTransaction, state: UpkeepState) -> bool:
    """Whether memories have changed since the last consolidation, or pairs were left."""
    active = sa.and_(items.c.user_id == writing.user_id, items.c.status == Status.ACTIVE.value)
    latest = sa.select(items.c.updated_at).where(active).order_by(items.c.updated_at.desc())
    moments = list(writing.connection.execute(latest.limit(2)).scalars())
    if len(moments) < 2:
        return False
    last = state.consolidated_at
    return last is None or moments[0] >= last or state.pairs_wait_since is not None


def _is_anything_new(writing: WriteTransaction, since: datetime | None) -> bool:
    """Whether anything was said, or remembered other than as an insight, since then."""
    said = threads.c.user_id == writing.user_id
    remembered = sa.and_(
        items.c.user_id == writing.user_id,
        items.c.status == Status.ACTIVE.value,
        items.c.type != MemoryType.INSIGHT.value,
    )
    if since is not None:
        said &= threads.c.updated_at > since
        remembered &= items.c.created_at > since
    new = sa.or_(sa.exists().where(said), sa.exists().where(remembered))
    return writing.connection.execute(sa.select(new)).scalar_one()


def _are_relations_due(writing: WriteTransaction, state: UpkeepState) -> bool:
    """Whether there are vectors, and the last pass was incomplete or a memory has changed since the
    last round."""
    due: sa.ColumnElement[bool] = sa.exists().where(
        item_index.c.user_id == writing.user_id, item_index.c.state == VectorState.READY.value
    )
    if state.upkept_at is not None and not state.related_after:
        due &= sa.exists().where(
            items.c.user_id == writing.user_id, items.c.updated_at >= state.upkept_at
        )
    return writing.connection.execute(sa.select(due)).scalar_one()


def _silently(_progress: str) -> None:
    pass


class Upkeep:
    """Upkeep of any user's memories. ``report`` receives progress, and may raise to stop."""

    def __init__(
        self,
        database: Database,
        recall: Recall,
        formation: Formation,
        policy: UpkeepPolicy,
        link_min: float,
    ) -> None:
        self.policy = policy
        self._database = database
        self._recall = recall
        self._formation = formation
        self._link_min = link_min
        judge = None if formation.model is None else ModelJudge(formation.model)
        self._consolidation = Consolidation(
            database, recall, formation.policy, policy, link_min, judge
        )

    def ensure_planned(self) -> None:
        """Queue the planning job, where upkeep is automatic."""
        if self.policy.is_automatic:
            ensure_planned(self._database)

    def plan_rounds(self, report: Report) -> None:
        plan_rounds(self._database, report)

    def run_round(self, user_id: str, report: Report = _silently) -> RoundReport:
        return run_round(
            self._database,
            self._recall,
            self.policy,
            link_min=self._link_min,
            has_model=self._formation.model is not None,
            user_id=user_id,
            report=report,
        )

    def consolidate(
        self, user_id: str, report: Report = _silently, *, dry_run: bool = False
    ) -> ConsolidationReport:
        """Compare one user's memories with each other. Raises LanguageModelError."""
        return self._consolidation.run(user_id, report, dry_run=dry_run)

    def draw_insights(self, user_id: str) -> None:
        """Draw insights for one user; none without a model, or where they are disabled.

        Raises:
            BudgetExhausted, ModelUnavailable: try again later.
        """
        if self._formation.model is not None and self.policy.draws_insights:
            from ricordo.upkeep.insights import draw_insights  # loads slowly

            draw_insights(
                self._database, self._recall, self._formation.policy, self._formation.model, user_id
            )

    def relate(self, user_id: str, report: Report) -> None:
        refresh_relations(self._database, self._recall, user_id, report)
