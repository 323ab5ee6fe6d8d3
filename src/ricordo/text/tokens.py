"""Estimates the tokens of a text without a tokenizer, and cuts texts to a token budget."""

import functools
import itertools
import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ricordo.text.normalise import is_dense
from ricordo.text.pieces import clean_cut

TokenCounter = Callable[[str], int]
"""Counts the tokens of a text, such as :func:`estimate_tokens` or a model's own tokenizer."""

# Letters include the space before them, as in tokenizers; a new word starts where a capital follows
# a lower-case letter.
_WORD = re.compile(r" ?(?:[a-z]+|[A-Z]+[a-z]*)")
_PAIR_TWICE = re.compile(r"([A-Za-z]{2})\1")
_REPEAT_COST: Final = 4  # units; twice as many are less than a token

_LONGEST_KEPT: Final = 24  # letters of a word whose cost is kept
_START_COST: Final = 1  # some tokenizers mark the start of a text
_UNITS: Final = 9  # of letter prices per token
_CUT_MARK: Final = "…"
# Of scripts without spaces, those that write a syllable with several characters.
_IN_SEVERAL_SIGNS = re.compile("[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3099\u309a]")
_SPACE_OR_BEYOND_ASCII = re.compile(r"\s+|[^\x00-\x7f]")


class TokenCosts(NamedTuple):
    """Words of one token, the cost of a letter after another in units, and of characters.

    ``data/token_costs.json`` is derived from the vocabularies of fourteen tokenizers; see
    docs/decisions/0025-tokens-are-estimated-upwards.md. The letter prices come from a linear
    program: natural words of 27 languages are as cheap as possible, while nearly each of them and
    many random words cost at least as much as with the most expensive tokenizer.
    """

    words: frozenset[str]
    letters: dict[tuple[str, str], int]
    characters: dict[str, int]


@functools.cache
def token_costs() -> TokenCosts:
    stored = json.loads((Path(__file__).parent / "data" / "token_costs.json").read_bytes())
    either = " ".join(stored["words_in_either_case"]).split()
    lower = " ".join(stored["words_in_lower_case"]).split()
    words = (*either, *lower, *map(str.capitalize, either))
    letters = {}
    for before, row in zip(string.ascii_lowercase, stored["letters_after"], strict=True):
        # A first letter costs a whole token; some are often a token apart from their space.
        letters[" ", before] = _UNITS + (before in stored["dear_first"])
        letters[" ", before.upper()] = _UNITS
        for after, price in zip(string.ascii_lowercase, row, strict=True):
            letters[before, after] = int(price)
            letters[before.upper(), after] = max(int(price), 1)  # no two such letters for one token
            letters[before.upper(), after.upper()] = _UNITS
    ones, twos = stored["characters_for_one"], stored["characters_for_two"]
    return TokenCosts(
        frozenset(space + word for space in ("", " ") for word in words),
        letters,
        dict.fromkeys(ones, 1) | dict.fromkeys(twos, 2),  # all others cost their bytes
    )


def estimate_tokens(text: str) -> int:
    """An upward estimate of the tokens of a text.

    A common English word with the space before it costs one token. Letters of other words cost less
    the more frequent their pairs are; capitals after a capital, digits, signs, line breaks and
    further spaces cost one each. Characters beyond ASCII cost their bytes, common ones less. The
    start of a text costs one more.

    Linear time; never more for two joined texts than for both apart.
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
    if word in token_costs().words:
        return 1
    return _letters_cost(word) if len(word) > _LONGEST_KEPT else _kept_cost(word)


@functools.lru_cache(maxsize=8192)
def _kept_cost(word: str) -> int:
    return _letters_cost(word)


def _letters_cost(word: str) -> int:
    letters = word if word[0] == " " else " " + word
    units = sum(map(token_costs().letters.__getitem__, itertools.pairwise(letters)))
    if _PAIR_TWICE.search(word):
        units += _repeats_cost(letters)
    return -(-units // _UNITS)


def _repeats_cost(letters: str) -> int:
    """The extra cost, in units, of repeated pairs as in "hahaha".

    Tokenizers have frequent pairs, but not their repeats. No letter costs more than a first one,
    and joining texts raises the cost of at most two: less than the start of a text.
    """
    prices = token_costs().letters
    return sum(
        min(_REPEAT_COST, _UNITS - prices[letters[place - 1], letters[place]])
        for place in range(4, len(letters))
        if letters[place - 3 : place - 1] == letters[place - 1 : place + 1]
    )


def _cost_at_ends(text: str, words: Sequence[str]) -> int:
    """The extra cost of words at the start and end.

    They may continue in a text joined to this one, and then their letters count.
    """
    ends = set()
    if words and text[0] != " " and text.startswith(words[0]):
        ends.add(0)
    if words and text.endswith(words[-1]):
        ends.add(len(words) - 1)
    return sum(_letters_cost(words[place]) - _word_cost(words[place]) for place in ends)


def _characters_cost(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_character_cost(one) * times for one, times in Counter(text).items())


@functools.lru_cache(maxsize=4096)
def _character_cost(character: str) -> int:
    """The price of one character: at most its bytes, also after normalisation."""
    if character.isascii():
        return 1
    unfolded = unicodedata.normalize("NFKC", character)
    return token_costs().characters.get(character) or max(
        len(form.encode("utf-8", "surrogatepass")) for form in (character, unfolded)
    )


def fit_tokens(text: str, budget: int, count: TokenCounter = estimate_tokens) -> str:
    """The text if it fits the budget, else its longest head of whole words plus "…".

    Scripts without spaces can be cut after any character. Empty if not even one word fits. Never
    costs more than the budget by ``count``, which is called O(log n) times.
    """
    if count(text) <= budget:
        return text
    cuts = _cuts(text)

    def head(words: int) -> str:
        return text[: cuts[words - 1]].rstrip() + _CUT_MARK

    kept = _most(len(cuts), lambda words: count(head(words)) <= budget)
    return head(kept) if kept else ""


def fit_tail_tokens(text: str, budget: int, count: TokenCounter = estimate_tokens) -> str:
    """Like :func:`fit_tokens` for the tail, after "…"."""
    if count(text) <= budget:
        return text
    cuts = _cuts(text)

    def tail(words: int) -> str:
        return _CUT_MARK + text[cuts[-words] :].lstrip()

    kept = _most(len(cuts), lambda words: count(tail(words)) <= budget)
    return tail(kept) if kept else ""


def _cuts(text: str) -> list[int]:
    """The positions where the text can be cut into two non-blank parts."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    cuts = set()
    for found in _SPACE_OR_BEYOND_ASCII.finditer(text, start, end):
        if found.group()[0].isspace():
            cuts.add(found.start())
        elif is_dense(found.group()):
            cuts.update(found.span())
    if _IN_SEVERAL_SIGNS.search(text):
        cuts = {clean_cut(text, place) for place in cuts}
    return sorted(cuts - {start, end})


def _most(steps: int, fits: Callable[[int], bool]) -> int:
    """The largest number of steps that fits, by doubling and bisection; 0 for none."""
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
