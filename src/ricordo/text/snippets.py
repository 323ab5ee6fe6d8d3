"""The part of a long text that matches a query best."""

import re
from collections.abc import Collection
from functools import cached_property
from typing import Final, NamedTuple

from ricordo.text.analyser import Analyser
from ricordo.text.pieces import clean_cut

_CUT_MARK: Final = "…"
_HEAD_CHARS: Final = 3
# A longer run without spaces (Japanese, an address) is cut.
_LONGEST_WORD: Final = 40


class _Hit(NamedTuple):
    start: int
    end: int
    terms: frozenset[str]


def snippet(content: str, terms: Collection[str], analyser: Analyser, max_chars: int = 240) -> str:
    """The content on one line; when too long, the part with most of the terms.

    ``terms`` come from the same analyser. Cuts between words, or else between syllables, marked by
    "…", which counts towards ``max_chars``. Without a match, the beginning.
    """
    return Snippets(terms, analyser, max_chars).of(content)


class Snippets:
    """Snippets of several texts for one query, sharing its preparation."""

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
