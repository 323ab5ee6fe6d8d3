"""Times in plans: said relative to the day of the talk, kept as dates."""

import re
from collections.abc import Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Final

from ricordo.text.dates import CLEAR_MONTHS, ENGLISH_MONTHS

_INDONESIAN_MONTHS: Final = [
    "Januari",
    "Februari",
    "Maret",
    "April",
    "Mei",
    "Juni",
    "Juli",
    "Agustus",
    "September",
    "Oktober",
    "November",
    "Desember",
]
_DECEMBER: Final = 12
_MONTH = "|".join(sorted({*CLEAR_MONTHS, "march", "may", "mei", "maret"}, key=len, reverse=True))
_RELATIVE = re.compile(
    r"\b(?P<english>next (?:week|month|year)|tomorrow)\b|\b(?P<indonesian>minggu depan|"
    r"bulan depan|tahun depan|besok)\b",
    re.IGNORECASE,
)
_LONGEST_YEARS: Final = 10  # "in 99 months" is shorter
_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_IN_A_WHILE = re.compile(
    r"\bin (?P<count>a|one|two|three|four|five|six|[1-9]\d?) (?P<unit>weeks?|months?)"
    r"(?:['’]? time)?\b",
    re.IGNORECASE,
)
_MONTH_NEXT_YEAR = re.compile(rf"\b({_MONTH})(?: of)? (?:next year|tahun depan)\b", re.IGNORECASE)
_FIXED = re.compile(
    rf"\b(?:in|on|by|early|late|mid|end of|this|next|pada|bulan|di bulan|awal|akhir|tanggal|"
    rf"tgl) (?:the )?(?:bulan |\d{{1,2}}(?:st|nd|rd|"
    rf"th)? (?:of )?)?(?:{_MONTH})\b(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?|"
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTH})\b(?: \d{{4}})?|"
    r"\b(?:in|tahun|by) 20\d{2}\b|\b(?:this|next|in|in the) (?:spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)


def has_time(text: str) -> bool:
    """Whether a plan says when."""
    return bool(_RELATIVE.search(text) or _FIXED.search(text))


def with_dates(text: str, at: datetime) -> str:
    """The text with "next month" and the like replaced by what they mean at that time."""
    if at.year < MAXYEAR:
        text = _MONTH_NEXT_YEAR.sub(rf"\1 {at.year + 1}", text)
    if at.year < MAXYEAR - _LONGEST_YEARS:
        text = _IN_A_WHILE.sub(lambda found: _after_a_while(found, at), text)
    dated = _RELATIVE.sub(lambda found: _dated(found.group().lower(), at), text)
    return dated.replace(" of in ", " of ")


def _after_a_while(found: re.Match[str], at: datetime) -> str:
    """About when "in two weeks" is."""
    said = found["count"].lower()
    count = _COUNTS.get(said) or int(said)
    days = count * (7 if found["unit"].lower().startswith("week") else 30)
    then = at + timedelta(days=days)
    return f"around {_day(then, ENGLISH_MONTHS)}"


def _dated(phrase: str, at: datetime) -> str:
    """What the phrase means at that time; as said where the calendar ends."""
    if at.year >= MAXYEAR:
        return phrase
    next_month = at.month % _DECEMBER
    its_year = at.year + (at.month == _DECEMBER)
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
