"""How many memories there are and what happened each day, from the daily counters."""

from collections.abc import Mapping
from datetime import UTC, timedelta

import sqlalchemy as sa

from ricordo.model.activity import (
    BUCKETS,
    COMPLETION_TOKENS,
    CONTEXTS_RECALLING,
    CONTEXTS_UNSURE,
    KNOWN_ALREADY,
    MODEL_CALLS,
    PROMPT_TOKENS,
    RECALLED_SHOWN,
    RECALLED_USED,
    TOKENS,
    Counters,
    DayActivity,
    decisions_counter,
    percentile_ms,
    recalls_in,
    without_buckets,
)
from ricordo.model.vocabulary import Action
from ricordo.storage.activity import daily_totals, day_of, totals
from ricordo.storage.database import Database
from ricordo.storage.items import memories_by_day
from ricordo.storage.tables import items
from ricordo.storage.where import active

_REPLACED = (Action.UPDATE, Action.REPLACE, Action.UNLINK)
_WRITTEN = (Action.ADD, *_REPLACED)

_DECISIONS = {action.value: decisions_counter(action) for action in Action}
_COUNTED = (MODEL_CALLS, PROMPT_TOKENS, COMPLETION_TOKENS, *_DECISIONS.values(), *BUCKETS)


def counters_of(database: Database, user_id: str | None, days: int | None) -> Counters:
    """The counters of one user, or of all users, over the last days or all time."""
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
    """The counters and their rates, from daily sums."""
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


def daily_of(database: Database, user_id: str | None, days: int) -> tuple[DayActivity, ...]:
    """The last days of one user, or of all users; today (UTC) is last."""
    with database.read_all() if user_id is None else database.read(user_id) as view:
        today = view.now.astimezone(UTC).date()
        dates = [(today - timedelta(days=days - 1 - past)).isoformat() for past in range(days)]
        counts = daily_totals(view.connection, user_id, dates[0], dates[-1], _COUNTED)
        added = memories_by_day(view.connection, user_id, dates)
    return tuple(_day(one, added.get(one, 0), counts.get(one, {})) for one in dates)


def _day(day: str, added: int, counts: Mapping[str, int]) -> DayActivity:
    return DayActivity(
        day=day,
        memories_added=added,
        decisions={action: counts.get(name, 0) for action, name in _DECISIONS.items()},
        model_calls=counts.get(MODEL_CALLS, 0),
        prompt_tokens=counts.get(PROMPT_TOKENS, 0),
        completion_tokens=counts.get(COMPLETION_TOKENS, 0),
        recalls=recalls_in(counts),
        recall_p50_ms=_rounded(percentile_ms(counts, 0.5)),
        recall_p95_ms=_rounded(percentile_ms(counts, 0.95)),
    )


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 2)
