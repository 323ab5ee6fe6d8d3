"""What stands along the sides of a chart: round numbers upwards, days across."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ricordo.web.drawing.figures import day_name, short

_ROUND_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_MOST_STEPS: Final = 4
_ROOM_ON_A_PHONE: Final = 4  # labels of days that stand side by side in 250 px
_ROOM_WHEN_WIDE: Final = 8


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the chart, ``y`` units from its top."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class UpAxis:
    """Values from 0 at the bottom to ``top``, which is a round number and never 0."""

    top: float
    height: float
    ticks: tuple[Tick, ...]

    def length(self, value: float) -> float:
        """How far up a value reaches, from 0 to the whole height."""
        return min(max(value / self.top, 0.0), 1.0) * self.height

    def y(self, value: float) -> float:
        """Where a value is, counted from the top as screens do."""
        return self.height - self.length(value)


@dataclass(frozen=True, slots=True)
class DayMark:
    """The label of a day: ``x`` percent across; one that is not ``always`` there needs a wide
    chart."""

    x: float
    label: str
    always: bool


def up_axis(highest: float, height: float, *, whole: bool) -> UpAxis:
    """An axis that holds ``highest``; ``whole`` for counts, which have no halves."""
    step = _round_step(highest / _MOST_STEPS, whole=whole)
    count = max(1, math.ceil(highest / step - 1e-9))
    top = step * count
    ticks = tuple(
        Tick(height - height * number / count, short(step * number)) for number in range(count + 1)
    )
    return UpAxis(top, height, ticks)


def day_marks(days: Sequence[str], centres: Sequence[float]) -> tuple[DayMark, ...]:
    """Labels for some of the days, evenly apart and counted back from the last one."""
    often = _every(len(days), _ROOM_WHEN_WIDE)
    # Every so many of those, so that fewer labels are a part of more, at even distances.
    seldom = often * _every(math.ceil(len(days) / often), _ROOM_ON_A_PHONE)
    last = len(days) - 1
    return tuple(
        DayMark(centres[place], day_name(day), always=(last - place) % seldom == 0)
        for place, day in enumerate(days)
        if (last - place) % often == 0
    )


def _every(count: int, room: int) -> int:
    return max(1, math.ceil(count / room))


def _round_step(least: float, *, whole: bool) -> float:
    """The smallest of 1, 2, 5, 10, 20 … (or 0.1, 0.2 …) that is not below ``least``."""
    if least <= 0:
        return 1.0
    power = math.floor(math.log10(least))
    if whole and power < 0:
        return 1.0
    unit = 10.0**power
    return next((step * unit for step in _ROUND_STEPS if step * unit >= least), 10.0 * unit)
