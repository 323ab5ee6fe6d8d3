"""Which sentences of many tell most, in the room that there is.

Pure functions: the same sentences always give the same choice.
"""

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ricordo.text.analyser import Analyser
from ricordo.text.folding import is_dense

CUT_MARK: Final = "…"
MAX_SENTENCE_CHARS: Final = 240
_LONGEST_WORD: Final = 60
# What a sentence without any telling word is worth, such as "Yes." or a sign.
_BARE_WORTH: Final = 0.1
# Added to lengths, so that very short sentences do not win by being short.
_LENGTH_OFFSET: Final = 30


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of somebody. Those of one ``place`` stand together after the speaker's name."""

    place: int
    speaker: str
    text: str
    weight: float


def within(
    sentences: Sequence[Sentence], room: int, analyser: Analyser, *, keeps_first: bool = False
) -> str:
    """As many of the sentences as fit into this many characters, in their order, one line a place.

    Those come first that bring most new terms for their length, rare terms above frequent ones.
    ``keeps_first`` takes the very first sentence in any case.
    """
    terms = [frozenset(analyser.terms(sentence.text)) for sentence in sentences]
    worth = _worth_of_terms(terms)
    covered: set[str] = set()
    opened: set[int] = set()
    chosen: list[int] = []
    repeated: set[str] = set()

    def gain(index: int) -> float:
        sentence = sentences[index]
        if sentence.text in repeated:
            return 0.0
        # Summed exactly, because the order of sets differs from one process to the next.
        new = math.fsum(worth[term] for term in terms[index] - covered)
        return (
            sentence.weight * (new + _BARE_WORTH) / math.sqrt(len(sentence.text) + _LENGTH_OFFSET)
        )

    def take(index: int) -> None:
        nonlocal room
        sentence = sentences[index]
        cost = _cost(sentence, is_new_line=sentence.place not in opened)
        if cost <= room:
            room -= cost
            opened.add(sentence.place)
            covered.update(terms[index])
            repeated.add(sentence.text)
            chosen.append(index)

    waiting = [(-gain(index), index) for index in range(len(sentences))]
    if keeps_first and sentences:
        take(0)
        del waiting[0]
    heapq.heapify(waiting)
    while waiting:
        _, index = heapq.heappop(waiting)
        now = gain(index)  # what was chosen since can only have made it less
        if now <= 0:
            continue
        if waiting and -now > waiting[0][0]:
            heapq.heappush(waiting, (-now, index))
        else:
            take(index)
    return _lines([sentences[index] for index in sorted(chosen)])


def shortened(text: str, maximum: int) -> str:
    """The text on one line, cut between words where it is too long, which ``…`` shows.

    A script without spaces is cut after any character, and so is a word of absurd length.
    """
    flat = " ".join(text.split())
    if len(flat) <= maximum:
        return flat
    end = maximum - len(CUT_MARK)
    if end <= 0:
        return ""
    if flat[end] != " " and not is_dense(flat[end]) and not is_dense(flat[end - 1]):
        space = flat.rfind(" ", 0, end)
        begins = space + 1
        if end - begins <= _LONGEST_WORD:
            end = max(space, 0)
    head = flat[:end].rstrip()
    return f"{head}{CUT_MARK}" if head else ""


def _worth_of_terms(terms: Sequence[frozenset[str]]) -> dict[str, float]:
    """A term that most sentences have says little of any of them."""
    frequency = Counter(term for found in terms for term in found)
    return {term: math.log(1 + len(terms) / count) for term, count in frequency.items()}


def _cost(sentence: Sentence, *, is_new_line: bool) -> int:
    prefix = len(sentence.speaker) + 2 if sentence.speaker else 0
    return len(sentence.text) + 1 + (prefix if is_new_line else 0)


def _lines(chosen: Sequence[Sentence]) -> str:
    lines: dict[int, list[str]] = {}
    for sentence in chosen:
        begun = f"{sentence.speaker}: {sentence.text}" if sentence.speaker else sentence.text
        if sentence.place in lines:
            lines[sentence.place].append(sentence.text)
        else:
            lines[sentence.place] = [begun]
    return "\n".join(" ".join(parts) for parts in lines.values())
