"""A measured number, and what it has to reach."""

from dataclasses import dataclass
from enum import StrEnum

from ricordo.bench.machine import Machine
from ricordo.model.record import Record


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
