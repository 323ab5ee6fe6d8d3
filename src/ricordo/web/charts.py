"""Charts as plain numbers for templates.

Horizontal values are percentages of the width, vertical ones pixels, so that a chart scales while
its texts keep their size. Each chart also has a table and a summary for screen readers.
"""

import math
from collections.abc import Callable, Sequence
from datetime import date
from itertools import accumulate
from typing import Final

from ricordo.frozen import dataclass
from ricordo.model.activity import DayActivity
from ricordo.model.vocabulary import Action
from ricordo.text.pieces import clean_cut

_THOUSAND: Final = 1000
_SHORT_UNITS: Final = ("", "k", "M", "G", "T")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_ROUND_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_MOST_STEPS: Final = 4
_LABELS_ON_A_PHONE: Final = 4  # fit side by side in 250 px
_LABELS_WHEN_WIDE: Final = 8
MOST_SERIES: Final = 8
"""As many as there are distinguishable colours."""
PLOT_HEIGHT: Final = 160.0
LINE_SPAN: Final = 1000.0
"""The width of the box that lines are drawn in; it is stretched to the chart."""
LARGEST: Final = 1e15
"""The largest value that is drawn; beyond it, floats are not exact counts."""
NOTHING: Final = "Nothing in these days."
_SHARE_OF_BAR: Final = 0.72
_LEAST_BLOCK: Final = 1.5  # so that one of thousands is still visible
_GAP: Final = 1.0  # between the parts of a bar, so that they differ by more than colour
_MOST_DAYS_WITH_DOTS: Final = 14
_DECIDED: Final = {
    Action.ADD: "added",
    Action.UPDATE: "updated",
    Action.REPLACE: "replaced",
    Action.UNLINK: "unlinked",
    Action.CLOSE: "closed",
    Action.IGNORE: "ignored",
    Action.REJECT: "rejected",
    Action.PROPOSE: "proposed",
    Action.DEFER: "deferred",
}


def short(value: float) -> str:
    """A number in a few characters, for an axis: 950, 1.5k, 20M."""
    size = abs(value)
    unit = 0
    # What would be rounded to 1000 is 1 of the next unit.
    while size >= _THOUSAND - 0.5 and unit < len(_SHORT_UNITS) - 1:
        size /= _THOUSAND
        unit += 1
    if size >= _THOUSAND:  # beyond the largest unit
        return f"{value:.1e}"
    number = f"{size:.3g}"
    return f"{'-' if value < 0 and float(number) else ''}{number}{_SHORT_UNITS[unit]}"


def exact(value: float | None) -> str:
    """A number for a table: integers in full, fractions with one or two digits."""
    if value is None or not math.isfinite(value):
        return "–"
    digits = 0 if value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def day_name(day: str) -> str:
    """An ISO date as ``3 Nov``."""
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {_MONTHS[parsed.month - 1]}"


def cut(text: str, most: int) -> str:
    """A text on one line of at most ``most`` characters, cut between words where possible."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    kept = line[: clean_cut(line, most - 1)]
    at_word, _, rest = kept.rpartition(" ")
    # A long word at the end is cut rather than lost.
    return (at_word if at_word and len(rest) <= most // 3 else kept).rstrip(" ,;:.") + "…"


@dataclass(frozen=True, slots=True)
class Tick:
    """A horizontal grid line, ``y`` from the top."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class UpAxis:
    """Values from 0 at the bottom to ``top``, a round number above 0."""

    top: float
    height: float
    ticks: tuple[Tick, ...]

    def length(self, value: float) -> float:
        """The length of a bar for a value."""
        return min(max(value / self.top, 0.0), 1.0) * self.height

    def y(self, value: float) -> float:
        """The position of a value, from the top."""
        return self.height - self.length(value)


@dataclass(frozen=True, slots=True)
class DayMark:
    """The label of a day; without ``always`` it is shown in wide charts only."""

    x: float
    label: str
    always: bool


def up_axis(highest: float, height: float, *, whole: bool) -> UpAxis:
    """An axis up to ``highest``; ``whole`` for counts."""
    step = _round_step(highest / _MOST_STEPS, whole=whole)
    count = max(1, math.ceil(highest / step - 1e-9))
    top = step * count
    ticks = tuple(
        Tick(height - height * number / count, short(step * number)) for number in range(count + 1)
    )
    return UpAxis(top, height, ticks)


def day_marks(days: Sequence[str], centres: Sequence[float]) -> tuple[DayMark, ...]:
    """Labels for some of the days, evenly spaced, counted back from the last one."""
    often = max(1, math.ceil(len(days) / _LABELS_WHEN_WIDE))
    # A multiple, so that the labels on a phone are a subset of the others.
    seldom = often * max(1, math.ceil(math.ceil(len(days) / often) / _LABELS_ON_A_PHONE))
    last = len(days) - 1
    return tuple(
        DayMark(centres[place], day_name(day), always=(last - place) % seldom == 0)
        for place, day in enumerate(days)
        if (last - place) % often == 0
    )


