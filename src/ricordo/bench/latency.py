"""Times of many calls, told by their middle and their slow end."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ricordo.model.record import Record

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(Record):
    """Milliseconds: half of the calls took at most ``p50_ms``, 95 of 100 at most ``p95_ms``."""

    calls: int
    p50_ms: float
    p95_ms: float


def latency(times: Sequence[float]) -> Latency:
    """The latency of some calls; zeros where there were none."""
    if not times:
        return Latency(calls=0, p50_ms=0.0, p95_ms=0.0)
    return Latency(calls=len(times), p50_ms=percentile(times, 50), p95_ms=percentile(times, 95))


def times_ms(work: Callable[[Given], object], inputs: Iterable[Given]) -> list[float]:
    """How long some work took with each of its inputs."""
    times = []
    for given in inputs:
        started = time.perf_counter()
        work(given)
        times.append((time.perf_counter() - started) * 1_000)
    return times


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which so many percent lie, read between neighbours where it falls there."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
