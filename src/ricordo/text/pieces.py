"""Cuts a long text into pieces, after a line, a sentence or a word."""

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
