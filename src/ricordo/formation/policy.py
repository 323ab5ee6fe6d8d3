"""The settings that formation depends on."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationPolicy:
    """When conversations are formed, what needs consent, and what counts as known already.

    ``redundant_min`` and ``judge_min`` are similarities: from the first on a statement is taken
    for known unless something speaks against it; below the second two are unrelated.
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
