"""Months, years and days named in a question."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.analyser import Analyser
from ricordo.text.dates import ENGLISH_MONTHS, NamedTime, date_terms, named_times
from tests.unit.tables import cases, phrases

# What is asked => the months, years and days that it names.
NAMED = """
What happened in May 2023? => m5 y2023
what did we do in may => m5
the May trip => m5
on 7 may => m5 d7
May 7th, 2024 => m5 y2024 d7
the 3rd of March => m3 d3
May 7-9 => m5 d7 d8 d9
7.–9. Mai => m5 d7 d8 d9
since march => m3
Mar 5 => m3 d5
in Jan => m1
december or JUNE => m6 m12
April's meeting => m4
pada bulan mei => m5
17 Agustus 1945 => m8 y1945 d17
im März => m3
2. Dez. 2021 => m12 y2021 d2
el 5 de mayo de 2022 => m5 y2022 d5
en août => m8
le 1er mars => m3 d1
a settembre => m9
em março => m3
7 de set de 2020 => m9 y2020 d7
out/2024 => m10 y2024
12 mei => m5 d12
2024-05-07 => m5 y2024 d7
at 2024-05-07T10:00 => m5 y2024 d7
2024-05 => m5 y2024
7/5/2024 => y2024
07.05.2024 => y2024
5/2024 => y2024
between 2019-2020? => y2019 y2020
back in 1999. => y1999
"""
NO_DATES = """
it may rain | May I ask? | It rained. May I go? | we march on | a march | life on Mars |
what did Mei say | Jan called | a gift from Jan | two years ago | 2 ago | 5 out of 10 |
set 3 alarms | des enfants | o mar | agua de mar | Marco called | mayo on bread | ERR-2024 | v2024 |
$2000 | 2,024 | 12024 | 2100 | 1899 | 1999.99 | the 1990s | room 12 | marching decembers
"""


def test_what_is_named() -> None:
    for text, expected in cases(NAMED):
        found = named_times(text)
        assert found is not None, text
        kinds = (("m", found.months), ("y", found.years), ("d", found.days))
        assert [f"{kind}{number}" for kind, all_ in kinds for number in sorted(all_)] == (
            expected.split()
        )
    for text in ["", *phrases(NO_DATES)]:
        assert named_times(text) is None, text


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


@pytest.mark.slow
@pytest.mark.requirement("faults.fuzzed")
def test_a_question_of_nothing_but_months_is_read_once() -> None:
    """So long that what looks back to the beginning from each of them never comes to an end."""
    assert named_times("may " * 60_000) is None
    named = named_times("may " * 60_000 + "in may")
    assert named is not None
    assert named.months == {5}
