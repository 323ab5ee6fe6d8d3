"""The settings that upkeep depends on."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPolicy:
    """How long what is kept, and how much work a user's day may cost.

    What is not recalled for ``forget_after`` and matters less than ``forget_below`` is forgotten;
    what was put there on purpose only where it matters less than ``forget_explicit_below``.
    """

    is_automatic: bool
    forget_after: timedelta
    forget_below: int
    forget_explicit_below: int
    daily_pairs: int
    draws_insights: bool
    event_life: timedelta
