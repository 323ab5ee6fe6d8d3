"""Charts: whatever the numbers are, what is drawn is inside the chart, and the table is right."""

import math
import re
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.web.charts import (
    LARGEST,
    LINE_SPAN,
    MOST_SERIES,
    Chart,
    Series,
    bar_chart,
    cut,
    day_marks,
    day_name,
    exact,
    line_chart,
    short,
    strips,
    up_axis,
)

pytestmark = pytest.mark.requirement("page.charts")

# Also what no count or time ever is: a chart must not break over it.
any_value = st.none() | st.floats() | st.integers(0, 10**15)
lengths = st.integers(1, 90)


def days_of(count: int) -> list[str]:
    return [(date(2026, 1, 1) + timedelta(days=place)).isoformat() for place in range(count)]


@st.composite
def drawn_from(draw: st.DrawFn) -> tuple[list[str], list[Series]]:
    count = draw(lengths)
    names = draw(st.lists(st.text(max_size=10), min_size=1, max_size=MOST_SERIES))
    # Few different values, repeated, so that examples are quick to make.
    values = draw(st.lists(any_value, min_size=1, max_size=12))
    starts = [draw(st.integers(0, len(values))) for _ in names]
    return days_of(count), [
        Series(name, [values[(start + place) % len(values)] for place in range(count)])
        for name, start in zip(names, starts, strict=True)
    ]


def check_sides(chart: Chart) -> None:
    assert all(0 <= tick.y <= chart.height for tick in chart.ticks)
    assert all(0 < mark.x < 100 for mark in chart.days)
    assert len({tick.label for tick in chart.ticks}) == len(chart.ticks)


@given(drawn_from())
def test_bars_stay_inside(given: tuple[list[str], list[Series]]) -> None:
    days, series = given
    chart = bar_chart("c", "Title", days, series, unit="things")
    check_sides(chart)
    assert chart.is_empty == (not chart.bars)
    for bar in chart.bars:
        assert bar.x >= 0 and bar.x + bar.width <= 100.0001 and bar.width > 0
        bottom = chart.height
        for block in bar.blocks:
            assert block.height > 0
            assert bottom - 1.001 <= block.y + block.height <= bottom + 1e-6
            assert block.y >= -1e-6
            bottom = block.y


@given(drawn_from())
def test_lines_stay_inside_and_have_gaps(given: tuple[list[str], list[Series]]) -> None:
    days, series = given
    chart = line_chart("c", "Title", days, series[:3], unit="ms")
    check_sides(chart)
    assert chart.is_empty == (not chart.lines)
    assert len(chart.bars) == (0 if chart.is_empty else len(days))
    for line in chart.lines:
        one = series[line.number - 1]
        points = [
            tuple(map(float, point)) for point in re.findall(r"[ML]([\d.]+) ([\d.]+)", line.path)
        ]
        known = [v is not None and 0 <= v <= LARGEST for v in one.values]
        assert len(points) == sum(known)
        assert all(0 <= x <= LINE_SPAN and 0 <= y <= chart.height for x, y in points)
        starts = sum(
            now and not before for before, now in zip([False, *known], known, strict=False)
        )
        assert line.path.count("M") == starts


@given(st.floats(min_value=0, max_value=1e18), st.booleans())
def test_an_axis_ends_at_a_round_number_above(highest: float, whole: bool) -> None:
    axis = up_axis(highest, 100, whole=whole)
    assert axis.top >= highest * (1 - 1e-9)
    assert axis.top > 0
    assert 2 <= len(axis.ticks) <= 6
    step = axis.top / (len(axis.ticks) - 1)
    digits = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(digits - nice) for nice in (1, 2, 5)) < 1e-6
    if whole:
        assert step >= 1


@given(lengths)
def test_labels_of_days_leave_each_other_room(count: int) -> None:
    centres = [100 * (place + 0.5) / count for place in range(count)]
    marks = day_marks(days_of(count), centres)
    few = [mark.x for mark in marks if mark.always]
    assert 1 <= len(few) <= 4
    assert len(marks) <= 8
    # A label such as "30 Sep" is about 45 px wide; the narrowest chart is 250 px, a wide one 450.
    assert all(after - before >= 45 / 2.5 for before, after in pairwise(few))
    every = [mark.x for mark in marks]
    assert all(after - before >= 45 / 4.5 for before, after in pairwise(every))


