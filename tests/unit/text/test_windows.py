"""The end of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.windows import tail_words


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("one two  three\nfour ", 2, "three four"),
        ("one two", 5, "one two"),
        ("東京タワーに行きました", 2, "ワーに行きました"),
        (" 東京タワーに行きました\n", 1, "きました"),
        ("short", 2, "short"),
        ("one two", 0, ""),
        ("", 3, ""),
        ("   ", 3, ""),
    ],
)
def test_tails(text: str, count: int, expected: str) -> None:
    assert tail_words(text, count) == expected


@given(st.text(max_size=100), st.integers(1, 10))
def test_a_tail_is_the_end_of_the_text(text: str, count: int) -> None:
    found = tail_words(text, count)
    assert " ".join(text.split()).endswith(found)
    assert len(found.split()) <= count
    assert bool(found) == bool(text.strip())
