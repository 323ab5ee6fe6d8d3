"""Background work: jobs, what they did, and how often."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from ricordo.frozen import dataclass, field
from ricordo.model.record import Record
from ricordo.model.vocabulary import Action, EventStatus, JobState, Lane

MODEL_CALLS: Final = "model_calls"
FAILED_MODEL_CALLS: Final = "model_calls_failed"
PROMPT_TOKENS: Final = "model_prompt_tokens"
COMPLETION_TOKENS: Final = "model_completion_tokens"
TOKENS: Final = "model_tokens"
"""All tokens of a day, including those reserved for calls in progress."""
FORMED_WRITES: Final = "formation_writes"
KNOWN_ALREADY: Final = "formation_known_already"
FORMATION_RUNS: Final = "formation_runs"
FORMATION_FAILURES: Final = "formation_failures"
PROPOSALS_APPROVED: Final = "proposals_approved"
PROPOSALS_REJECTED: Final = "proposals_rejected"
CONTEXTS: Final = "contexts"
CONTEXTS_RECALLING: Final = "contexts_recalling"
CONTEXTS_UNSURE: Final = "contexts_unsure"
"""Prompts whose recalled memories are unlikely to answer the message."""
RECALLED_SHOWN: Final = "recalled_shown"
RECALLED_USED: Final = "recalled_used"
"""Recalled memories with feedback that an answer used."""


def decisions_counter(action: Action) -> str:
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
    """Totals over the requested days.

    ``memory_replacement_rate``: the share of formation's writes that replaced a memory.
    ``memory_dedup_rate``: the share of its candidates that were already known.
    ``retrieval_hit_rate``: the share of recalled memories with ``feedback`` that was used.
    ``context_unsure_rate``: the share of prompts with recall in which nothing was likely to be an
    answer.
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

    ``memories_added`` were created on it and have not been purged. ``decisions`` are formation's,
    by what it decided; ``model_calls`` include failed ones. ``recalls`` are searches, queries and
    prompts that recalled; their median and 95th percentile in milliseconds are estimated from a
    histogram, None without any.
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


# A histogram can be summed over days and users, percentiles cannot; they are estimated from it.

BOUNDS_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
"""The upper bounds of all buckets but the last."""

BUCKETS: Final = (*(f"recall_ms_{bound}" for bound in BOUNDS_MS), "recall_ms_more")

RECALLS: Final = "recalls"
"""The name under which all buckets are shown as one count."""

_BUCKET_NAMES: Final = frozenset(BUCKETS)


def bucket_of(milliseconds: float) -> str:
    return BUCKETS[bisect_left(BOUNDS_MS, milliseconds)]


def recalls_in(counts: Mapping[str, int]) -> int:
    return sum(counts.get(name, 0) for name in BUCKETS)


def without_buckets(counts: Mapping[str, int]) -> dict[str, int]:
    """The counters in order, with one count of recalls in place of the buckets."""
    kept = {name: count for name, count in counts.items() if name not in _BUCKET_NAMES}
    recalls = recalls_in(counts)
    return dict(sorted({**kept, RECALLS: recalls}.items())) if recalls else kept


def percentile_ms(counts: Mapping[str, int], share: float) -> float | None:
    """The time within which a share (0 to 1) of the recalls was answered; None without any.

    Assumes an even spread within a bucket. For the last bucket, its lower bound.
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


_REPLACED: Final = (Action.UPDATE, Action.REPLACE, Action.UNLINK)
_WRITTEN: Final = (Action.ADD, *_REPLACED)
_DECISIONS: Final = {action.value: decisions_counter(action) for action in Action}
_OF_MODELS: Final = (MODEL_CALLS, PROMPT_TOKENS, COMPLETION_TOKENS)
COUNTED_BY_DAY: Final = (*_OF_MODELS, *_DECISIONS.values(), *BUCKETS)
"""The counters that the activity of a day is made from."""


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


def day_from(day: str, added: int, counts: Mapping[str, int]) -> DayActivity:
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


STORE_JOB_USER = ""
"""The ``user_id`` of jobs that belong to the store as a whole."""


Report = Callable[[str], None]
"""Called between the steps of a long job with its progress; may end the job by raising."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be queued in the transaction that causes it.

    Queued jobs with the same kind, user and ``unique_key`` become one, at the earliest time.
    """

    kind: str
    user_id: str
    run_at: datetime
    unique_key: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """A job in the queue.

    ``lease_token`` proves who may finish it. ``woken_at`` is when a broker message was last sent
    for it.
    """

    id: int
    kind: str
    user_id: str
    unique_key: str
    payload: Mapping[str, Any]
    state: JobState
    run_at: datetime
    attempts: int
    max_attempts: int
    lease_token: str | None
    lease_until: datetime | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    woken_at: datetime | None
    progress: str | None

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, without the worker's secret token."""
        shown = Record.to_dict(self)
        del shown["lease_token"]
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStats(Record):
    """The number of jobs of one kind by state.

    ``due`` are the queued ones that could run now, ``oldest_due_at`` since when.
    """

    kind: str
    lane: Lane
    queued: int
    due: int
    running: int
    done: int
    dead: int
    cancelled: int
    oldest_due_at: datetime | None


class Postpone(Exception):
    """Raised by a handler to run its job later without counting an attempt."""

    def __init__(self, until: datetime, why: str) -> None:
        self.until = until
        super().__init__(why)
