"""What background work did, and how often: events and counters."""

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