def test_a_stack_says_what_it_is_made_of() -> None:
    days = days_of(3)
    chart = bar_chart(
        "c", "Decisions", days, [Series("add", [3, 0, 1]), Series("ignore", [1, 0, 5])], unit="x"
    )
    assert [key.figure for key in chart.keys] == ["4", "6"]
    assert [row.figures for row in chart.rows] == [("3", "1"), ("0", "0"), ("1", "5")]
    assert [bar.note for bar in chart.bars] == [
        "1 Jan: add 3, ignore 1",
        "2 Jan: nothing",
        "3 Jan: add 1, ignore 5",
    ]
    assert chart.summary == "Decisions, 1 Jan to 3 Jan: 10 x in all, the most on 3 Jan with 6."
    assert [tick.label for tick in chart.ticks] == ["0", "2", "4", "6"]
    first = chart.bars[0].blocks
    assert [block.number for block in first] == [1, 2]
    assert chart.height - first[0].y == pytest.approx(3 * (first[0].y - first[1].y))
    assert first[1].y + first[1].height == pytest.approx(first[0].y - 1)


def test_no_numbers_are_a_sentence_without_axes() -> None:
    for values in ([0, 0], [None, None], []):
        chart = bar_chart("c", "Title", days_of(2), [Series("one", values)], unit="x")
        assert chart.is_empty
        assert chart.summary == "Nothing in these days."
        assert not (chart.ticks or chart.days or chart.bars or chart.keys)
        assert line_chart("c", "Title", [], [Series("one", values)], unit="x").is_empty
    zero = line_chart("c", "Title", days_of(2), [Series("one", [0, 0])], unit="ms")
    assert zero.lines[0].path.endswith(f"{zero.height:.1f}")
    small = bar_chart("c", "Title", days_of(2), [Series("one", [1, 1_000_000])], unit="x")
    assert small.bars[0].blocks[0].height >= 1


NARROW = "\N{NARROW NO-BREAK SPACE}"


def test_numbers_and_days_as_people_read_them() -> None:
    for value, shown in {
        0.25: "0.25",
        950: "950",
        999.7: "1k",
        1500: "1.5k",
        -1500: "-1.5k",
    }.items():
        assert short(value) == shown
    assert (short(20_000_000), short(5e18)) == ("20M", "5.0e+18")
    for value, shown in {float("nan"): "–", 0: "0", 3.14159: "3.14", 31.4159: "31.4"}.items():
        assert exact(value) == shown
    assert exact(None) == "–"
    assert exact(1234567) == f"1{NARROW}234{NARROW}567"
    assert day_name("2026-02-03") == "3 Feb"


@given(st.floats(min_value=1e-3, max_value=1e30))
def test_short_numbers_are_short(value: float) -> None:
    assert len(short(value)) <= 7


@given(st.text(max_size=300), st.integers(5, 120))
def test_what_is_cut_fits_on_a_line(text: str, most: int) -> None:
    made = cut(text, most)
    assert len(made) <= most
    assert "\n" not in made
    if len(" ".join(text.split())) <= most:
        assert made == " ".join(text.split())
    else:
        assert made.endswith("…")


@given(st.lists(st.lists(st.floats(max_value=1e300) | st.integers(0, 10**12), max_size=8)))
def test_strips_stay_inside(rows: list[list[float]]) -> None:
    made = strips(rows)
    assert len(made) == len(rows)
    for parts in made:
        end = 0.0
        for part in parts:
            assert part.width > 0
            assert part.x == pytest.approx(end)
            end = part.x + part.width
        assert end <= 100.0001


def test_the_longest_takes_the_whole_width() -> None:
    first, second, third = strips([[2, 0, 2], [1, 1, 0], [0, 0, 0]])
    assert [(part.number, part.x, part.width) for part in first] == [(1, 0, 50), (3, 50, 50)]
    assert [(part.number, part.width) for part in second] == [(1, 25), (2, 25)]
    assert third == ()
