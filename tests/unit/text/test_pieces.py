"""Long texts are cut where they break, and no character is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.pieces import clean_cut, first_piece, pieces

pytestmark = pytest.mark.requirement("recall.long_turns")

LETTERS = st.text(st.sampled_from("ab .!?\n\r\u0301\u200d\ufe0f語。👩🏽🚀é"), max_size=300)


@given(LETTERS | st.text(max_size=300), st.integers(1, 40))
def test_pieces_are_short_and_joined_they_are_the_text(text: str, maximum: int) -> None:
    found = pieces(text, maximum)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(end - start <= maximum for start, end in found)
    assert all(start < end for start, end in found) or text == ""
    assert found[0][0] == 0
    assert first_piece(text, maximum) == text[slice(*found[0])]


@given(LETTERS, st.integers(1, 40))
def test_the_first_piece_depends_on_the_beginning_alone(text: str, maximum: int) -> None:
    assert first_piece(text[: maximum + 1], maximum) == first_piece(text, maximum)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one line\nanother line. And more", "one line\n"),
        ("It is so. And then there", "It is so. "),
        ("some words and others", "some words "),
        ("語語語語語語語語語。語語語", "語語語語語語語語語。"),
        ("averylongwordwithoutbreaks", "averylongwo"),
        ("aaaaaaaaaae\u0301aaaa", "aaaaaaaaaa"),
        ("aaaaaaaaa👩\u200d🚀aaaa", "aaaaaaaaa"),
        ("aaaaaaaaaa👍🏽aaaa", "aaaaaaaaaa"),
        ("eleven char", "eleven char"),
    ],
)
def test_a_cut_is_after_a_line_a_sentence_or_a_word(text: str, first: str) -> None:
    assert first_piece(text, 11) == first


@given(st.text(st.sampled_from("e\u0301a\u0308n\u0303"), min_size=20, max_size=200))
def test_marks_stay_with_their_letters(text: str) -> None:
    runs = max(map(len, text.replace("a", "e").replace("n", "e").split("e")))
    for start, _ in pieces(text, 4 * runs + 8)[1:]:
        assert not unicodedata.combining(text[start])


@pytest.mark.parametrize(
    "syllable",
    [
        *("e\u0301", "เธ", "กำ", "ก้", "नि", "क्षि", "بَّ", "각", "\u1100\u1161\u11a8"),
        *("👩\u200d🚀", "👍🏽", "🇮🇩", "❤\ufe0f"),
    ],
)
def test_no_syllable_is_severed(syllable: str) -> None:
    text = f"a {syllable} {syllable}{syllable}"
    whole = {0, 1, 2, 2 + len(syllable), 3 + len(syllable), 3 + 2 * len(syllable), len(text)}
    assert {clean_cut(text, place) for place in range(-1, len(text) + 2)} == whole
    assert clean_cut(syllable * 2, len(syllable) - 1) == 0
