"""Evidence: quotes in passages, and the names and numbers that must come from them."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from ricordo.formation.candidate import Passage
from ricordo.formation.resources import lines, pattern, words
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_QUOTE_CHARS
from ricordo.text.analyser import stop_words
from ricordo.text.dates import CLEAR_MONTHS, MONTHS_OR_NAMES, MONTHS_OR_WORDS
from ricordo.text.languages import guess
from ricordo.text.normalise import fold_letters, fold_marks, folded, has_digit, is_dense
from ricordo.text.secrets import has_secret
from ricordo.text.spans import PlainView, Span, comparable_view

# Finds the words that a loose quote stands for.
#
# Models copy loosely: they leave words out, put an ellipsis, write "is" for "am" or "lives" for
# "live". A quote is laid along the text word by word (scripts without spaces: letter by letter)
# where that costs least, and what it costs must be little for the words that carry its meaning.

LANGUAGES: Final = lines("evidence", "languages")
LITTLE: Final = words("evidence", "words for the user").union(*map(stop_words, LANGUAGES))
NEGATION = pattern("evidence", "negations")
_QUOTE_PART = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f\u3099\u309a]|'(?=[^\W_]))*")
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
    for found in _QUOTE_PART.finditer(text):
        start = found.start()
        for place in range(found.start() + 1, found.end()):
            is_mark = unicodedata.combining(text[place]) > 0
            if not is_mark and (is_dense(text[start]) or is_dense(text[place])):
                yield start, place
                start = place
        yield start, found.end()


def _negations(text: str) -> int:
    return len(NEGATION.findall(comparable_view(text).text))


_STOP_WORDS: Final = tuple(map(stop_words, LANGUAGES))
_CLAUSE_BREAK = pattern("evidence", "clause break", re.IGNORECASE)
_MONTHS: Final = frozenset({*CLEAR_MONTHS, *MONTHS_OR_WORDS, *MONTHS_OR_NAMES})
_EXEMPT: Final = _MONTHS.union(
    *(words("evidence", listed) for listed in ("words for the user", "days", "titles"))
)
_VALUE_OF: Final = {
    folded(word): number
    for number, *spelled in map(str.split, lines("evidence", "number words"))
    for word in spelled
}

_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}")
_USER_IN_KATAKANA: Final = "ユーザー"
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n)[\"'“„(]*$")
_GERMAN_PLACE = re.compile(r"\b(?:in|aus|nach|heißt|namens)\s+$")
_GERMAN_STATES: Final = words("evidence", "german states")
_GERMAN_USER = re.compile(r"\b(?:Nutzer|Nutzerin|Benutzer|Benutzerin)\b")
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}-[0-9]{2}(?:-[0-9]{2})?|[0-9]{1,2}[./][0-9]{1,2}[./](?:[0-9]{2}){1,2}"
    r"|(?:[0-9]{4}年)?[0-9]{1,2}月(?:[0-9]{1,2}日)?"
)
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WRITTEN_DATE = re.compile(
    rf"(?:\b[0-9]{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?\b(?:{_MONTH})\b\.?"
    r"(?:\s+[0-9]{1,2}(?:st|nd|rd|th)?\b(?!:))?(?:,?\s+(?:19|20)[0-9]{2}\b)?"
)
_MIN_SHARED_PAIRS: Final = 0.5
_LONGEST_ACRONYM: Final = 5

_AROUND: Final = " \t\n\r\"'“”„‘’«»「」『』….,;:!?-–—*_>"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MIN_WORDS: Final = 2
_MIN_CHARS: Final = 3

_QUOTED_WORD: Final = re.compile(r"[^\W_]+")
_STEM_CHARS: Final = 4
_SHORTEST_STEM: Final = 3
_USER_IN_DENSE: Final = re.compile("ユーザー|用户|用戶|사용자|使用者|user", re.IGNORECASE)


def _numbers_said(source: str) -> set[str]:
    figures = _NUMBER.findall(source)
    words = set(_NAME_WORD.findall(source))
    return {
        *map(_plain_number, figures),
        *(part for figure in figures for part in re.split("[.,:]", figure)),
        *(_VALUE_OF[word] for word in words & _VALUE_OF.keys()),
        *(value for word, value in _VALUE_OF.items() if not word.isascii() and word in source),
    }


def _has_name(name: str, words: set[str], initials: str) -> bool:
    """In the same form, a related one (Italy, Italian), or as an acronym of what was said."""
    if name in words or any(are_related(name, word) for word in words):
        return True
    if len(name) <= _LONGEST_ACRONYM and name in initials:
        return True
    return "-" in name and all(_has_name(one, words, initials) for one in name.split("-") if one)


def _has_katakana(run: str, source: str) -> bool:
    """Whether half of its character pairs occur, so that compounds pass."""
    pairs = [run[place : place + 2] for place in range(len(run) - 1)]
    return sum(pair in source for pair in pairs) >= _MIN_SHARED_PAIRS * len(pairs)


def _names(content: str, *, is_german: bool) -> list[str]:
    found = []
    matches = list(_NAME_WORD.finditer(content))
    for place, match in enumerate(matches):
        word = match.group()
        following = matches[place + 1].group() if place + 1 < len(matches) else ""
        if not word[0].isupper() or not _is_name(content, match, following, is_german=is_german):
            continue
        name = re.sub(r"['’]s?$|['’](?:s|ll|re|ve|d|m)$", "", folded(word))
        if name not in _EXEMPT and not (is_german and name in _GERMAN_STATES):
            found.append(name)
    return found


def _is_name(content: str, match: re.Match[str], following: str, *, is_german: bool) -> bool:
    before = content[max(0, match.start() - 40) : match.start()]
    if is_german:  # every noun has a capital
        return _GERMAN_PLACE.search(before) is not None
    starts_sentence = not before.strip() or _SENTENCE_START.search(before) is not None
    return not starts_sentence or following[:1].isupper()


def _plain_number(number: str) -> str:
    """Without separators, so that 1,500 and 1.500 and 1500 are equal; 20:00 equals 20."""
    whole = number.removesuffix(":00")
    return re.sub("[.,:]", "", whole).lstrip("0") or "0"


def find_quote(quote: str, passages: Sequence[Passage]) -> tuple[Passage, str] | None:
    """The passage that contains these words, and exactly what is written there.

    White space, quotation marks, case and Unicode form do not matter; words must be whole. If no
    passage contains the quote, and no material does, what is nearest to it counts (see
    ``loose_quotes.py``). Of several passages the latest wins. None also for a quote that says too
    little (under two words, or three characters in scripts without spaces, or stop words only), and
    for one that is too long.
    """
    if not _says_enough(quote) or len(quote) > MAX_QUOTE_CHARS:
        return None
    latest_first = sorted(passages, key=lambda passage: passage.position, reverse=True)
    for passage in latest_first:
        if (found := occurrence(quote, passage.text)) is not None:
            return passage, found
    if reason_in_material(quote, passages) is not None:
        return None
    near = [(match, one) for one in latest_first if (match := nearest(quote, one.text))]
    if not near:
        return None
    best, passage = min(near, key=lambda found: found[0].cost)
    return passage, best.words


def denials(text: str) -> int:
    return len(NEGATION.findall(folded(text)))


def reason_in_material(quote: str, passages: Iterable[Passage]) -> str | None:
    """Why these words are not the user's, if they are part of material; else None."""
    for passage in passages:
        for piece in passage.material:
            if occurrence(quote, piece.text) is not None:
                return piece.reason
    return None


