"""How many tokens a text may cost, without any tokenizer, and texts cut to a budget of tokens.

The estimate errs upwards (see :func:`estimate_tokens`), because a budget that is kept by the
estimate must be kept by the model. Who has the tokenizer of the model can count exactly instead: a
:data:`TokenCounter` stands wherever the estimate does.
"""

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from ricordo.text.splitting import is_dense
from ricordo.text.token_costs import CHARACTERS, UNITS, WHOLE_WORDS, letter_prices

TokenCounter = Callable[[str], int]
"""Tells how many tokens a text costs; an empty text costs 0."""

# Letters take the space before them along, as the tokenizers do, and a new word begins where a
# capital follows a small letter.
_WORD = re.compile(r" ?(?:[a-z]+|[A-Z]+[a-z]*)")
_LETTER_PRICES: Final = letter_prices()
_PAIR_TWICE = re.compile(r"([A-Za-z]{2})\1")
_REPEAT_COST: Final = 4  # units; twice as many are less than a token

_START_COST: Final = 1  # some tokenizers mark the start of a text
_CUT_MARK: Final = "…"
_SPACE_OR_BEYOND_ASCII = re.compile(r"\s+|[^\x00-\x7f]")


def estimate_tokens(text: str) -> int:
    """An upward estimate of the tokens of a text.

    A common English word costs one token, with the space before it. The letters of other words
    cost the less the more usual their pairs are; capitals after a capital cost one token each.
    Each digit, sign, line break and further space costs one. Characters beyond ASCII cost their
    bytes, and common ones less. The start of a text costs one more.

    Takes linear time, and never gives more for two texts joined than for the two apart.
    """
    if not text:
        return 0
    words = _WORD.findall(text)
    cost, in_words = _START_COST + _cost_at_ends(text, words), 0
    for word, times in Counter(words).items():
        cost += _word_cost(word) * times
        in_words += len(word) * times
    return cost + _characters_cost(text) - in_words


def _word_cost(word: str) -> int:
    return 1 if word in WHOLE_WORDS else _letters_cost(word)


def _letters_cost(word: str) -> int:
    letters = word if word[0] == " " else " " + word
    units = sum(map(_LETTER_PRICES.__getitem__, itertools.pairwise(letters)))
    if _PAIR_TWICE.search(word):
        units += _repeats_cost(letters)
    return -(-units // UNITS)


def _repeats_cost(letters: str) -> int:
    """What letters cost more, in units, that continue a pair like that of "hahaha".

    Tokenizers have the usual pairs, but not their repeats. No letter gets dearer than a first one,
    and only two can get dearer when texts are joined: less than the start of a text costs.
    """
    return sum(
        min(_REPEAT_COST, UNITS - _LETTER_PRICES[letters[place - 1], letters[place]])
        for place in range(4, len(letters))
        if letters[place - 3 : place - 1] == letters[place - 1 : place + 1]
    )


def _cost_at_ends(text: str, words: Sequence[str]) -> int:
    """What words at the very start and end cost more.

    They may go on in the text that is joined to this one, and then their letters count.
    """
    ends = set()
    if words and text[0] != " " and text.startswith(words[0]):
        ends.add(0)
    if words and text.endswith(words[-1]):
        ends.add(len(words) - 1)
    return sum(_letters_cost(words[place]) - _word_cost(words[place]) for place in ends)


def _characters_cost(text: str) -> int:
    """What the text costs when each character is paid for, those of ASCII with one token."""
    if text.isascii():
        return len(text)
    return sum(_character_cost(one) * times for one, times in Counter(text).items())


@functools.lru_cache(maxsize=4096)
def _character_cost(character: str) -> int:
    """The price of one character: at most its bytes, before or after the tokenizer unfolds it."""
    if character.isascii():
        return 1
    unfolded = unicodedata.normalize("NFKC", character)
    return CHARACTERS.get(character) or max(
        len(form.encode("utf-8", "surrogatepass")) for form in (character, unfolded)
    )


def fit_tokens(text: str, budget: int, count: TokenCounter = estimate_tokens) -> str:
    """The text if it fits the budget, else its longest head of whole words and "…" that does.

    Scripts without spaces can be cut after any character. Nothing if not even one word fits. The
    result never costs more than the budget by ``count``, which is asked O(log n) times; what it
    raises is passed on.
    """
    if count(text) <= budget:
        return text
    cuts = _cuts(text)

    def head(words: int) -> str:
        return text[: cuts[words - 1]].rstrip() + _CUT_MARK

    kept = _most(len(cuts), lambda words: count(head(words)) <= budget)
    return head(kept) if kept else ""


def fit_tail_tokens(text: str, budget: int, count: TokenCounter = estimate_tokens) -> str:
    """The text if it fits the budget, else "…" and its longest tail of whole words that does.

    Otherwise like :func:`fit_tokens`.
    """
    if count(text) <= budget:
        return text
    cuts = _cuts(text)

    def tail(words: int) -> str:
        return _CUT_MARK + text[cuts[-words] :].lstrip()

    kept = _most(len(cuts), lambda words: count(tail(words)) <= budget)
    return tail(kept) if kept else ""


def _cuts(text: str) -> list[int]:
    """Where the text can be cut into two parts that both have something in them."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    cuts = set()
    for found in _SPACE_OR_BEYOND_ASCII.finditer(text, start, end):
        if found.group()[0].isspace():
            cuts.add(found.start())
        elif is_dense(found.group()):
            cuts.update(found.span())
    return sorted(cuts - {start, end})


def _most(steps: int, fits: Callable[[int], bool]) -> int:
    """The most of these steps that fit, by doubling and then halving; 0 if not even one does."""
    fitting, beyond = 0, 1
    while beyond <= steps and fits(beyond):
        fitting, beyond = beyond, 2 * beyond
    beyond = min(beyond, steps + 1)
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if fits(middle):
            fitting = middle
        else:
            beyond = middle
    return fitting
