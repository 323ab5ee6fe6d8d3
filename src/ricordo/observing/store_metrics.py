"""Figures of the store, read when they are asked for: they also tell what workers elsewhere do."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ricordo.errors import StorageError
from ricordo.formation.counters import counters_from
from ricordo.memory import Memory
from ricordo.model.activity import (
    COMPLETION_TOKENS,
    FAILED_MODEL_CALLS,
    FORMATION_FAILURES,
    FORMATION_RUNS,
    MODEL_CALLS,
    PROMPT_TOKENS,
    TOKENS,
    Counters,
    decisions_counter,
)
from ricordo.model.job import JobStats
from ricordo.model.vocabulary import Action, JobState, Status
from ricordo.storage.daily_counters import day_of, totals
from ricordo.storage.users import EXPIRED, count_users, memories_by_status, waiting_vectors

_KEPT_SECONDS: Final = 10.0
_LEAST_PAUSE: Final = 50
"""Figures are kept for so many times as long as it took to read them, so that a store that takes
long is busy with this for 2 % of the time at most, however often it is asked."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The store at one moment."""

    memories: dict[str, int]
    users: int
    waiting: dict[str, int]
    size_bytes: int
    counters: Counters
    jobs: tuple[JobStats, ...]
    oldest_seconds: dict[str, float]


def read_figures(memory: Memory) -> Figures:
    """The figures of all users together.

    Raises:
        StorageError: the database could not answer.
    """
    database = memory.database
    with database.read_all() as view:
        memories = memories_by_status(view.connection, view.now)
        users = count_users(view.connection)
        waiting = waiting_vectors(view.connection)
        size_bytes = database.backend.size_bytes(view.connection)
        counts = totals(view.connection, None, None)
        tokens_today = totals(view.connection, None, day_of(view.now)).get(TOKENS, 0)
    jobs = memory.job_stats()
    now = database.clock()
    oldest = {
        one.kind: 0.0 if one.oldest_due_at is None else (now - one.oldest_due_at).total_seconds()
        for one in jobs
    }
    counters = counters_from(memories.get(Status.ACTIVE.value, 0), counts, tokens_today)
    return Figures(memories, users, waiting, size_bytes, counters, jobs, oldest)


@dataclass(slots=True)
class _Growing:
    """Counts that only grow, from sums that shrink when a user is erased.

    Prometheus takes a counter that shrinks for one that began again, and would count all of it a
    second time.
    """

    shown: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)

    def follow(self, name: str, present: int) -> int:
        """What to show for a sum that stands at ``present``."""
        grown = max(0, present - self.last.get(name, 0))
        self.last[name] = present
        self.shown[name] = self.shown.get(name, 0) + grown
        return self.shown[name]