def _round_step(least: float, *, whole: bool) -> float:
    """The smallest of 1, 2, 5, 10, 20 … (or 0.1, 0.2 …) that is not below ``least``."""
    if least <= 0:
        return 1.0
    power = math.floor(math.log10(least))
    if whole and power < 0:
        return 1.0
    unit = 10.0**power
    return next((step * unit for step in _ROUND_STEPS if step * unit >= least), 10.0 * unit)


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
    """A legend entry: ``number`` is its colour, ``figure`` its total or latest value."""

    number: int
    name: str
    figure: str


@dataclass(frozen=True, slots=True)
class Row:
    day: str
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """A part of a bar; ``y`` and ``height`` in pixels from the top."""

    number: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of a day, ``x`` and ``width`` in percent. In a line chart it has no blocks, only a
    tooltip."""

    x: float
    width: float
    note: str
    blocks: tuple[ChartBlock, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A series as a path within a box of :data:`LINE_SPAN` by the height of the chart."""

    number: int
    path: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart for a template. ``slug`` is unique on its page. An empty one has only a summary."""

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
    lines: tuple[ChartLine, ...] = ()
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
    """Stacked counts by day.

    ``unit`` is what is counted, ``nothing`` the summary of an empty chart. Empty series are left
    out; the others keep their colours.
    """
    drawn = _drawn(series, len(days), is_shown=any)
    sums = [
        sum(filter(None, column)) for column in zip(*(one.values for one in drawn), strict=True)
    ]
    if not any(sums):
        return Chart(slug=slug, title=title, summary=nothing, is_empty=True)
    axis = up_axis(max(sums), PLOT_HEIGHT, whole=True)
    slot = 100 / len(days)
    bars = [
        Bar(
            x=slot * (place + (1 - _SHARE_OF_BAR) / 2),
            width=slot * _SHARE_OF_BAR,
            note=_note(day, drawn, place, unit),
            blocks=_blocks(drawn, place, axis),
        )
        for place, day in enumerate(days)
    ]
    best = day_name(days[sums.index(max(sums))])
    summary = f"{exact(sum(sums))} {unit} in all, the most on {best} with {exact(max(sums))}"
    totals = [exact(sum(filter(None, one.values))) for one in drawn]
    return _chart(slug, title, summary, days, drawn, axis, totals, bars)


def line_chart(
    slug: str,
    title: str,
    days: Sequence[str],
    series: Sequence[Series],
    *,
    unit: str,
    nothing: str = NOTHING,
) -> Chart:
    """Measurements by day, with gaps where there are none."""
    drawn = _drawn(series, len(days), is_shown=lambda row: any(one is not None for one in row))
    if not drawn:
        return Chart(slug=slug, title=title, summary=nothing, is_empty=True)
    known = [[value for value in one.values if value is not None] for one in drawn]
    axis = up_axis(max(map(max, known)), PLOT_HEIGHT, whole=False)
    slot = 100 / len(days)
    bars = [
        Bar(x=slot * place, width=slot, note=_note(day, drawn, place, unit), blocks=())
        for place, day in enumerate(days)
    ]
    centres = _centres(days)
    lines = [
        ChartLine(one.number, _path(one.values, centres, axis), _dots(one.values, centres, axis))
        for one in drawn
    ]
    summary = "; ".join(
        f"{one.name} between {exact(min(values))} and {exact(max(values))} {unit}"
        for one, values in zip(drawn, known, strict=True)
    )
    latest = [f"{exact(values[-1])} {unit}" for values in known]
    return _chart(slug, title, summary, days, drawn, axis, latest, bars, lines)


def _chart(
    slug: str,
    title: str,
    summary: str,
    days: Sequence[str],
    drawn: Sequence[_Drawn],
    axis: UpAxis,
    figures: Sequence[str],
    bars: Sequence[Bar],
    lines: Sequence[ChartLine] = (),
) -> Chart:
    """``figures`` are those of the legend, one for each series."""
    period = day_name(days[0])
    if len(days) > 1:
        period += f" to {day_name(days[-1])}"
    return Chart(
        slug=slug,
        title=title,
        summary=f"{title}, {period}: {summary}.",
        is_empty=False,
        ticks=axis.ticks,
        days=day_marks(days, _centres(days)),
        keys=tuple(
            Key(one.number, one.name, figure) for one, figure in zip(drawn, figures, strict=True)
        ),
        bars=tuple(bars),
        lines=tuple(lines),
        rows=tuple(
            Row(day, tuple(exact(one.values[place]) for one in drawn))
            for place, day in enumerate(days)
        ),
    )


def _centres(days: Sequence[str]) -> list[float]:
    return [100 / len(days) * (place + 0.5) for place in range(len(days))]


def _drawn(
    series: Sequence[Series], count: int, *, is_shown: Callable[[Sequence[float | None]], bool]
) -> list[_Drawn]:
    """The non-empty series, with one value for each day; what cannot be drawn is None."""
    drawn = []
    for number, one in enumerate(series[:MOST_SERIES], start=1):
        given = [*one.values[:count], *[None] * (count - len(one.values))]
        values = [
            value if value is not None and 0 <= value <= LARGEST else None  # NaN is neither
            for value in given
        ]
        if is_shown(values):
            drawn.append(_Drawn(number, one.name, values))
    return drawn


def _blocks(drawn: Sequence[_Drawn], place: int, axis: UpAxis) -> tuple[ChartBlock, ...]:
    """The parts of a day's bar from the bottom up, never higher than the chart."""
    blocks: list[ChartBlock] = []
    bottom = axis.height
    for one in drawn:
        value = one.values[place]
        height = min(max(axis.length(value), _LEAST_BLOCK), bottom) if value else 0.0
        if height > 0:
            bottom -= height
            gap = _GAP if blocks and height > 2 * _GAP else 0.0
            blocks.append(ChartBlock(one.number, bottom, height - gap))
    return tuple(blocks)


