"""A measured number with its target, and the machine that it was measured on."""

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Record):
    """``load`` is how many processes wanted to run in the minute before; None: not known.

    Times measured on a machine that is busy say little; its cores are what to compare with.
    """

    processor: str
    cores: int
    python: str
    system: str
    load: float | None

    @property
    def in_words(self) -> str:
        """One line for people."""
        loaded = "" if self.load is None else f", load {self.load:.1f} before"
        return f"{self.processor}, {self.cores} cores, {self.system}, Python {self.python}{loaded}"


def this_machine() -> Machine:
    """The machine that this runs on, as it is now."""
    return Machine(
        processor=platform.machine(),
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        system=platform.system(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


class Better(StrEnum):
    """Which way a figure improves."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Record):
    """One number. ``met`` is None where there is no floor, or none for so small a measurement."""

    name: str
    value: float
    unit: str
    better: Better = Better.LOWER
    floor: float | None = None
    met: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReport(Record):
    """Figures, and what they were measured on."""

    machine: Machine
    figures: tuple[Figure, ...]


def judged(
    name: str,
    value: float,
    unit: str,
    *,
    floor: float | None = None,
    better: Better = Better.LOWER,
    at_full_size: bool = True,
) -> Figure:
    """A figure with its verdict. A floor is for the full size; a smaller run is not judged."""
    met = None
    if floor is not None and at_full_size:
        met = value <= floor if better is Better.LOWER else value >= floor
    return Figure(name=name, value=value, unit=unit, better=better, floor=floor, met=met)
