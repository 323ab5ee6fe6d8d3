"""Charts by day: bars, also stacked, and lines with gaps.

Across, everything is in percent of the width, upwards in pixels: so a chart is as wide as its
place while its texts keep their size, on a phone as on a wide screen. Each chart also has its
numbers as a table and what it shows as a sentence, for those who do not see it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ricordo.web.drawing.axes import DayMark, Tick, UpAxis, day_marks, up_axis
from ricordo.web.drawing.figures import day_name, exact
from ricordo.web.drawing.sentences import about_lines, about_sums

MOST_SERIES: Final = 8
"""As many as there are colours that can be told apart."""
PLOT_HEIGHT: Final = 160.0
LINE_SPAN: Final = 1000.0
"""How wide the box is that lines are drawn in; it is stretched to the width of the chart."""
LARGEST: Final = 1e15
"""The largest value that can be drawn; beyond it, floats are no exact counts any more."""
NOTHING: Final = "Nothing in these days."
_SHARE_OF_BAR: Final = 0.72
_LEAST_BLOCK: Final = 1.5  # a day with one of thousands is still seen
_GAP: Final = 1.0  # between the parts of a bar, so that they differ by more than colour
_MOST_DAYS_WITH_DOTS: Final = 14


@dataclass(frozen=True, slots=True)
class Series:
    """A named value for each day; None where there is none."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class _Drawn:
    number: int
    name: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class Key:
    """A series in the legend: ``number`` says which of the colours it has, ``figure`` what it
    comes to."""

    number: int
    name: str
    figure: str


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of a day as texts."""

    day: str
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a bar: ``y`` and ``height`` in pixels from the top of the chart."""

    number: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A day's bar, ``x`` and ``width`` in percent, with what it stands for in words. In a chart of
    lines it has no parts, and is only there to be pointed at."""

    x: float
    width: float
    note: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """A day's value on a line, ``x`` in percent and ``y`` in pixels."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A series as a path within a box of :data:`LINE_SPAN` by the height of the chart."""

    number: int
    path: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart ready to be written down. ``slug`` is unique on its page.

    An empty one has a sentence to say so, and nothing to draw.
    """

    slug: str
    title: str
    summary: str
    is_empty: bool
    height: float = PLOT_HEIGHT
    span: float = LINE_SPAN
    ticks: tuple[Tick, ...] = ()
    days: tuple[DayMark, ...] = ()
    keys: tuple[Key, ...] = ()
    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()
    rows: tuple[Row, ...] = ()


def bar_chart(
    slug: str,
    title: str,
    days: Sequence[str],
    series: Sequence[Series],
    *,
    unit: str,
    nothing: str = NOTHING,
) -> Chart:
    """Counts by day, the series on top of one another.

    ``unit`` is what is counted, ``nothing`` the sentence for a chart without any. Series without
    any are left out; the others keep their colours.
    """
    drawn = _drawn(series, len(days), is_shown=any)
    sums = [
        sum(filter(None, column)) for column in zip(*(one.values for one in drawn), strict=True)
    ]
    if not any(sums):
        return Chart(slug=slug, title=title, summary=nothing, is_empty=True)
    axis = up_axis(max(sums), PLOT_HEIGHT, whole=True)
    slot = 100 / len(days)
    return Chart(
        slug=slug,
        title=title,
        summary=about_sums(title, days, sums, unit),
        is_empty=False,
        ticks=axis.ticks,
        days=day_marks(days, [slot * (place + 0.5) for place in range(len(days))]),
        keys=tuple(
            Key(one.number, one.name, exact(sum(filter(None, one.values)))) for one in drawn
        ),
        bars=tuple(
            Bar(
                x=slot * (place + (1 - _SHARE_OF_BAR) / 2),
                width=slot * _SHARE_OF_BAR,
                note=_note(day, drawn, place, unit),
                blocks=_blocks(drawn, place, axis),
            )
            for place, day in enumerate(days)
        ),
        rows=_rows(days, drawn),
    )


def line_chart(
    slug: str,
    title: str,
    days: Sequence[str],
    series: Sequence[Series],
    *,
    unit: str,
    nothing: str = NOTHING,
) -> Chart:
    """Measures by day, with a gap where there is none. ``unit`` is what they are measured in."""
    drawn = _drawn(series, len(days), is_shown=_has_values)
    known = [value for one in drawn for value in one.values if value is not None]
    if not known:
        return Chart(slug=slug, title=title, summary=nothing, is_empty=True)
    axis = up_axis(max(known), PLOT_HEIGHT, whole=False)
    slot = 100 / len(days)
    centres = [slot * (place + 0.5) for place in range(len(days))]
    return Chart(
        slug=slug,
        title=title,
        summary=about_lines(
            title, days, [one.name for one in drawn], [one.values for one in drawn], unit
        ),
        is_empty=False,
        ticks=axis.ticks,
        days=day_marks(days, centres),
        keys=tuple(Key(one.number, one.name, _latest(one.values, unit)) for one in drawn),
        bars=tuple(
            Bar(x=slot * place, width=slot, note=_note(day, drawn, place, unit), blocks=())
            for place, day in enumerate(days)
        ),
        lines=tuple(
            Line(one.number, _path(one.values, centres, axis), _dots(one.values, centres, axis))
            for one in drawn
        ),
        rows=_rows(days, drawn),
    )


def _has_values(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def _drawn(
    series: Sequence[Series], count: int, *, is_shown: Callable[[Sequence[float | None]], bool]
) -> list[_Drawn]:
    """The series that have anything to show, with one value for each day."""
    numbered = enumerate(series[:MOST_SERIES], start=1)
    drawn = [_Drawn(number, one.name, _drawable(one, count)) for number, one in numbered]
    return [one for one in drawn if is_shown(one.values)]


def _drawable(series: Series, count: int) -> list[float | None]:
    """One value for each day; what cannot be drawn counts as not there."""
    given = [*series.values[:count], *[None] * (count - len(series.values))]
    return [
        value if value is not None and 0 <= value <= LARGEST else None  # NaN is neither
        for value in given
    ]


def _blocks(drawn: Sequence[_Drawn], place: int, axis: UpAxis) -> tuple[Block, ...]:
    """The parts of a day's bar from the bottom up, never higher than the chart."""
    blocks: list[Block] = []
    bottom = axis.height
    for one in drawn:
        value = one.values[place]
        height = min(max(axis.length(value), _LEAST_BLOCK), bottom) if value else 0.0
        if height > 0:
            bottom -= height
            gap = _GAP if blocks and height > 2 * _GAP else 0.0
            blocks.append(Block(one.number, bottom, height - gap))
    return tuple(blocks)