def occurrence(quote: str, text: str) -> str | None:
    """The part of the text that matches this quote, ignoring what :func:`find_quote` ignores."""
    wanted = comparable_view(quote[: MAX_QUOTE_CHARS + 1].strip(_AROUND)).text.strip()
    if not wanted or len(quote) > MAX_QUOTE_CHARS:
        return None
    view = comparable_view(text)
    place = view.text.rfind(wanted)
    while place >= 0:
        end = place + len(wanted)
        if _is_whole(view, place, end):
            start_place, end_place = view.original((place, end))
            return text[start_place:end_place].strip()
        place = view.text.rfind(wanted, 0, end - 1)
    return None


def supports(content: str, quote: str, passage: Passage | None = None) -> bool:
    """Whether the names and numbers of a content occur in the quote or its passage.

    A cheap check against invention: "lives in Paris" does not follow from "I live near the river".
    Only names (capitals that a sentence start does not explain, words in katakana) and numbers are
    checked. The word for the user, names of months and days, and the numbers of a date are exempt,
    because "tomorrow" becomes a date.
    """
    source = quote
    years: list[str] = []  # need not have been said: "last year" may have become one of them
    if passage is not None:
        source = f"{quote}\n{passage.text}\n{passage.actor or ''}"
        years = [str(passage.at.year + more) for more in (-1, 0, 1)]
    is_german = guess(source) == "de" or _GERMAN_USER.search(content) is not None
    spoken = _NAME_WORD.findall(folded(source))
    words = {*spoken, *(part for word in spoken for part in re.split("['’-]", word))}
    initials = "".join(word[0] for word in spoken)
    numbers = {
        _plain_number(one)
        for one in _NUMBER.findall(_WRITTEN_DATE.sub(" ", _DATE.sub(" ", folded(content))))
    }
    runs = _KATAKANA.findall(content.replace(_USER_IN_KATAKANA, " "))
    return (
        all(_has_name(name, words, initials) for name in _names(content, is_german=is_german))
        and numbers <= {*years, *_numbers_said(folded(source))}
        and all(_has_katakana(run, source) for run in runs)
    )


