"""Finds the words that a loose quote stands for.

Models copy loosely: they leave words out, put an ellipsis, write "is" for "am" or "lives" for
"live". A quote is laid along the text word by word (scripts without spaces: letter by letter) where
that costs least, and what it costs must be little for the words that carry its meaning.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from ricordo.formation.words import lines, pattern, words
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_QUOTE_CHARS
from ricordo.text.analyser import stop_words
from ricordo.text.normalise import has_digit, is_dense
from ricordo.text.spans import comparable_view

LANGUAGES: Final = lines("evidence", "languages")
LITTLE: Final = words("evidence", "words for the user").union(*map(stop_words, LANGUAGES))
NEGATION = pattern("evidence", "negations")
_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f\u3099\u309a]|'(?=[^\W_]))*")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_SENTENCE_END = re.compile(r"[.!?](?!\w)|[。！？\n]")
_ELLIPSIS = re.compile(r"\.{2}|…")
_MIN_SHARED_START: Final = 4
_MIN_EQUAL: Final = 2
_MIN_EQUAL_DENSE: Final = 3
_MIN_PIECE: Final = 3
_NOWHERE: Final = 1
_BEFORE: Final = 3
_MAX_STEPS: Final = 200_000

# What it costs to differ. A quote may cost as much as it has words that carry meaning.
_NEVER: Final = 1_000
_CHANGED: Final = 6
_LEFT_OUT: Final = 1
_LITTLE_WORD: Final = 1
_ENDING: Final = 2
_JOINED_SENTENCES: Final = 2


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    span: tuple[int, int]
    is_little: bool
    is_dense: bool
    is_certain: bool
    """A name or a number, or a letter that carries meaning: it must have been said."""
    begins_sentence: bool
    follows_ellipsis: bool


@dataclass(frozen=True, slots=True)
class NearMatch:
    cost: int
    words: str


def nearest(quote: str, text: str) -> NearMatch | None:
    """What was really said where the text is nearest to a quote; None if nothing is near it.

    Every name and number of the quote was said, and as many negations; most other words were, in
    this order and in the same sentences.
    """
    wanted, said = _quoted(quote), _tokens(text)
    budget = sum(not token.is_little for token in wanted)
    if not budget or len(wanted) * len(said) > _MAX_STEPS:
        return None
    found = _laid_along(wanted, said)
    if found is None or found[0] > budget:
        return None
    cost, equal, first, last = found
    if equal < (_MIN_EQUAL_DENSE if any(one.is_dense for one in wanted) else _MIN_EQUAL):
        return None
    end = said[last].span[1]
    if said[last].is_dense and (ending := _HIRAGANA.match(text, end)):
        end = ending.end()  # the rest of a verb: it may be a "not"
    start = said[first].span[0]
    denied = text[said[_clause_start(said, first)].span[0] : end]  # "I do not" may stand before
    if end - start > MAX_QUOTE_CHARS or _negations(quote) != _negations(denied):
        return None
    return NearMatch(cost, text[start:end])


def _clause_start(said: list[_Token], first: int) -> int:
    place = first
    while place > max(first - _BEFORE, 0) and not said[place].begins_sentence:
        place -= 1
    return place


def are_related(one: str, other: str) -> bool:
    """Whether two words share most of their beginning."""
    shared = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        shared += 1
    return shared >= _MIN_SHARED_START and shared * 2 > max(len(one), len(other))


def _laid_along(wanted: list[_Token], said: list[_Token]) -> tuple[int, int, int, int] | None:
    """The least cost, how many are equal, and the first and the last token of the text there."""
    # For each number of wanted tokens the cheapest way to have read them: what it costs, how many
    # are equal (negative: more is better) and where it began (negative: later is better).
    nothing = (0, 0, _NOWHERE)
    before = [nothing]
    for one in wanted:
        before.append((before[-1][0] + _missing(one), 0, _NOWHERE))
    found = None
    for place, token in enumerate(said):
        now = [nothing]
        for number, one in enumerate(wanted, start=1):
            cost, equal, first = before[number - 1]
            more, is_equal = _differing(one, token)
            ways = [(cost + more, equal - is_equal, -place if first == _NOWHERE else first)]
            cost, equal, first = now[-1]
            ways.append((cost + _missing(one), equal, first))
            if number < len(wanted):
                cost, equal, first = before[number]
                ways.append((cost + _skipped(token, wanted[number]), equal, first))
            now.append(min(ways))
        before = now
        if found is None or now[-1][:2] <= found[0][:2]:
            found = now[-1], place
    if found is None:
        return None
    (cost, equal, first), last = found
    return cost, -equal, -first, last


def _differing(wanted: _Token, said: _Token) -> tuple[int, bool]:
    joined = _JOINED_SENTENCES * (said.begins_sentence and not wanted.begins_sentence)
    if wanted.text == said.text:
        return joined, True
    if wanted.is_dense or said.is_dense:
        may_differ = wanted.is_little and said.is_little
        return joined + (_ENDING if may_differ else _NEVER), False
    if wanted.is_little and said.is_little:
        return joined, False
    if not has_digit(wanted.text) and are_related(wanted.text, said.text):
        return joined, True
    return joined + (_NEVER if wanted.is_certain else _CHANGED), False


def _missing(wanted: _Token) -> int:
    if wanted.is_certain:
        return _NEVER
    return _LITTLE_WORD if wanted.is_little else _CHANGED


def _skipped(said: _Token, following: _Token) -> int:
    if said.begins_sentence and not following.begins_sentence:
        return _NEVER
    return 0 if following.follows_ellipsis else _LEFT_OUT


def _tokens(text: str) -> list[_Token]:
    view = comparable_view(text)
    found: list[_Token] = []
    for start, end in _spans(view.text):
        first, last = view.original((start, end))
        word = view.text[start:end]
        is_of_dense = is_dense(word[0])
        if is_of_dense:
            is_little = _HIRAGANA.fullmatch(word) is not None
        else:
            word = "".join(one for one in word if not unicodedata.combining(one))
            is_little = _is_little(word.replace("'", "")) or all(map(_is_little, word.split("'")))
        between = text[found[-1].span[1] : first + 1] if found else ""
        found.append(
            _Token(
                text=word,
                span=(first, last),
                is_little=is_little,
                is_dense=is_of_dense,
                is_certain=not is_little
                and (is_of_dense or has_digit(word) or text[first].isupper()),
                begins_sentence=_SENTENCE_END.search(between) is not None,
                follows_ellipsis=_ELLIPSIS.search(between) is not None,
            )
        )
    return found


def _is_little(word: str) -> bool:
    return (len(word) == 1 and not word.isdigit()) or word in LITTLE


def _quoted(quote: str) -> list[_Token]:
    """The tokens of a quote. Only between two long pieces may an ellipsis stand for sentences."""
    tokens = _tokens(quote)
    cuts = [place for place, token in enumerate(tokens) if token.follows_ellipsis]
    for place, before, after in zip(cuts, [0, *cuts], [*cuts[1:], len(tokens)], strict=False):
        is_wide = min(place - before, after - place) >= _MIN_PIECE
        tokens[place] = replace(tokens[place], begins_sentence=is_wide)
    return tokens


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Words, and letters of scripts without spaces, each with its marks."""
    for found in _WORD.finditer(text):
        start = found.start()
        for place in range(found.start() + 1, found.end()):
            is_mark = unicodedata.combining(text[place]) > 0
            if not is_mark and (is_dense(text[start]) or is_dense(text[place])):
                yield start, place
                start = place
        yield start, found.end()


def _negations(text: str) -> int:
    return len(NEGATION.findall(comparable_view(text).text))
