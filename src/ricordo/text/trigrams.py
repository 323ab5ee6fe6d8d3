"""Finds the known terms that a mistyped or truncated word may mean."""

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest
from math import ceil
from typing import Final

MIN_WORD_CHARS: Final = 3
# From this length on, a word with one typo is recognisable.
_MIN_SLIP_CHARS: Final = 5
_MAX_TRIGRAMS_IN_A_SLIP: Final = 4  # those around two swapped letters
_SAMPLE_CHARS: Final = 65_536  # enough of a vocabulary to tell frequent trigrams from rare ones

# The base score of a fragment; it grows with its share of the term.
_BEGINNING: Final = 0.5
_MIDDLE: Final = 0.35


def trigrams(word: str) -> frozenset[str]:
    """All runs of three characters of ``"  word "``; the spaces give the beginning more weight."""
    padded = f"  {word} "
    return frozenset(padded[place : place + 3] for place in range(len(word) + 1 if word else 0))


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
    scored = [
        (word, _similarity(term, own, word))
        for word in _worth_a_look(term, own, vocabulary, at_least)
    ]
    found = [(word, score) for word, score in scored if score >= at_least]
    return nsmallest(limit, found, key=lambda pair: (-pair[1], pair[0]))


def _worth_a_look(
    term: str, own: frozenset[str], vocabulary: Iterable[str], at_least: float
) -> list[str]:
    """The words that share enough trigrams to be similar, each once.

    All words are searched as one text: many times faster than one by one. A similar word shares
    ``needed`` trigrams, so the ``needed - 1`` most frequent ones need not be searched.
    """
    text = f"  {'   '.join(vocabulary)} "
    needed = max(1, min(ceil(at_least * len(own)), len(own) - _MAX_TRIGRAMS_IN_A_SLIP))
    skipped = needed - 1
    rarest_first = sorted(own, key=text[:_SAMPLE_CHARS].count)
    shared: Counter[str] = Counter()
    for trigram in rarest_first[: len(own) - skipped]:
        shared.update(_words_with(trigram, text))
    # With s trigrams in common of a and b, s / (a + b - s) >= at_least, solved for s. A word of n
    # letters, d of them different, has at least the smaller of n + 1 and d + 3 trigrams.
    least = at_least / (1 + at_least)
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


def _similarity(term: str, own: frozenset[str], word: str) -> float:
    if word == term:
        return 1.0
    theirs = trigrams(word)
    common = len(own & theirs)
    score = common / (len(own) + len(theirs) - common)
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
    """One letter more, less or different, or two neighbours swapped."""
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
