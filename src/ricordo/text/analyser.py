"""The one analyser: the terms by which a text is found, the same on both databases.

Words are folded (case, diacritics, compatibility forms), stop words dropped, the rest stemmed.
Identifiers are kept whole and also split. Scripts without spaces give character bigrams, emoji
and other symbols stand for themselves. Every term is 1 to 64 characters without white space,
quotes, colons or NUL, whatever the text was.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import chain
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_TERM_CHARS, MAX_TERMS_PER_TEXT
from ricordo.text.folding import fold_letters, fold_marks
from ricordo.text.splitting import (
    CHUNK,
    INNER_SIGN,
    NUMBER,
    bigrams,
    has_digit,
    humps,
    is_dense,
    number_forms,
)
from ricordo.text.stemming import NO_LANGUAGE, languages, stemmer, stemmer_version
from ricordo.text.stop_words import stop_words

# Raise whenever the same text may give other terms than before: indexes are then rebuilt.
ANALYSER_VERSION: Final = 1

_MAX_KNOWN_CHUNKS: Final = 32_768
_MAX_KNOWN_CHUNK_CHARS: Final = 128  # longer ones hardly ever come twice

# Possessives and English short forms: Ana's, I'll, they're, we've, she'd, I'm.
_SHORT_ENDING = re.compile(r"'(?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_WORD_JOINT = re.compile(r"[-_]+")


class Analyser:
    """Makes the terms of a text for one language setting.

    Cheap to make: analysers of one language share what they have worked out. Safe to use from
    several threads.

    Raises:
        InvalidValue: not a language with a stemmer, nor "none".
    """

    def __init__(self, language: str = "english") -> None:
        if language != NO_LANGUAGE and language not in languages():
            allowed = ", ".join([NO_LANGUAGE, *languages()])
            raise InvalidValue("language", f"{language!r:.60} is not one of: {allowed}")
        self._language = language
        self._uncached, self._cached = _chunk_analysis(language)

    @property
    def language(self) -> str:
        """The language whose stop words are dropped and whose words are stemmed, or "none"."""
        return self._language

    @property
    def fingerprint(self) -> str:
        """Differs between analysers that could give different terms for the same text.

        The Unicode tables of Python are left out on purpose: they never change what they say of
        a character once assigned, and one database may be opened by several Pythons.
        """
        if self._language == NO_LANGUAGE:
            return f"{ANALYSER_VERSION}/{NO_LANGUAGE}"
        return f"{ANALYSER_VERSION}/{self._language}/snowball-{stemmer_version()}"

    def terms(self, text: str) -> list[str]:
        """The terms to index: in order, with repeats, at most MAX_TERMS_PER_TEXT."""
        found: list[str] = []
        cached = self._cached
        for chunk in CHUNK.findall(fold_marks(text)):
            if len(chunk) <= _MAX_KNOWN_CHUNK_CHARS:
                found += cached(chunk)
            else:
                found += self._uncached(chunk)
            if len(found) >= MAX_TERMS_PER_TEXT:
                del found[MAX_TERMS_PER_TEXT:]
                break
        return found

    def query_terms(self, text: str) -> list[str]:
        """The terms to look for: those of :meth:`terms`, each once, in order of appearance."""
        return list(dict.fromkeys(self.terms(text)))


_ChunkTerms = Callable[[str], tuple[str, ...]]


@cache
def _chunk_analysis(language: str) -> tuple[_ChunkTerms, _ChunkTerms]:
    """The analysis of one chunk, without and with a memory of the chunks seen last."""
    uncached = _ChunkAnalysis(language).terms
    return uncached, lru_cache(maxsize=_MAX_KNOWN_CHUNKS)(uncached)


class _ChunkAnalysis:
    """The terms of one chunk; depends on nothing outside the chunk."""

    def __init__(self, language: str) -> None:
        self._stop_words = frozenset(
            fold_letters(fold_marks(word)) for word in stop_words(language)
        )
        self._stem = stemmer(language)

    def terms(self, chunk: str) -> tuple[str, ...]:
        if chunk.isascii() and chunk.isalpha():  # nearly all: nothing to split it by
            return tuple(self._word(chunk))
        if is_dense(chunk[0]):
            return tuple(bigrams(chunk))
        return tuple(self._parts(_SHORT_ENDING.sub("", chunk)))

    def _parts(self, chunk: str) -> list[str]:
        if not INNER_SIGN.search(chunk):
            return self._word(chunk)
        if NUMBER.fullmatch(chunk):
            return _cut(number_forms(chunk))
        whole = fold_letters(chunk)
        if whole in self._stop_words or whole.replace("'", "") in self._stop_words:
            return []
        for sign in "',":
            if sign in chunk:  # not part of a name: l'amour, v1,v2
                return self._all_parts(chunk.split(sign))
        if chunk.endswith(("+", "#")):  # C++, C#
            return [*_cut([whole]), *self._parts(chunk.rstrip("+#"))]
        if "@" in chunk:
            return [*_cut([whole]), *self._all_parts(chunk.split("@"))]
        return [*_cut([whole]), *self._joined_words(chunk)]

    def _all_parts(self, chunks: Iterable[str]) -> list[str]:
        return list(chain.from_iterable(map(self._parts, chunks)))

    def _joined_words(self, chunk: str) -> list[str]:
        """The words of a hyphenated word or an identifier; in the latter all words count."""
        is_identifier = has_digit(chunk) or "_" in chunk or "." in chunk
        found: list[str] = []
        for piece in _WORD_JOINT.split(chunk):
            if NUMBER.fullmatch(piece):
                found += _cut(number_forms(piece))
                continue
            for word in piece.split("."):
                found += self._word(word, keep_stop_words=is_identifier)
        return found

    def _word(self, word: str, *, keep_stop_words: bool = False) -> list[str]:
        folded = fold_letters(word)[:MAX_TERM_CHARS]
        if not keep_stop_words and folded in self._stop_words:
            return []
        parts = humps(word)
        if len(parts) == 1:
            return [self._stemmed(folded)]
        # The stem of the whole as well: who writes userPreferences in small letters gets the stem.
        wholes = dict.fromkeys((folded, self._stemmed(folded)))
        return [*wholes, *(self._stemmed(fold_letters(part)[:MAX_TERM_CHARS]) for part in parts)]

    def _stemmed(self, folded: str) -> str:
        if len(folded) == 1 or has_digit(folded):
            return folded
        return self._stem(folded)[:MAX_TERM_CHARS]


def _cut(terms: Iterable[str]) -> list[str]:
    return [term[:MAX_TERM_CHARS] for term in terms]
