"""Numbers, days and cut texts as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.web.drawing.figures import cut, day_name, exact, short

NARROW = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.requirement("page.charts")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (7, "7"),
        (0.25, "0.25"),
        (950, "950"),
        (999.7, "1k"),
        (1000, "1k"),
        (1500, "1.5k"),
        (20_000_000, "20M"),
        (5e18, "5.0e+18"),
        (-1500, "-1.5k"),
    ],
)
def test_an_axis_has_short_numbers(value: float, shown: str) -> None:
    assert short(value) == shown


@pytest.mark.requirement("page.charts")
@given(st.floats(min_value=1e-3, max_value=1e30))
def test_short_numbers_are_short(value: float) -> None:
    assert len(short(value)) <= 7


@pytest.mark.requirement("page.charts")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0"),
        (1234567, f"1{NARROW}234{NARROW}567"),
        (3.14159, "3.14"),
        (31.4159, "31.4"),
    ],
)
def test_a_table_has_exact_numbers(value: float | None, shown: str) -> None:
    assert exact(value) == shown


def test_days_are_named() -> None:
    assert day_name("2026-02-03") == "3 Feb"


@given(st.text(max_size=300), st.integers(5, 120))
def test_what_is_cut_fits_on_a_line(text: str, most: int) -> None:
    made = cut(text, most)
    assert len(made) <= most
    assert "\n" not in made
    if len(" ".join(text.split())) <= most:
        assert made == " ".join(text.split())
    else:
        assert made.endswith("…")


def test_texts_are_cut_between_words_where_they_can_be() -> None:
    assert cut("prefers green tea in the morning", 20) == "prefers green tea…"
    assert cut("x" * 50, 10) == "x" * 9 + "…"
