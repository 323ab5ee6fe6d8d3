"""What happened on each of the last days, from the counters and from when memories were made."""

from collections.abc import Mapping
from datetime import UTC, timedelta

from ricordo.model.activity import (
    BUCKETS,
    COMPLETION_TOKENS,
    MODEL_CALLS,
    PROMPT_TOKENS,
    DayActivity,
    decisions_counter,
    percentile_ms,
    recalls_in,
)
from ricordo.model.vocabulary import Action
from ricordo.storage.daily_counters import daily_totals
from ricordo.storage.database import Database
from ricordo.storage.items import memories_by_day

_DECISIONS = {action.value: decisions_counter(action) for action in Action}
_COUNTED = (MODEL_CALLS, PROMPT_TOKENS, COMPLETION_TOKENS, *_DECISIONS.values(), *BUCKETS)


def daily_of(database: Database, user_id: str | None, days: int) -> tuple[DayActivity, ...]:
    """The last days of one user, or of all together: every one of them, today (UTC) last."""
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