def _note(day: str, drawn: Sequence[_Drawn], place: int, unit: str) -> str:
    values = [(one.name, one.values[place]) for one in drawn]
    if len(values) == 1:
        return f"{day_name(day)}: {exact(values[0][1])} {unit}"
    parts = [f"{name} {exact(value)}" for name, value in values if value]
    return f"{day_name(day)}: {', '.join(parts) or 'nothing'}"


def _latest(values: Sequence[float | None], unit: str) -> str:
    latest = next((value for value in reversed(values) if value is not None), None)
    return "–" if latest is None else f"{exact(latest)} {unit}"


def _path(values: Sequence[float | None], centres: Sequence[float], axis: UpAxis) -> str:
    """Lines between days that follow one another; after a gap a new line begins."""
    steps = []
    is_down = False
    for value, centre in zip(values, centres, strict=True):
        if value is not None:
            x = centre * LINE_SPAN / 100
            steps.append(f"{'L' if is_down else 'M'}{x:.1f} {axis.y(value):.1f}")
        is_down = value is not None
    return " ".join(steps)


def _dots(
    values: Sequence[float | None], centres: Sequence[float], axis: UpAxis
) -> tuple[Dot, ...]:
    """A dot for each value; when there are too many, for those that no line leads to."""
    dots = []
    for place, value in enumerate(values):
        around = (*values[max(place - 1, 0) : place], *values[place + 1 : place + 2])
        is_alone = all(beside is None for beside in around)
        if value is not None and (is_alone or len(values) <= _MOST_DAYS_WITH_DOTS):
            dots.append(Dot(centres[place], axis.y(value)))
    return tuple(dots)


def _rows(days: Sequence[str], drawn: Sequence[_Drawn]) -> tuple[Row, ...]:
    return tuple(
        Row(day, tuple(exact(one.values[place]) for one in drawn)) for place, day in enumerate(days)
    )
