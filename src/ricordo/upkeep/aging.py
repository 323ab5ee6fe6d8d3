"""Forgetting what is not used: soft-deleted first, so that it can be brought back for a while."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.formation.schedule import plan_summary
from ricordo.memories.lifecycle import SYSTEM_ACTED, soft_delete
from ricordo.model.activity import UPKEEP_FORGOTTEN
from ricordo.model.job import Report
from ricordo.model.vocabulary import ON_PURPOSE, Event, Status
from ricordo.storage.columns import Moment
from ricordo.storage.daily_counters import tally
from ricordo.storage.database import Database, retried
from ricordo.storage.items import find_items
from ricordo.storage.tables import history, items, links
from ricordo.storage.themes import find_summary
from ricordo.storage.users import note_upkeep, upkeep_state
from ricordo.storage.where import Condition
from ricordo.upkeep.policy import UpkeepPolicy

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
