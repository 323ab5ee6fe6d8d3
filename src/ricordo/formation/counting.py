"""How much is remembered and how often what happened, from the counters of each day."""

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa

from ricordo.model.activity import (
    CONTEXTS_RECALLING,
    CONTEXTS_UNSURE,
    KNOWN_ALREADY,
    RECALLED_SHOWN,
    RECALLED_USED,
    TOKENS,
    Counters,
    decisions_counter,
    without_buckets,
)
from ricordo.model.vocabulary import Action
from ricordo.storage.daily_counters import day_of, totals
from ricordo.storage.database import Database
from ricordo.storage.tables import items
from ricordo.storage.where import active

_REPLACED = (Action.UPDATE, Action.REPLACE, Action.UNLINK)
_WRITTEN = (Action.ADD, *_REPLACED)


def counters_of(database: Database, user_id: str | None, days: int | None) -> Counters:
    """The counters of one user, or of all together, over the last days or over all time."""
    with database.read_all() if user_id is None else database.read(user_id) as view:
        since = None if days is None else day_of(view.now - timedelta(days=days - 1))
        counts = totals(view.connection, user_id, since)
        today = totals(view.connection, user_id, day_of(view.now))
        holding = active(view.now)
        if user_id is not None:
            holding &= items.c.user_id == user_id
        counted = sa.select(sa.func.count()).select_from(items).where(holding)
        total = view.connection.execute(counted).scalar_one()
    return counters_from(total, counts, today.get(TOKENS, 0))


def counters_from(memories: int, counts: Mapping[str, int], tokens_today: int) -> Counters:
    """The counters with their rates, from sums of what is counted by the day."""
    written = sum(counts.get(decisions_counter(action), 0) for action in _WRITTEN)
    replaced = sum(counts.get(decisions_counter(action), 0) for action in _REPLACED)
    known = counts.get(KNOWN_ALREADY, 0)
    return Counters(
        memory_total_count=memories,
        memory_replacement_rate=_share(replaced, written),
        memory_dedup_rate=_share(known, known + written),
        retrieval_hit_rate=_share(counts.get(RECALLED_USED, 0), counts.get(RECALLED_SHOWN, 0)),
        context_unsure_rate=_share(
            counts.get(CONTEXTS_UNSURE, 0), counts.get(CONTEXTS_RECALLING, 0)
        ),
        tokens_today=tokens_today,
        counts=without_buckets(counts),
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