def retells(content: str, quote: str, around: str, *, in_any_form: bool = True) -> bool:
    """Whether a sentence says what its quote says, no more and not much less.

    Its words are those of the quote, or of what was said ``around`` it, in any form; it has nearly
    all of the quote's; and it denies as often. Where words may not have any form, all are those of
    the quote but the first, mostly a verb.
    """
    if denials(content) != denials(quote):
        return False
    told, said = _telling(content), _telling(quote)
    if not in_any_form and not told.keys() >= set(list(said)[1:]):
        return False
    least, new = (0.7, 0.3) if any(map(is_dense, quote)) else (0.85, 0.0)
    if not told or sum(_is_among(one, told) for one in said) < least * len(said):
        return False
    known = {**said, **_telling(around)}
    return sum(not _is_among(one, known) for one in told) <= new * len(told)


def _is_among(word: str, others: Collection[str]) -> bool:
    """In any form: with the same beginning."""
    return word in others or any(
        word[:size] == other[:size]
        for other in others
        if (size := min(_STEM_CHARS, max(_SHORTEST_STEM, min(len(word), len(other)) - 1)))
    )


def _telling(text: str) -> dict[str, None]:
    found: dict[str, None] = {}
    for word in _QUOTED_WORD.findall(_USER_IN_DENSE.sub(" ", fold_letters(fold_marks(text)))):
        if any(map(is_dense, word)):
            found |= dict.fromkeys(word[place : place + 2] for place in range(len(word) - 1))
        elif word not in LITTLE:
            found[word] = None
    return found


def _says_enough(quote: str) -> bool:
    plain = unicodedata.normalize("NFKC", quote).casefold()
    letters = [letter for letter in plain if letter.isalnum()]
    if sum(map(is_dense, letters)) >= _MIN_CHARS:
        return True
    words = [word.replace("'", "").replace("’", "") for word in _WORD.findall(plain)]
    if len(words) < _MIN_WORDS or len(letters) < _MIN_CHARS:
        return False
    return not any(all(word in known for word in words) for known in _STOP_WORDS)


def _is_whole(view: PlainView, start: int, end: int) -> bool:
    """Whether neither end of the match lies inside a character or a word."""
    text, places = view.text, view.places
    if start and (places[start] == places[start - 1] or unicodedata.combining(text[start])):
        return False
    if end < len(text) and (places[end] == places[end - 1] or unicodedata.combining(text[end])):
        return False
    return not (_joins(text, start) or _joins(text, end))


def _joins(text: str, place: int) -> bool:
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if is_dense(before) or is_dense(after):
        return False
    return before.isalnum() and after.isalnum()


def cut_quote(content: str, quote: str) -> str:
    """The part of a quote from the first to the last clause that shares words with the statement.

    A quote that shares none is unchanged: it may be in another language.
    """
    wanted = _stems(content)
    relevant = [span for span in _clauses(quote) if wanted & _stems(quote[slice(*span)])]
    return quote[relevant[0][0] : relevant[-1][1]].strip(_AROUND) if relevant else quote


def quote_for_others(content: str, key: str | None, quote: str) -> str | None:
    """A quote for readers with access to some categories only; None if it reveals more than the
    memory.
    """
    cut = cut_quote(content, quote)
    more = sensitive_fields_of(cut, "", None) - sensitive_fields_of(content, "", key)
    if more or has_secret(cut):
        return None
    wanted = _stems(content)
    is_aside = (wanted.isdisjoint(_stems(cut[slice(*span)])) for span in _clauses(cut))
    return None if any(is_aside) else cut


def _clauses(text: str) -> list[Span]:
    """The parts of a text between stops, commas and joining words."""
    borders = [found.span() for found in _CLAUSE_BREAK.finditer(text)]
    spans = zip(
        [0, *(end for _, end in borders)], [*(a for a, _ in borders), len(text)], strict=True
    )
    return [(start, end) for start, end in spans if text[start:end].strip(_AROUND)]


def _stems(text: str) -> set[str]:
    words = _QUOTED_WORD.findall(fold_letters(fold_marks(text)))
    return {word[:_STEM_CHARS] for word in words if word not in LITTLE}
