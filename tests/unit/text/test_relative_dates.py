"""Dates that are named by their distance."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.dates import spelled, with_meant_dates
from tests.unit.tables import cases

pytestmark = pytest.mark.requirement("prompt.recall")

MONDAY = datetime(2023, 5, 8, 13, tzinfo=UTC)

MEANT = """
I met her yesterday => I met her yesterday (7 May 2023)
the day before yesterday => the day before yesterday (6 May 2023)
last Friday, and last Monday => last Friday (5 May 2023), and last Monday (1 May 2023)
this coming Monday => this coming Monday (15 May 2023)
two weeks ago => two weeks ago (about 24 April 2023)
we moved 4 years ago => we moved 4 years ago (2019)
last week => last week (the week of 1 May 2023)
last weekend => last weekend (the weekend of 6 May 2023)
five months ago => five months ago (December 2022)
next year => next year (2024)
vor drei Tagen => vor drei Tagen (5 May 2023)
Anteayer llovió. => Anteayer (6 May 2023) llovió.
besok pagi => besok (9 May 2023) pagi
昨日行きました => 昨日 (7 May 2023)行きました
yesterday's paper => yesterday's paper
Wir wohnen hier. => Wir wohnen hier.
a few days ago => a few days ago
the last Friday deal => the last Friday (5 May 2023) deal
"""


WORDS = re.findall(r"\w+", MEANT)


def test_the_date_is_said_beside_its_name() -> None:
    for said, expected in cases(MEANT):
        assert with_meant_dates(said, MONDAY) == expected, said


def test_days_are_spelled() -> None:
    assert spelled(MONDAY) == "8 May 2023"


_INSERTED = re.compile(r" \((?:about |the week(?:end)? of )?(?:\d{1,2} )?(?:[A-Z]\w+ )?\d{1,4}\)")


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join), st.datetimes())
def test_nothing_else_changes(text: str, at: datetime) -> None:
    assert _INSERTED.sub("", with_meant_dates(text, at)) == _INSERTED.sub("", text)
