"""Strips in tables: all to one scale, never wider than their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.web.drawing.strips import strips


@pytest.mark.requirement("page.charts")
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


@pytest.mark.requirement("page.charts")
def test_the_longest_takes_the_whole_width() -> None:
    first, second, third = strips([[2, 0, 2], [1, 1, 0], [0, 0, 0]])
    assert [(part.number, part.x, part.width) for part in first] == [(1, 0, 50), (3, 50, 50)]
    assert [(part.number, part.width) for part in second] == [(1, 25), (2, 25)]
    assert third == ()
