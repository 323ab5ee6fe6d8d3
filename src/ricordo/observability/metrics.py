"""Prometheus metrics. Labels have a bounded number of values, and none comes from a user."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from ricordo.errors import StorageError
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
    JobStats,
    counters_from,
    decisions_counter,
)
from ricordo.model.vocabulary import Action, JobState, Status
from ricordo.observability.traces import Tracing
from ricordo.proxy.upstream import Outcome
from ricordo.storage.activity import day_of, totals
from ricordo.storage.database import Step
from ricordo.storage.users import EXPIRED, count_users, memories_by_status, waiting_vectors

UNMATCHED: Final = "unmatched"
"""The route of requests that match none."""

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD: Final = "OTHER"
"""For all other methods, of which a client can invent any number."""

_REQUEST_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_RECALL_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_UPSTREAM_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)
_DISCONNECTED: Final = "disconnected"
_MIN_CACHE_SECONDS: Final = 10.0
_CACHE_FACTOR: Final = 50
"""Figures are cached for so many times as long as reading them took, so that this takes at most 2 %
of the time of a slow store."""
UP: Final = "Whether the database answers: 1 or 0."
IN_USE: Final = "Connections to the database that this process has in use."
_SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"


def share_among_processes(folder: str) -> None:
    """Have this process keep its counters in a folder, where each of several adds them all up.

    For worker processes, before they make their service. What an ended one counted stays.
    """
    os.environ[_SHARED_FOLDER] = folder
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


def forget_process(folder: str, pid: int) -> None:
    """Take back what an ended process had under way."""
    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]


class Instruments:
    """The counters and histograms of one service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._add_requests(registry)
        self._add_steps(registry)

    def _add_requests(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "ricordo_http_requests",
            "Requests that were answered, by method, route and class of status.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._request_seconds = Histogram(
            "ricordo_http_request_seconds",
            "How long requests took, up to the last byte of the answer.",
            ["method", "route"],
            registry=registry,
            buckets=_REQUEST_SECONDS,
        )
        self._in_flight = Gauge(
            "ricordo_http_requests_in_flight",
            "Requests that are being answered.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._refused_keys = Counter(
            "ricordo_authentication_failures",
            "Requests without a key that is good, where one is needed.",
            registry=registry,
        )
        self._rate_limited = Counter(
            "ricordo_rate_limited_requests",
            "Requests that were turned away because their key made too many.",
            registry=registry,
        )

    def _add_steps(self, registry: CollectorRegistry) -> None:
        self._recall_seconds = Histogram(
            "ricordo_recall_seconds",
            "How long recalling took: search, search_turns, query or context.",
            ["kind"],
            registry=registry,
            buckets=_RECALL_SECONDS,
        )
        self._recall_failures = Counter(
            "ricordo_recall_failures",
            "Recalls that ended in an error.",
            ["kind"],
            registry=registry,
        )
        self._embedding_seconds = Histogram(
            "ricordo_embedding_seconds",
            "How long making vectors took, for each call of an embedder.",
            registry=registry,
            buckets=_RECALL_SECONDS,
        )
        self._embedding_failures = Counter(
            "ricordo_embedding_failures",
            "Calls of an embedder that gave no vectors.",
            registry=registry,
        )
        self._upstream_seconds = Histogram(
            "ricordo_upstream_seconds",
            "How long the chat proxy's upstream took, up to the last byte, by what became of it.",
            ["outcome"],
            registry=registry,
            buckets=_UPSTREAM_SECONDS,
        )
        for step in Step:  # so that they are 0, not missing
            if step is not Step.EMBEDDING:
                self._recall_seconds.labels(step.value)
                self._recall_failures.labels(step.value)
        for outcome in get_args(Outcome):
            self._upstream_seconds.labels(outcome)

    def request_started(self) -> None:
        self._in_flight.inc()

    def request_finished(
        self, method: str, route: str | None, status: int | None, seconds: float
    ) -> None:
        """Without a status, the client disconnected before the response.

        ``route`` is the template of a route, never a path.
        """
        self._in_flight.dec()
        kind = method if method in METHODS else OTHER_METHOD
        place = UNMATCHED if route is None else route
        status_class = _DISCONNECTED if status is None else f"{status // 100}xx"
        self._requests.labels(kind, place, status_class).inc()
        self._request_seconds.labels(kind, place).observe(seconds)

    def authentication_failed(self) -> None:
        self._refused_keys.inc()

    def rate_limited(self) -> None:
        self._rate_limited.inc()

    def upstream_finished(self, outcome: Outcome, seconds: float) -> None:
        self._upstream_seconds.labels(outcome).observe(seconds)

    def step_finished(self, step: Step, seconds: float, *, has_failed: bool) -> None:
        """A step of a request or a job has ended."""
        if step is Step.EMBEDDING:
            self._embedding_seconds.observe(seconds)
            self._embedding_failures.inc(has_failed)
        else:
            self._recall_seconds.labels(step.value).observe(seconds)
            self._recall_failures.labels(step.value).inc(has_failed)


