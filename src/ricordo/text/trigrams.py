"""Finds the known terms that a mistyped or truncated word may mean."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Final

import numpy as np

MIN_WORD_CHARS: Final = 3
# From this length on, a word with one typo is recognisable.
_MIN_SLIP_CHARS: Final = 5
_MAX_TRIGRAMS_IN_A_SLIP: Final = 4  # those around two swapped letters
_ROUNDING: Final = 1e-9
_SAMPLE_CHARS: Final = 65_536  # enough of a vocabulary to tell frequent trigrams from rare ones

# The base score of a fragment; it grows with its share of the term.
_BEGINNING: Final = 0.5
_MIDDLE: Final = 0.35


def trigrams(word: str) -> frozenset[str]:
    """All runs of three characters of ``"  word "``; the spaces give the beginning more weight."""
    padded = f"  {word} "
    return frozenset(padded[place : place + 3] for place in range(len(word) + 1 if word else 0))


class TrigramIndex:
    """The words of a vocabulary that only grows, by their trigrams."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._with: dict[str, array[int]] = {}
        self._sizes = array("i")
        self._counts = array("i")  # of its trigrams

    def __len__(self) -> int:
        return len(self._words)

    def extend(self, words: Iterable[str]) -> None:
        for number, word in enumerate(words, start=len(self._words)):
            self._words.append(word)
            own = trigrams(word)
            self._sizes.append(len(word))
            self._counts.append(len(own))
            for trigram in own:
                self._with.setdefault(trigram, array("i")).append(number)

    def similar(self, term: str, *, limit: int, at_least: float) -> list[tuple[str, float]]:
        """See :func:`similar_terms`."""
        own = trigrams(term)
        lists = [found for trigram in own if (found := self._with.get(trigram)) is not None]
        limit = min(limit, len(self._words))
        if len(term) < MIN_WORD_CHARS or not lists or limit <= 0:
            return []
        seen = np.bincount(np.frombuffer(b"".join(lists), np.int32), minlength=len(self._words))
        sizes, counts = (np.frombuffer(one, np.int32) for one in (self._sizes, self._counts))
        common = seen / (len(own) + counts - seen)
        is_near = common >= max(at_least, np.partition(common, -limit)[-limit:].min()) - _ROUNDING
        is_near |= (seen >= len(own) - _MAX_TRIGRAMS_IN_A_SLIP) & (abs(sizes - len(term)) <= 1)
        inside = len({term[place : place + 3] for place in range(len(term) - 2)})
        is_near |= (seen >= inside) & (sizes > len(term))
        is_near &= sizes >= MIN_WORD_CHARS
        near = np.flatnonzero(is_near)
        words = [self._words[number] for number in near.tolist()]
        return _best(term, zip(words, common[near].tolist(), strict=True), limit, at_least)


def similar_terms(
    term: str, vocabulary: Iterable[str], *, limit: int, at_least: float
) -> list[tuple[str, float]]:
    """The most similar terms of the vocabulary with their similarity, best first.

    1 for the term itself, otherwise the largest of: the share of common trigrams; for a fragment,
    its share of the term and whether the term begins with it; for words of five letters and more
    with one typo (a letter dropped, doubled, wrong, or two swapped), one minus the share of that
    letter. Words under three characters give nothing.
    """
    if len(term) < MIN_WORD_CHARS or limit <= 0:
        return []
    own = trigrams(term)
    # All words are searched as one text: many times faster than one by one. A similar word shares
    # ``needed`` trigrams, so the ``needed - 1`` most frequent ones need not be searched.
    text = f"  {'   '.join(vocabulary)} "
    needed = max(1, min(ceil(at_least * len(own)), len(own) - _MAX_TRIGRAMS_IN_A_SLIP))
    skipped = needed - 1
    rarest_first = sorted(own, key=text[:_SAMPLE_CHARS].count)
    shared: Counter[str] = Counter()
    for trigram in rarest_first[: len(own) - skipped]:
        shared.update(_words_with(trigram, text))
    words = _worth_a_look(term, own, shared, skipped, at_least)
    return _best(term, ((word, _common(own, trigrams(word))) for word in words), limit, at_least)


def best_of(found: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]


def _best(
    term: str, words: Iterable[tuple[str, float]], limit: int, at_least: float
) -> list[tuple[str, float]]:
    """The best of words with the share of trigrams that they have in common with the term."""
    scored = ((word, _similarity(term, word, common)) for word, common in words)
    return best_of((pair for pair in scored if pair[1] >= at_least), limit)


def _common(own: frozenset[str], others: frozenset[str]) -> float:
    both = len(own & others)
    return both / (len(own) + len(others) - both)


def _worth_a_look(
    term: str, own: frozenset[str], shared: Mapping[str, int], skipped: int, at_least: float
) -> list[str]:
    """The words that share enough trigrams to be similar, of which some were not looked for.

    With s trigrams in common of a and b, s / (a + b - s) >= at_least, solved for s / (a + b). A
    word of n letters, d of them different, has at least the smaller of n + 1 and d + 3 trigrams.
    """
    least = at_least / (1 + at_least) - _ROUNDING
    count, size, after_slip = len(own), len(term), len(own) - _MAX_TRIGRAMS_IN_A_SLIP
    return [
        word
        for word, seen in shared.items()
        if len(word) >= MIN_WORD_CHARS
        and (
            seen + skipped >= least * (count + min(len(word) + 1, len(set(word)) + 3))
            or (abs(len(word) - size) <= 1 and seen + skipped >= after_slip)
            or term in word
        )
    ]


def _words_with(trigram: str, text: str) -> set[str]:
    found = set()
    offset = len(trigram) - len(trigram.lstrip(" "))  # to a letter of the word
    place = text.find(trigram)
    while place >= 0:
        letter = place + offset
        end = text.index(" ", letter)
        found.add(text[text.rindex(" ", 0, letter + 1) + 1 : end])
        place = text.find(trigram, end - 1)
    return found


def _similarity(term: str, word: str, score: float) -> float:
    if word == term:
        return 1.0
    if word.startswith(term):
        score = max(score, _BEGINNING + (1 - _BEGINNING) * len(term) / len(word))
    elif term in word:
        score = max(score, _MIDDLE + (1 - _MIDDLE) * len(term) / len(word))
    longer = max(len(term), len(word))
    if longer >= _MIN_SLIP_CHARS and _differ_by_one_slip(term, word):
        score = max(score, 1 - 1 / longer)
    # Only the term itself is 1, even where all trigrams are equal (aaaa and aaaaa).
    return min(score, 1 - 1 / (2 * longer))


def _differ_by_one_slip(one: str, other: str) -> bool:
    """One letter more, less or different, or two neighbours swapped. Of words of three letters and
    more: either end stays.
    """
    if one[0] != other[0] and one[-1] != other[-1]:
        return False
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    start = 0
    while start < len(one) and one[start] == other[start]:
        start += 1
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    if one[start + 1 :] == other[start + 1 :]:
        return True
    swapped = one[start + 1 : start + 2] + one[start : start + 1]
    return swapped == other[start : start + 2] and one[start + 2 :] == other[start + 2 :]
