"""Months, years and days named in a question."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.analyser import Analyser
from ricordo.text.dates import NamedTime, date_terms, named_times
from ricordo.text.month_names import ENGLISH_MONTHS


def named(text: str) -> tuple[set[int], set[int], set[int]] | None:
    found = named_times(text)
    return None if found is None else (set(found.months), set(found.years), set(found.days))


@pytest.mark.parametrize(
    ("text", "months", "years", "days"),
    [
        ("What happened in May 2023?", {5}, {2023}, set()),
        ("what did we do in may", {5}, set(), set()),
        ("the May trip", {5}, set(), set()),
        ("on 7 may", {5}, set(), {7}),
        ("May 7th, 2024", {5}, {2024}, {7}),
        ("the 3rd of March", {3}, set(), {3}),
        ("May 7-9", {5}, set(), {7, 8, 9}),
        ("7.–9. Mai", {5}, set(), {7, 8, 9}),
        ("since march", {3}, set(), set()),
        ("Mar 5", {3}, set(), {5}),
        ("in Jan", {1}, set(), set()),
        ("december or JUNE", {6, 12}, set(), set()),
        ("April's meeting", {4}, set(), set()),
        ("pada bulan mei", {5}, set(), set()),
        ("17 Agustus 1945", {8}, {1945}, {17}),
        ("im März", {3}, set(), set()),
        ("2. Dez. 2021", {12}, {2021}, {2}),
        ("el 5 de mayo de 2022", {5}, {2022}, {5}),
        ("en août", {8}, set(), set()),
        ("le 1er mars", {3}, set(), {1}),
        ("a settembre", {9}, set(), set()),
        ("em março", {3}, set(), set()),
        ("7 de set de 2020", {9}, {2020}, {7}),
        ("out/2024", {10}, {2024}, set()),
        ("12 mei", {5}, set(), {12}),
        ("2024-05-07", {5}, {2024}, {7}),
        ("at 2024-05-07T10:00", {5}, {2024}, {7}),
        ("2024-05", {5}, {2024}, set()),
        ("7/5/2024", set(), {2024}, set()),
        ("07.05.2024", set(), {2024}, set()),
        ("5/2024", set(), {2024}, set()),
        ("between 2019-2020?", set(), {2019, 2020}, set()),
        ("back in 1999.", set(), {1999}, set()),
    ],
)
def test_what_is_named(text: str, months: set[int], years: set[int], days: set[int]) -> None:
    assert named(text) == (months, years, days)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "it may rain",
        "May I ask?",
        "It rained. May I go?",
        "we march on",
        "a march",
        "life on Mars",
        "what did Mei say",
        "Jan called",
        "a gift from Jan",
        "two years ago",
        "2 ago",
        "5 out of 10",
        "set 3 alarms",
        "des enfants",
        "o mar",
        "agua de mar",
        "Marco called",
        "mayo on bread",
        "ERR-2024",
        "v2024",
        "$2000",
        "2,024",
        "12024",
        "2100",
        "1899",
        "1999.99",
        "the 1990s",
        "room 12",
        "marching decembers",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert named(text) is None


def test_covers() -> None:
    moment = datetime(2024, 5, 7, tzinfo=UTC)
    nothing: frozenset[int] = frozenset()
    assert NamedTime(frozenset({5, 6}), nothing, nothing).covers(moment)
    assert NamedTime(nothing, frozenset({2024}), nothing).covers(moment)
    assert NamedTime(frozenset({5}), frozenset({2024}), frozenset({7})).covers(moment)
    assert not NamedTime(frozenset({4}), nothing, nothing).covers(moment)
    assert not NamedTime(frozenset({5}), frozenset({2023}), nothing).covers(moment)
    assert not NamedTime(frozenset({5}), frozenset({2024}), frozenset({8})).covers(moment)


def test_the_words_of_a_time() -> None:
    assert date_terms(datetime(2024, 5, 7, 23, 59, tzinfo=UTC)) == "2024-05-07 7 May 2024"
    found = set(Analyser().terms(date_terms(datetime(2024, 5, 7, tzinfo=UTC))))
    assert {"2024-05-07", "7", "may", "2024"} <= found


@given(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)))
def test_a_time_is_covered_by_its_own_words(moment: datetime) -> None:
    for text in (
        date_terms(moment),
        f"what was on {moment.date()}?",
        f"{ENGLISH_MONTHS[moment.month - 1]} {moment.day}, {moment.year}",
    ):
        found = named_times(text)
        assert found == NamedTime(
            frozenset({moment.month}), frozenset({moment.year}), frozenset({moment.day})
        )
        assert found.covers(moment)


@given(st.text(st.characters(codec=None), max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    found = named_times(text)
    assert found is None or found.months or found.years


@pytest.mark.requirement("faults.fuzzed")
def test_a_question_of_nothing_but_months_is_read_once() -> None:
    """So long that what looks back to the beginning from each of them never comes to an end."""
    assert named_times("may " * 60_000) is None
    named = named_times("may " * 60_000 + "in may")
    assert named is not None
    assert named.months == {5}