@dataclass(frozen=True, slots=True)
class Figures:
    """The state of the store at one moment."""

    memories: dict[str, int]
    users: int
    pending_vectors: dict[str, int]
    size_bytes: int
    counters: Counters
    jobs: tuple[JobStats, ...]
    oldest_seconds: dict[str, float]


def read_figures(memory: Memory) -> Figures:
    """The figures of all users together. Raises StorageError: the database did not answer."""
    database = memory.database
    with database.read_all() as view:
        memories = memories_by_status(view.connection, view.now)
        users = count_users(view.connection)
        pending = waiting_vectors(view.connection)
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
    return Figures(memories, users, pending, size_bytes, counters, jobs, oldest)


@dataclass(slots=True)
class _Monotonic:
    """Monotonic counters from sums that shrink when a user is erased.

    Prometheus takes a shrinking counter for a restart, and would count everything again.
    """

    shown: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)

    def follow(self, name: str, present: int) -> int:
        grown = max(0, present - self.last.get(name, 0))
        self.last[name] = present
        self.shown[name] = self.shown.get(name, 0) + grown
        return self.shown[name]


class StoreMetrics(Collector):
    """The metrics of a store, cached for a while; ``ricordo_store_up`` is 0 while it fails."""

    def __init__(self, memory: Memory, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._metrics: list[Metric] = []
        self._cached_until = 0.0
        self._monotonic_sums = _Monotonic()

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            if not self._metrics or self._monotonic() >= self._cached_until:
                self._read()
            found = list(self._metrics)
        yield from found
        in_use = self._memory.database.backend.connections_in_use()
        yield _gauge("ricordo_database_connections_in_use", IN_USE, in_use)

    def describe(self) -> list[Metric]:
        """Empty, so that registering does not read the store."""
        return []

    def _read(self) -> None:
        started = self._monotonic()
        try:
            figures = read_figures(self._memory)
        except StorageError:  # tried again in a while; the other metrics are shown
            self._metrics = [_gauge("ricordo_store_up", UP, 0)]
        else:
            self._metrics = [
                _gauge("ricordo_store_up", UP, 1),
                *_of_memories(figures),
                *_of_jobs(figures),
                *_of_counts(figures.counters, self._monotonic_sums),
            ]
        ended = self._monotonic()
        self._cached_until = ended + max(_MIN_CACHE_SECONDS, _CACHE_FACTOR * (ended - started))


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
    pending = GaugeMetricFamily(
        "ricordo_vectors_pending",
        "Texts that wait for their vectors: memories (item) and what was said (turn).",
        labels=["kind"],
    )
    for kind, count in figures.pending_vectors.items():
        pending.add_metric([kind], count)
    yield pending


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


def _of_counts(counters: Counters, sums: _Monotonic) -> Iterator[Metric]:
    def count(name: str) -> int:
        return sums.follow(name, counters.counts.get(name, 0))

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
        "ricordo_formation_runs", "Segments of conversations that were formed."
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


class ServiceMetrics(Instruments):
    """All metrics of one service, in a registry of their own."""

    def __init__(self, memory: Memory, monotonic: Callable[[], float] = time.monotonic) -> None:
        own = self.registry = CollectorRegistry()
        super().__init__(own)
        if _SHARED_FOLDER in os.environ:  # what is shown is read from the files of all processes
            self.registry = CollectorRegistry()
            MultiProcessCollector(self.registry, os.environ[_SHARED_FOLDER])  # type: ignore[no-untyped-call]
        self.registry.register(StoreMetrics(memory, monotonic))

    def render(self) -> tuple[bytes, str]:
        """The body and content type of ``/metrics``. It may read the database: not for the event
        loop."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST


def watch_steps(memory: Memory, metrics: ServiceMetrics, tracing: Tracing) -> None:
    """Report every recall and every call of an embedder to these."""

    @contextmanager
    def watch(step: Step) -> Iterator[None]:
        started = time.perf_counter()
        has_failed = True
        try:
            with tracing.span(f"ricordo.{step.value}"):
                yield
            has_failed = False
        finally:
            spent = time.perf_counter() - started
            metrics.step_finished(step, spent, has_failed=has_failed)

    memory.database.watch = watch
