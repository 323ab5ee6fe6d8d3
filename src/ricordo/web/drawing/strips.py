"""A bar lying in a row of a table: how much of the longest, and what it is made of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a strip, in percent of the width; ``number`` says which colour it has."""

    number: int
    x: float
    width: float


def strips(rows: Sequence[Sequence[float]]) -> tuple[tuple[Part, ...], ...]:
    """The parts of each row's strip, all to the same scale: the longest takes the whole width."""
    drawable = [[_length(value) for value in row] for row in rows]
    longest = max((sum(row) for row in drawable), default=0.0)
    return tuple(_parts(row, longest) for row in drawable)


def _length(value: float) -> float:
    return value if math.isfinite(value) and value > 0 else 0.0


def _parts(row: Sequence[float], longest: float) -> tuple[Part, ...]:
    parts = []
    x = 0.0
    for number, value in enumerate(row, start=1):
        width = min(100 * value / longest, 100 - x) if longest > 0 else 0.0
        if width > 0:
            parts.append(Part(number, x, width))
            x += width
    return tuple(parts)
