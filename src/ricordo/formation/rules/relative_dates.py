"""Relative dates of English and Indonesian as the dates that they mean."""

import re
from collections.abc import Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Final

from ricordo.formation.words import lines, pattern
from ricordo.text.dates import CLEAR_MONTHS, ENGLISH_MONTHS

_INDONESIAN_MONTHS: Final = lines("plans", "indonesian months")
_MONTH = "|".join(sorted({*CLEAR_MONTHS, "march", "may", "mei", "maret"}, key=len, reverse=True))
_RELATIVE = pattern("plans", "relative", re.IGNORECASE)
_LONGEST_YEARS: Final = 10  # "in 99 months" is shorter
_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_IN_A_WHILE = pattern("plans", "in a while", re.IGNORECASE)
_MONTH_NEXT_YEAR = re.compile(rf"\b({_MONTH})(?: of)? (?:next year|tahun depan)\b", re.IGNORECASE)


def with_dates(text: str, at: datetime) -> str:
    """Replace "next month" and the like by the date they mean at that time."""
    if at.year < MAXYEAR:
        text = _MONTH_NEXT_YEAR.sub(rf"\1 {at.year + 1}", text)
    if at.year < MAXYEAR - _LONGEST_YEARS:
        text = _IN_A_WHILE.sub(lambda found: f"around {_day_after(found, at)}", text)
    dated = _RELATIVE.sub(lambda found: _dated(found.group().lower(), at), text)
    return dated.replace(" of in ", " of ")


def _day_after(found: re.Match[str], at: datetime) -> str:
    """The approximate date of "in two weeks"."""
    said = found["count"].lower()
    count = _COUNTS.get(said) or int(said)
    days = count * (7 if found["unit"].lower().startswith("week") else 30)
    return _day(at + timedelta(days=days), ENGLISH_MONTHS)


def _dated(phrase: str, at: datetime) -> str:
    """The date that a phrase means; unchanged at the end of the calendar."""
    if at.year >= MAXYEAR:
        return phrase
    next_month = at.month % 12
    its_year = at.year + (at.month == 12)
    day = at + timedelta(days=1)
    monday = at + timedelta(days=7 - at.weekday())
    return {
        "tomorrow": f"on {_day(day, ENGLISH_MONTHS)}",
        "next week": f"in the week of {_day(monday, ENGLISH_MONTHS)}",
        "next month": f"in {ENGLISH_MONTHS[next_month]} {its_year}",
        "next year": f"in {at.year + 1}",
        "besok": f"pada {_day(day, _INDONESIAN_MONTHS)}",
        "minggu depan": f"pada minggu {_day(monday, _INDONESIAN_MONTHS)}",
        "bulan depan": f"pada {_INDONESIAN_MONTHS[next_month]} {its_year}",
        "tahun depan": f"pada tahun {at.year + 1}",
    }[phrase]


def _day(at: datetime, months: Sequence[str]) -> str:
    return f"{at.day} {months[at.month - 1]} {at.year}"
