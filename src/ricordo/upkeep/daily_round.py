"""The daily round of one user: what is quick is done at once, the rest is left to jobs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.formation.narrative import LEFT_OUT
from ricordo.formation.schedule import SUMMARY_JOB, plan_summary, plan_what_ends
from ricordo.index import rebuild
from ricordo.memories.lifecycle import SYSTEM_ACTED, soft_delete
from ricordo.model.activity import UPKEEP_FORGOTTEN, UPKEEP_ROUNDS
from ricordo.model.embedding import VectorModel
from ricordo.model.job import NewJob, Report
from ricordo.model.reports import RoundReport
from ricordo.model.vocabulary import (
    GLOBAL_OWNER,
    ON_PURPOSE,
    Event,
    EventStatus,
    MemoryType,
    Status,
    VectorState,
)
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import test_embedder
from ricordo.recall.service import Recall
from ricordo.storage.columns import Moment
from ricordo.storage.daily_counters import day_of, fold_tallies, tally
from ricordo.storage.database import Database, retried
from ricordo.storage.history import put_events, trim_events
from ricordo.storage.idempotency import trim_answers
from ricordo.storage.items import find_items
from ricordo.storage.tables import checked_pairs, history, item_index, items, links, threads
from ricordo.storage.themes import find_summary
from ricordo.storage.transaction import WriteTransaction
from ricordo.storage.users import UpkeepState, note_upkeep, upkeep_state
from ricordo.storage.where import Condition
from ricordo.upkeep.relations import prune_relations
from ricordo.upkeep.schedule import CONSOLIDATE_JOB, INSIGHTS_JOB, RELATE_JOB, UpkeepPolicy

_FORGETTABLE: Final = (Status.ACTIVE.value, Status.SUPERSEDED.value)


def forget_unused(database: Database, policy: UpkeepPolicy, user_id: str, report: Report) -> int:
    """Soft-delete a user's own memories that matter little and were not used for long; how many.

    Nothing pinned or shared is touched. What was recalled, changed or verified in the meantime has
    a full new period, and so has what was brought back or came with an import.
    """
    before = database.clock() - policy.forget_after
    if not _is_tended_since(database, user_id, before):
        return 0
    unused = _is_unused(policy, user_id, before)
    forgotten = 0
    seen: tuple[datetime, int] | None = None
    while page := _page_after(database, user_id, before, unused, seen):
        ids = [row.id for row in page if row.unused]
        seen = (page[-1].updated_at, page[-1].id)
        if ids:  # no end without progress: whoever takes this up again starts from the beginning
            forgotten += _forget(database, policy, unused, user_id, ids)
            report(f"{forgotten} memories forgotten")
    return forgotten


@retried
def _is_tended_since(database: Database, user_id: str, before: datetime) -> bool:
    """Whether somebody has looked after this user's memories since then, without a long break.

    A store that was closed for months, or whose clock was wrong, saw no recalls either: what is in
    it gets a full period from now on.
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
    """The next memories that have not changed since then, whether they are to go or to stay."""
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
    """Soft-delete those of the memories that are still unused; how many."""
    reason = f"not recalled for {policy.forget_after.total_seconds() / 86_400:g} days"
    with database.write(user_id, touching=ids) as writing:
        doomed = find_items(writing.connection, sa.and_(items.c.id.in_(ids), unused))
        if doomed and find_summary(writing.connection, user_id) is not None:
            plan_summary(writing)  # it goes with what it may tell of, and is told anew
        for item in doomed:
            soft_delete(writing, item, Event.TTL, SYSTEM_ACTED, reason)
        tally(writing, {UPKEEP_FORGOTTEN: len(doomed)})
    return len(doomed)


