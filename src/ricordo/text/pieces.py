"""Cuts a long text into pieces, after a line, a sentence or a word; never through a letter."""

import re
import unicodedata
from itertools import pairwise
from typing import Final

from ricordo.limits import MAX_PIECE_CHARS

Span = tuple[int, int]

_BREAKS: Final = (
    re.compile(r"\n"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]"),
    re.compile(r"\s"),
)
_MODIFIERS: Final = ("\U0001f3fb", "\U0001f3ff")  # of skin, after an emoji
_LOW_SURROGATES: Final = ("\udc00", "\udfff")
_JOINER: Final = "\u200d"
_FLAG_HALVES: Final = ("\U0001f1e6", "\U0001f1ff")
# Vowels of Thai and Lao that are letters of their own: those behind a consonant and those before.
_VOWELS_BEHIND: Final = frozenset("\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3")
_VOWELS_BEFORE: Final = frozenset("\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4")
_VIRAMA: Final = 9  # the combining class of the sign that joins two consonants into one
_LONGEST_LETTER: Final = 32


def pieces(text: str, maximum: int = MAX_PIECE_CHARS) -> list[Span]:
    """Where the pieces of a text begin and end, in order: each is at most ``maximum`` long, and
    joined they are the text.
    """
    ends = [0]
    while len(text) - ends[-1] > maximum:
        ends.append(_end(text, ends[-1], maximum))
    return list(pairwise([*ends, len(text)]))


def first_piece(text: str, maximum: int = MAX_PIECE_CHARS) -> str:
    return text if len(text) <= maximum else text[: _end(text, 0, maximum)]


def clean_cut(text: str, place: int) -> int:
    """The last position up to ``place`` that severs no accent, vowel, joined consonant, syllable,
    emoji or flag from what it belongs to."""
    place = max(0, min(place, len(text)))
    if place in (0, len(text)) or text[place - 1 : place + 1].isascii():
        return place
    cuts = range(place, max(place - _LONGEST_LETTER, 0), -1)
    beyond = 0 if place <= _LONGEST_LETTER else place
    return next((cut for cut in cuts if not _is_inside_syllable(text, cut)), beyond)


def _end(text: str, start: int, maximum: int) -> int:
    """The end of the piece from ``start``: the last break in its second half, if there is one."""
    middle, most = start + (maximum + 1) // 2, start + maximum
    for after in _BREAKS:
        ends = [found.end() for found in after.finditer(text, middle, most)]
        if ends and not _is_inside(text, ends[-1]):
            return ends[-1]
    end = most
    while end > middle and _is_inside(text, end):
        end -= 1
    return end if end > middle else most


def _is_inside(text: str, place: int) -> bool:
    """Whether a cut here would divide one character as people see it."""
    letter, before = text[place], text[place - 1]
    return (
        before == _JOINER
        or letter == _JOINER
        or (before, letter) == ("\r", "\n")
        or unicodedata.category(letter).startswith("M")
        or _MODIFIERS[0] <= letter <= _MODIFIERS[1]
        or _LOW_SURROGATES[0] <= letter <= _LOW_SURROGATES[1]
    )


def _is_inside_syllable(text: str, place: int) -> bool:
    letter, before = text[place], text[place - 1]
    return (
        (_is_inside(text, place) and not before.isspace())
        or letter in _VOWELS_BEHIND
        or before in _VOWELS_BEFORE
        or unicodedata.combining(before) == _VIRAMA
        or ("\u1100" <= before <= "\u11a7" and "\u1160" <= letter <= "\u11ff")
        or (_is_flag_half(letter) and _flag_halves_before(text, place) % 2 == 1)
    )


def _is_flag_half(letter: str) -> bool:
    return _FLAG_HALVES[0] <= letter <= _FLAG_HALVES[1]


def _flag_halves_before(text: str, place: int) -> int:
    start = place
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return place - start
