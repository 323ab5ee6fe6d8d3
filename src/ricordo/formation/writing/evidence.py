"""What a candidate rests on: the words it quotes, and whether its names and numbers were said."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from ricordo.formation.candidate import Passage
from ricordo.formation.cleaning.plain_view import PlainView, comparable_view
from ricordo.formation.writing.naming import NamedThings, said_things
from ricordo.limits import MAX_QUOTE_CHARS
from ricordo.text.analyser import stop_words
from ricordo.text.folding import is_dense

_AROUND: Final = " \t\n\r\"'“”„‘’«»「」『』….,;:!?-–—*_>"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MIN_WORDS: Final = 2
_MIN_CHARS: Final = 3
_LANGUAGES: Final = (
    "english",
    "indonesian",
    "german",
    "spanish",
    "french",
    "italian",
    "portuguese",
    "dutch",
)
_STOP_WORDS: Final = tuple(stop_words(language) for language in _LANGUAGES)


def find_quote(quote: str, passages: Iterable[Passage]) -> tuple[Passage, str] | None:
    """The passage in which these words stand, and exactly what stands there.

    White space, quotation marks, case and Unicode form do not matter; words must be whole. The
    latest passage counts where several have the words, because the latest statement is the one
    that holds. None also for a quote that says too little (under two words, or three characters in
    scripts without spaces, or stop words only), and for one that is too long.
    """
    if not _says_enough(quote):
        return None
    by_position = sorted(passages, key=lambda passage: passage.position, reverse=True)
    for passage in by_position:
        if (found := occurrence(quote, passage.text)) is not None:
            return passage, found
    return None


def reason_in_material(quote: str, passages: Iterable[Passage]) -> str | None:
    """Why these words are not the user's, where they stand in material; None where they do not."""
    for passage in passages:
        for stretch in passage.material:
            if occurrence(quote, stretch.text) is not None:
                return stretch.reason
    return None


def occurrence(quote: str, text: str) -> str | None:
    """The part of the text that is this quote, but for what :func:`find_quote` overlooks."""
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
    """Whether the names and numbers of a content were said in the quote or its passage.

    A cheap check against invention: "lives in Paris" does not follow from "I live near the river".
    Only names (words with a capital that a sentence does not explain, words in katakana) and
    numbers are looked at; other words may be chosen freely. The word for the user, names of months
    and days, and the numbers of a date are exempt, because "tomorrow" becomes a date.
    """
    source = quote
    years: tuple[int, ...] = ()
    if passage is not None:
        source = f"{quote}\n{passage.text}\n{passage.actor or ''}"
        years = (passage.at.year - 1, passage.at.year, passage.at.year + 1)
    said = said_things(source)
    return NamedThings.of(content, is_german=said.is_german, years=years).are_in(said)


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
    """Whether a word goes on across this place."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if is_dense(before) or is_dense(after):
        return False
    return before.isalnum() and after.isalnum()