def _note(day: str, drawn: Sequence[_Drawn], place: int, unit: str) -> str:
    values = [(one.name, one.values[place]) for one in drawn]
    if len(values) == 1:
        return f"{day_name(day)}: {exact(values[0][1])} {unit}"
    parts = [f"{name} {exact(value)}" for name, value in values if value]
    return f"{day_name(day)}: {', '.join(parts) or 'nothing'}"


def _path(values: Sequence[float | None], centres: Sequence[float], axis: UpAxis) -> str:
    """Lines between consecutive days; a new one after a gap."""
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
    """A dot for each value; in long charts only for isolated values."""
    dots = []
    for place, value in enumerate(values):
        around = (*values[max(place - 1, 0) : place], *values[place + 1 : place + 2])
        is_alone = all(beside is None for beside in around)
        if value is not None and (is_alone or len(values) <= _MOST_DAYS_WITH_DOTS):
            dots.append(Dot(centres[place], axis.y(value)))
    return tuple(dots)


def daily_charts(activity: Sequence[DayActivity]) -> tuple[Chart, ...]:
    """Every chart of the page, including empty ones."""
    days = [one.day for one in activity]
    added = [one.memories_added for one in activity]
    since = day_name(days[0]) if days else ""
    return (
        bar_chart(
            "added",
            "Memories added",
            days,
            [Series("Added", added)],
            unit="memories",
            nothing="No memory was added in these days.",
        ),
        line_chart(
            "growth",
            f"Memories added since {since}",
            days,
            [Series("Total", list(accumulate(added)) if any(added) else [])],
            unit="memories",
            nothing="No memory was added in these days.",
        ),
        bar_chart(
            "decisions",
            "Decisions of formation",
            days,
            [
                Series(name, [one.decisions.get(action.value, 0) for one in activity])
                for action, name in _DECIDED.items()
            ],
            unit="decisions",
            nothing="Nothing was decided in these days. Decisions are made when memories are formed"
            " from a conversation.",
        ),
        line_chart(
            "latency",
            "Duration of recall",
            days,
            [
                Series("50 % within", [one.recall_p50_ms for one in activity]),
                Series("95 % within", [one.recall_p95_ms for one in activity]),
            ],
            unit="ms",
            nothing="Nothing was recalled in these days. Searches and prompts are measured.",
        ),
        bar_chart(
            "tokens",
            "Tokens spent",
            days,
            [
                Series("Prompts", [one.prompt_tokens for one in activity]),
                Series("Answers", [one.completion_tokens for one in activity]),
            ],
            unit="tokens",
            nothing="No language model was used in these days.",
        ),
    )


@dataclass(frozen=True, slots=True)
class ChartPart:
    """A part of a strip, in percent of the width; ``number`` is its colour."""

    number: int
    x: float
    width: float


def strips(rows: Sequence[Sequence[float]]) -> tuple[tuple[ChartPart, ...], ...]:
    """The parts of each row's strip, to a common scale: the longest takes the whole width."""
    drawable = [
        [value if math.isfinite(value) and value > 0 else 0.0 for value in row] for row in rows
    ]
    longest = max((sum(row) for row in drawable), default=0.0)
    drawn = []
    for row in drawable:
        parts: list[ChartPart] = []
        x = 0.0
        for number, value in enumerate(row, start=1):
            width = min(100 * value / longest, 100 - x) if longest > 0 else 0.0
            if width > 0:
                parts.append(ChartPart(number, x, width))
                x += width
        drawn.append(tuple(parts))
    return tuple(drawn)