class StoreMetrics(Collector):
    """Tells the figures of a store; of one that does not answer, that it does not."""

    def __init__(self, memory: Memory, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._metrics: list[Metric] = []
        self._good_until = 0.0
        self._growing = _Growing()

    def collect(self) -> Iterator[Metric]:
        """The metrics, as they are now or were a little while ago."""
        with self._lock:
            if not self._metrics or self._monotonic() >= self._good_until:
                self._read()
            found = list(self._metrics)
        yield from found
        in_use = self._memory.database.backend.connections_in_use()
        yield _gauge("ricordo_database_connections_in_use", IN_USE, in_use)

    def describe(self) -> list[Metric]:
        """Nothing beforehand: the registry must not read the store when this is registered."""
        return []

    def _read(self) -> None:
        started = self._monotonic()
        try:
            figures = read_figures(self._memory)
        except StorageError:  # asked again in a while; the rest of the metrics is told
            self._metrics = [_gauge("ricordo_store_up", UP, 0)]
        else:
            self._metrics = [_gauge("ricordo_store_up", UP, 1), *_shown(figures, self._growing)]
        ended = self._monotonic()
        self._good_until = ended + max(_KEPT_SECONDS, _LEAST_PAUSE * (ended - started))


UP: Final = "Whether the database answers: 1 or 0."
IN_USE: Final = "Connections to the database that this process has in use."


def _shown(figures: Figures, growing: _Growing) -> Iterator[Metric]:
    yield from _of_memories(figures)
    yield from _of_jobs(figures)
    yield from _of_counts(figures.counters, growing)


def _of_memories(figures: Figures) -> Iterator[Metric]:
    total = GaugeMetricFamily(
        "memory_total_count", "Memories of all users, by status.", labels=["status"]
    )
    for status in (*(one.value for one in Status), EXPIRED):
        total.add_metric([status], figures.memories.get(status, 0))
    yield total
    counters = figures.counters
    for name, documentation, value in (
        (
            "memory_replacement_rate",
            "Of what formation wrote, the share that took something's place.",
            counters.memory_replacement_rate,
        ),
        (
            "memory_dedup_rate",
            "Of what formation wrote or ignored, the share that was known already.",
            counters.memory_dedup_rate,
        ),
        (
            "ricordo_retrieval_hit_rate",
            "Of the memories in prompts that feedback was given on, the share that was used.",
            counters.retrieval_hit_rate,
        ),
        (
            "ricordo_context_unsure_rate",
            "Of the prompts that recalled, the share in which nothing was sure.",
            counters.context_unsure_rate,
        ),
        ("ricordo_users", "Users who have anything stored.", figures.users),
        ("ricordo_database_bytes", "Size of the database.", figures.size_bytes),
    ):
        yield _gauge(name, documentation, value)
    waiting = GaugeMetricFamily(
        "ricordo_vectors_pending",
        "Texts that wait for their vectors: memories (item) and what was said (turn).",
        labels=["kind"],
    )
    for kind, count in figures.waiting.items():
        waiting.add_metric([kind], count)
    yield waiting


def _of_jobs(figures: Figures) -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "ricordo_jobs", "Background jobs, by kind and state.", labels=["kind", "state"]
    )
    due = GaugeMetricFamily("ricordo_jobs_due", "Jobs that could run now.", labels=["kind"])
    age = GaugeMetricFamily(
        "ricordo_job_oldest_due_seconds",
        "How long the job that is due longest has been waiting; 0 where none is due.",
        labels=["kind"],
    )
    for one in figures.jobs:
        for state in JobState:
            jobs.add_metric([one.kind, state.value], getattr(one, state.value))
        due.add_metric([one.kind], one.due)
        age.add_metric([one.kind], max(0.0, figures.oldest_seconds[one.kind]))
    yield from (jobs, due, age)


def _of_counts(counters: Counters, growing: _Growing) -> Iterator[Metric]:
    def count(name: str) -> int:
        return growing.follow(name, counters.counts.get(name, 0))

    calls = CounterMetricFamily(
        "ricordo_model_calls", "Requests to the language model, by outcome.", labels=["outcome"]
    )
    failed = count(FAILED_MODEL_CALLS)
    calls.add_metric(["ok"], max(0, count(MODEL_CALLS) - failed))
    calls.add_metric(["failed"], failed)
    tokens = CounterMetricFamily(
        "ricordo_model_tokens", "Tokens that the language model took.", labels=["kind"]
    )
    tokens.add_metric(["prompt"], count(PROMPT_TOKENS))
    tokens.add_metric(["completion"], count(COMPLETION_TOKENS))
    decisions = CounterMetricFamily(
        "ricordo_formation_decisions", "What formation decided, by action.", labels=["action"]
    )
    for action in Action:
        decisions.add_metric([action.value], count(decisions_counter(action)))
    runs = CounterMetricFamily(
        "ricordo_formation_runs", "Stretches of conversations that were formed."
    )
    runs.add_metric([], count(FORMATION_RUNS))
    failures = CounterMetricFamily(
        "ricordo_formation_failures", "Readings of conversations that failed."
    )
    failures.add_metric([], count(FORMATION_FAILURES))
    today = _gauge(
        "ricordo_model_tokens_today",
        "Tokens of today (UTC), with those set aside for calls under way.",
        counters.tokens_today,
    )
    yield from (calls, tokens, today, decisions, runs, failures)


def _gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, documentation, value=value)
