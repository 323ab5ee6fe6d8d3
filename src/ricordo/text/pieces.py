"""Parts of a long text: pieces that end after a line, a sentence or a word; the best snippet."""

import re
import unicodedata
from collections.abc import Collection
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from ricordo.limits import MAX_PIECE_CHARS
from ricordo.text.analyser import Analyser

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


_CUT_MARK: Final = "…"
_HEAD_CHARS: Final = 3
# A longer run without spaces (Japanese, an address) is cut.
_LONGEST_WORD: Final = 40


class _Hit(NamedTuple):
    start: int
    end: int
    terms: frozenset[str]


class Snippets:
    """Snippets of several texts for one query, sharing its preparation.

    A snippet is the content on one line; when too long, the part with most of the terms, which come
    from the same analyser. It is cut between words, or else between syllables, marked by "…", which
    counts towards ``max_chars``. Without a match, it is the beginning.
    """

    def __init__(self, terms: Collection[str], analyser: Analyser, max_chars: int = 240) -> None:
        self._wanted = frozenset(terms)
        self._analyser = analyser
        self._max_chars = max_chars
        self._known: dict[str, frozenset[str]] = {}

    def of(self, content: str, at_least: int = 0) -> str:
        flat = " ".join(content.split())
        max_chars = max(self._max_chars, at_least)
        if len(flat) <= max_chars:
            return flat
        room = max_chars - 2 * len(_CUT_MARK)
        if room <= 0:
            return _CUT_MARK[: max(max_chars, 0)]
        start, end = _widened(flat, *_densest(self._hits(flat), room), room)
        before = _CUT_MARK if start > 0 else ""
        after = _CUT_MARK if end < len(flat) else ""
        return f"{before}{flat[start:end]}{after}"

    # Stemming and folding keep the head of a plain word, so it can be searched quickly.

    @cached_property
    def _in_plain(self) -> re.Pattern[str]:
        heads = sorted({re.escape(term[:_HEAD_CHARS]) for term in self._wanted})
        return re.compile("|".join(heads))

    @cached_property
    def _in_any(self) -> re.Pattern[str]:
        return re.compile(rf"{self._in_plain.pattern}|[^\x00-\x7f]")

    def _hits(self, flat: str) -> list[_Hit]:
        if not self._wanted:
            return []
        possible = self._in_plain if flat.isascii() else self._in_any
        lower = flat.lower()
        lower = lower if len(lower) == len(flat) else flat
        found = []
        reached = 0
        while match := possible.search(lower, reached):
            start, reached = _word_around(flat, match.start(), reached)
            terms = self._terms_of(flat[start:reached])
            if terms:
                found.append(_Hit(start, reached, terms))
        return found

    def _terms_of(self, word: str) -> frozenset[str]:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._wanted.intersection(self._analyser.terms(word))
        return known


def _word_around(flat: str, place: int, after: int) -> tuple[int, int]:
    """The bounds of the word at a position; of a long run, the piece after ``after``."""
    start = max(flat.rfind(" ", after, place) + 1, after, place - _LONGEST_WORD)
    end = flat.find(" ", place)
    return start, min(len(flat) if end < 0 else end, start + 2 * _LONGEST_WORD)


def _densest(hits: list[_Hit], room: int) -> tuple[int, int]:
    """The bounds of the part with most distinct terms, then most matches, then the earliest.

    Starts and ends with a match; without any, the beginning.
    """
    inside: dict[str, int] = {}
    best = (0, 0)
    chosen = (0, 0)
    oldest = 0
    for newest, last in enumerate(hits):
        for term in last.terms:
            inside[term] = inside.get(term, 0) + 1
        while last.end - hits[oldest].start > room and oldest < newest:
            for term in hits[oldest].terms:
                inside[term] -= 1
                if not inside[term]:
                    del inside[term]
            oldest += 1
        score = (len(inside), newest - oldest + 1)
        if score > best:
            best, chosen = score, (hits[oldest].start, last.end)
    return chosen


def _widened(flat: str, first: int, last: int, room: int) -> tuple[int, int]:
    """Extend evenly on both sides as far as there is room, and cut between words."""
    spare = max(room - (last - first), 0)
    start = max(first - spare // 2, 0)
    end = min(start + room, len(flat))
    start = max(end - room, 0)
    if start > 0 and flat[start - 1] != " ":
        space = flat.find(" ", start, first)
        start = space + 1 if space >= 0 else _clean_start(flat, start, first)
    if end < len(flat) and flat[end] != " ":
        space = flat.rfind(" ", max(last, start), end)
        end = space if space > start else max(clean_cut(flat, end), start)
    return start, end


def _clean_start(flat: str, start: int, first: int) -> int:
    return next((place for place in range(start, first) if clean_cut(flat, place) == place), start)
