"""What background work did, and how often: events and counters."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ricordo.model.record import Record
from ricordo.model.vocabulary import Action, EventStatus

MODEL_CALLS: Final = "model_calls"
FAILED_MODEL_CALLS: Final = "model_calls_failed"
PROMPT_TOKENS: Final = "model_prompt_tokens"
COMPLETION_TOKENS: Final = "model_completion_tokens"
TOKENS: Final = "model_tokens"
"""All tokens of a day, with those set aside for calls that are under way."""
FORMED_WRITES: Final = "formation_writes"
KNOWN_ALREADY: Final = "formation_known_already"
FORMATION_RUNS: Final = "formation_runs"
FORMATION_FAILURES: Final = "formation_failures"
PROPOSALS_APPROVED: Final = "proposals_approved"
PROPOSALS_REJECTED: Final = "proposals_rejected"
CONTEXTS: Final = "contexts"
CONTEXTS_RECALLING: Final = "contexts_recalling"
CONTEXTS_UNSURE: Final = "contexts_unsure"
"""Prompts that recalled, but nothing that is likely to answer the message."""
RECALLED_SHOWN: Final = "recalled_shown"
RECALLED_USED: Final = "recalled_used"
"""Of the memories that prompts showed and somebody looked after: those that an answer used."""


def decisions_counter(action: Action) -> str:
    """The counter of formation's decisions of one kind."""
    return f"formation_{action.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityEvent(Record):
    """One step of background work. It says nothing of what memories say."""

    id: int
    at: datetime
    node: str
    op: str
    status: EventStatus
    thread_id: str | None = None
    item_id: int | None = None
    theme: str | None = None
    similarity: float | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters(Record):
    """How much there is and how often things happened, over the days asked for.

    ``memory_replacement_rate``: of what formation wrote, the share that took something's place.
    ``memory_dedup_rate``: of what it found worth a look, the share that was known already.
    ``retrieval_hit_rate``: of the memories shown in prompts that ``feedback`` was given on, the
    share that was used. ``context_unsure_rate``: of the prompts that recalled, the share in which
    nothing was likely to be an answer.
    """

    memory_total_count: int
    memory_replacement_rate: float
    memory_dedup_rate: float
    retrieval_hit_rate: float
    context_unsure_rate: float
    tokens_today: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayActivity(Record):
    """What happened on one ``day`` (ISO, UTC).

    ``memories_added`` were made on it, whatever became of them, unless they were purged since.
    ``decisions`` are formation's, by what it decided; ``model_calls`` those that failed included.
    ``recalls`` are searches, queries and prompts that recalled; within how many milliseconds half
    of them and 95 % were answered is estimated from counts, and None on a day without any.
    """

    day: str
    memories_added: int
    decisions: Mapping[str, int]
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    recalls: int
    recall_p50_ms: float | None
    recall_p95_ms: float | None


UPKEEP_ROUNDS: Final = "upkeep_rounds"
UPKEEP_FORGOTTEN: Final = "upkeep_forgotten"


# Counts of spans can be added up over days and users, which percentiles cannot; a percentile is
# estimated from them when it is asked for.

BOUNDS_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
"""The longest that each bucket but the last holds; it begins after the one before it."""

BUCKETS: Final = (*(f"recall_ms_{bound}" for bound in BOUNDS_MS), "recall_ms_more")
"""The names of the counters, the shortest recalls first."""

RECALLS: Final = "recalls"
"""What all buckets together are shown as, where only how many there were is told."""

_BUCKET_NAMES: Final = frozenset(BUCKETS)


def bucket_of(milliseconds: float) -> str:
    """The counter of recalls that took so long."""
    return BUCKETS[bisect_left(BOUNDS_MS, milliseconds)]


def recalls_in(counts: Mapping[str, int]) -> int:
    """How many recalls the counters of the buckets tell of."""
    return sum(counts.get(name, 0) for name in BUCKETS)


def without_buckets(counts: Mapping[str, int]) -> dict[str, int]:
    """The counters by name, in order, with one count of recalls in place of all the buckets."""
    kept = {name: count for name, count in counts.items() if name not in _BUCKET_NAMES}
    recalls = recalls_in(counts)
    return dict(sorted({**kept, RECALLS: recalls}.items())) if recalls else kept


def percentile_ms(counts: Mapping[str, int], share: float) -> float | None:
    """The time within which a share (0 to 1) of the recalls was answered; None without any.

    Recalls are taken to be spread evenly over their bucket. The last bucket has no upper bound:
    of it only the lower one is known, and told.
    """
    wanted = share * recalls_in(counts)
    passed, lower = 0, 0
    found: float | None = None
    for name, upper in zip(BUCKETS, (*BOUNDS_MS, BOUNDS_MS[-1]), strict=True):
        count = counts.get(name, 0)
        if count:
            found = lower + (upper - lower) * min(1.0, (wanted - passed) / count)
            passed += count
            if passed >= wanted:
                break
        lower = upper
    return found
