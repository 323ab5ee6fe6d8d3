"""What this process counts and times by itself.

Every label has a bounded number of values, and none of them is anything of a user's.
"""

from typing import Final, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ricordo.storage.backend import Step

UNMATCHED: Final = "unmatched"
"""Stands for the route of a request that no route is for."""

UpstreamOutcome = Literal["ok", "refused", "failed", "unreachable", "timeout", "broken", "left"]
"""What became of a call: answered with 2xx, with 4xx, with 5xx, not at all, not in time, only in
part, or nobody was left to answer to."""

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD: Final = "OTHER"
"""Stands for every other method: there may be any number of them."""

_REQUEST_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_RECALL_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_UPSTREAM_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)
_DISCONNECTED: Final = "disconnected"


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
        for step in Step:  # what never happened is 0, not missing
            if step is not Step.EMBEDDING:
                self._recall_seconds.labels(step.value)
                self._recall_failures.labels(step.value)
        for outcome in get_args(UpstreamOutcome):
            self._upstream_seconds.labels(outcome)

    def request_started(self) -> None:
        """A request came in."""
        self._in_flight.inc()

    def request_finished(
        self, method: str, route: str | None, status: int | None, seconds: float
    ) -> None:
        """It was answered; without a status, the caller went away before it was.

        ``route`` is the template of a route, never a path.
        """
        self._in_flight.dec()
        kind = method if method in METHODS else OTHER_METHOD
        place = UNMATCHED if route is None else route
        status_class = _DISCONNECTED if status is None else f"{status // 100}xx"
        self._requests.labels(kind, place, status_class).inc()
        self._request_seconds.labels(kind, place).observe(seconds)

    def authentication_failed(self) -> None:
        """A request had no key, or one that is no good."""
        self._refused_keys.inc()

    def rate_limited(self) -> None:
        """A request was turned away because there were too many before it."""
        self._rate_limited.inc()

    def upstream_finished(self, outcome: UpstreamOutcome, seconds: float) -> None:
        """The proxy's call of its upstream came to an end."""
        self._upstream_seconds.labels(outcome).observe(seconds)

    def step_finished(self, step: Step, seconds: float, *, has_failed: bool) -> None:
        """A step of a request, or of a job, is done."""
        if step is Step.EMBEDDING:
            self._embedding_seconds.observe(seconds)
            self._embedding_failures.inc(has_failed)
        else:
            self._recall_seconds.labels(step.value).observe(seconds)
            self._recall_failures.labels(step.value).inc(has_failed)