def _is_unused(policy: UpkeepPolicy, user_id: str, before: datetime) -> Condition:
    explicit = items.c.source.in_([source.value for source in ON_PURPOSE])
    too_important = sa.case((explicit, policy.forget_explicit_below), else_=policy.forget_below)
    # A memory may be older than its place in this store: its history tells since when it is here.
    touched = sa.exists().where(
        history.c.user_id == items.c.user_id,
        history.c.item_id == items.c.id,
        history.c.at >= before,
    )
    shared = sa.exists().where(links.c.owner_id == items.c.user_id, links.c.item_id == items.c.id)
    return sa.and_(
        items.c.user_id == user_id,
        items.c.status.in_(_FORGETTABLE),
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
    """Remove a user's old events, notes of pairs and kept answers, and put old counters together;
    how many rows.

    Sums of counters over all time stay as they are.
    """
    trimmed = gone = _trim_step(database, policy, user_id)
    while gone >= limits.TRIM_BATCH_ROWS:  # or else there was room for all of each kind
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
        # Kept while pairs wait, or those looked at first would come again before the last.
        checked_before = min(now - timedelta(days=limits.CHECKED_PAIR_DAYS), waiting or now)
        return (
            trim_events(writing.connection, user_id, now - policy.event_life, most)
            + fold_tallies(writing, oldest_day, most)
            + _trim_pairs(writing.connection, user_id, checked_before, most)
            + trim_answers(writing.connection, user_id, now)
        )


def _trim_pairs(connection: sa.Connection, user_id: str, before: datetime, limit: int) -> int:
    own = checked_pairs.c.user_id == user_id
    pair = (checked_pairs.c.low_id, checked_pairs.c.high_id)
    oldest = (
        sa.select(*pair)
        .where(own, checked_pairs.c.checked_at < before)
        .order_by(checked_pairs.c.checked_at)
        .limit(limit)
    )
    gone = sa.delete(checked_pairs).where(own, sa.tuple_(*pair).in_(oldest))
    return connection.execute(gone).rowcount


# It can stop between any two steps and be run again: what is done stays done, and the last step
# notes in one transaction that the round is over, together with the jobs that it queues.

NODE: Final = "upkeep"
"""What events of upkeep are noted under."""


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
    """Look after one user's memory; what was done.

    Global memories are the operator's: nothing of them is forgotten, changed or observed.

    Raises:
        StorageError: the database could not do it; the round can be run again.
    """
    is_operators = user_id == GLOBAL_OWNER
    recall.accesses.flush()  # or what was just recalled would look unused
    forgotten = 0 if is_operators else forget_unused(database, policy, user_id, report)
    trimmed = trim(database, policy, user_id, report)
    unrelated = prune_relations(database, link_min, user_id, report)
    report(f"{unrelated} relations cut")
    asked, problem = _ask_for_vectors(database, recall, user_id)
    report(f"{asked} vectors asked for")
    done = RoundReport(
        forgotten=forgotten, trimmed=trimmed, unrelated=unrelated, vectors_asked=asked
    )
    return _conclude(database, policy, user_id, done, problem, has_model=has_model)


def _ask_for_vectors(database: Database, recall: Recall, user_id: str) -> tuple[int, str | None]:
    """Ask for vectors that are missing, failed or of another model; how many wait now, and what
    is wrong where the user's settings cannot be used."""
    with database.read(user_id) as view:
        chosen = recall.embedders.chosen(view.connection, user_id)
        if chosen.model is None:
            return 0, chosen.problem
        if not rebuild.count_missing(view.connection, user_id, chosen.model):
            return 0, None
    problem = _tried(chosen.embedder)
    return (0, problem) if problem else (_backfill(database, user_id, chosen.model), None)


def _tried(embedder: Embedder | None) -> str | None:
    """What is wrong with an embedder. Vectors of another model are not thrown away for one that
    does not answer."""
    return None if embedder is None or embedder.is_local else test_embedder(embedder).problem


@retried
def _backfill(database: Database, user_id: str, model: VectorModel) -> int:
    with database.write(user_id) as writing:
        return rebuild.backfill(writing, model).pending


@retried
def _conclude(
    database: Database,
    policy: UpkeepPolicy,
    user_id: str,
    done: RoundReport,
    problem: str | None,
    *,
    has_model: bool,
) -> RoundReport:
    """Queue what is left to jobs and note that the round is over, all or nothing."""
    with database.write(user_id) as writing:
        if writing.is_first:  # erased meanwhile: there is nobody to look after
            return done
        plan_what_ends(writing)  # should that job have been lost or cancelled
        following = _following(writing, policy, has_model=has_model)
        for job in following:
            writing.enqueue(job)
        concluded = replace(done, queued=tuple(job.kind for job in following))
        note_upkeep(writing, upkept_at=writing.now)
        put_events(writing, _events(concluded, problem))
        tally(writing, {UPKEEP_ROUNDS: 1})
    return concluded


def _events(done: RoundReport, problem: str | None) -> list[dict[str, str]]:
    detail = (
        f"{done.forgotten} forgotten, {done.trimmed} trimmed, {done.unrelated} unrelated,"
        f" {done.vectors_asked} vectors asked for; queued: {', '.join(done.queued) or 'nothing'}"
    )
    happened = [_event("round", EventStatus.OK, detail)]
    if problem is not None:
        happened.insert(0, _event("vectors", EventStatus.ERROR, problem))
    return happened


def _event(op: str, status: EventStatus, detail: str) -> dict[str, str]:
    return {"node": NODE, "op": op, "status": status.value, "detail": detail}


def _following(writing: WriteTransaction, policy: UpkeepPolicy, *, has_model: bool) -> list[NewJob]:
    """What takes longer and is due for the writing user."""
    if writing.user_id == GLOBAL_OWNER:
        return []
    state = upkeep_state(writing.connection, writing.user_id)
    due: dict[str, datetime] = {}
    if _is_narrative_behind(writing):
        due[SUMMARY_JOB] = writing.now
    if policy.daily_pairs and _is_consolidation_due(writing, state):
        due[CONSOLIDATE_JOB] = writing.now
    if has_model and policy.draws_insights and _is_anything_new(writing, state.insights_at):
        due[INSIGHTS_JOB] = _next_insights(writing, state)
    if _are_relations_due(writing, state):
        due[RELATE_JOB] = writing.now
    return [
        NewJob(kind=kind, user_id=writing.user_id, run_at=run_at, unique_key="", payload={})
        for kind, run_at in due.items()
    ]


def _is_narrative_behind(writing: WriteTransaction) -> bool:
    """Whether anything has happened since to a memory that a narrative may tell of."""
    stored = find_summary(writing.connection, writing.user_id)
    if stored is None or stored["revision"] >= writing.revision:
        return False
    untold = sa.exists().where(
        items.c.user_id == history.c.user_id,
        items.c.id == history.c.item_id,
        items.c.type.in_([kind.value for kind in LEFT_OUT]),
    )
    told = sa.exists().where(
        history.c.user_id == writing.user_id,
        history.c.revision > stored["revision"],
        sa.not_(untold),
    )
    return writing.connection.execute(sa.select(told)).scalar_one()


def _is_consolidation_due(writing: WriteTransaction, state: UpkeepState) -> bool:
    """Whether there are memories to hold against each other, and any has changed since the last
    time, or pairs were left then."""
    active = sa.and_(items.c.user_id == writing.user_id, items.c.status == Status.ACTIVE.value)
    latest = sa.select(items.c.updated_at).where(active).order_by(items.c.updated_at.desc())
    moments = list(writing.connection.execute(latest.limit(2)).scalars())
    if len(moments) < 2:
        return False
    last = state.consolidated_at
    return last is None or moments[0] >= last or state.pairs_wait_since is not None


def _is_anything_new(writing: WriteTransaction, since: datetime | None) -> bool:
    """Whether anything was said, or remembered other than by looking at it, since then."""
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


def _next_insights(writing: WriteTransaction, state: UpkeepState) -> datetime:
    """Not before a day has passed. That can be a little later than the round, which comes every
    day at the same time; waiting for the next one would make it every other day."""
    if state.insights_at is None:
        return writing.now
    return max(writing.now, state.insights_at + timedelta(hours=limits.INSIGHT_HOURS))


def _are_relations_due(writing: WriteTransaction, state: UpkeepState) -> bool:
    """Whether there are vectors, and the last walk over them was not the last or any memory has
    changed since the last round."""
    due: sa.ColumnElement[bool] = sa.exists().where(
        item_index.c.user_id == writing.user_id, item_index.c.state == VectorState.READY.value
    )
    if state.upkept_at is not None and not state.related_after:
        due &= sa.exists().where(
            items.c.user_id == writing.user_id, items.c.updated_at >= state.upkept_at
        )
    return writing.connection.execute(sa.select(due)).scalar_one()
