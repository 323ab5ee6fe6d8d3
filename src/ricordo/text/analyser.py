"""The analyser: the search terms of a text, the same on both databases."""

import importlib
import importlib.util
import pkgutil
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain
from types import ModuleType
from typing import Any, Final, Protocol

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_TERM_CHARS, MAX_TERMS_PER_TEXT
from ricordo.text.languages import nearest
from ricordo.text.normalise import (
    CHUNK,
    INNER_SIGN,
    NUMBER,
    bigrams,
    fold_letters,
    fold_marks,
    has_digit,
    humps,
    is_dense,
    number_forms,
    word_lists,
)

# A stemmer is imported on first use, and only that one: the whole package takes ten times as long,
# and prefers compiled stemmers where installed, so that the same database could get other terms on
# another machine.

NO_LANGUAGE: Final = "none"
EACH_ITS_OWN: Final = "auto"
_USUAL: Final = "english"

_PACKAGE: Final = "snowballstemmer"
_UNOPENED_PACKAGE: Final = "_ricordo_snowballstemmer"  # the same folder, its __init__ not run
_SUFFIX: Final = "_stemmer"
_MAX_KNOWN_STEMS: Final = 32_768

# Raise whenever the same text may give other terms: indexes are then rebuilt.
ANALYSER_VERSION: Final = 3

# Stemmers that need the marks of these letters: without them kitabı and jóvenes keep their endings.
_MARKED: Final = {"spanish": "áéíóúñü", "turkish": "çğıöşü"}

_MAX_KNOWN_CHUNKS: Final = 32_768
_MAX_KNOWN_CHUNK_CHARS: Final = 128

# Possessives and English contractions: Ana's, I'll, they're, we've, she'd, I'm.
_SHORT_ENDING = re.compile(r"'(?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_WORD_JOINT = re.compile(r"[-_]+")

_SIGNS: Final = " \n.,;:!?…。、，？！"

_ChunkTerms = Callable[[str], tuple[str, ...]]


# The snowball stemmers compare a word letter by letter with a sorted list, which takes most of
# their time. Here the longest affix is looked up in a table. Every stem is the same.


class Affix(Protocol):
    s: str
    result: int
    method: Callable[[Any], bool] | None


class QuickAffixes:
    """Mixin before a stemmer's class that replaces its affix lookup."""

    current: str
    cursor: int
    limit: int
    limit_backward: int

    def find_among(self, v: Sequence[Affix]) -> int:
        """The result of the longest matching prefix of the rest; 0 without one."""
        start = self.cursor
        room = self.limit - start
        word = self.current
        known = _tables.get((id(v), 0)) or _table(v, 0)
        for length, by_text in known.get(word[start : start + 1], known[""]):
            if length <= room:
                met = by_text.get(word[start : start + length])
                if met is not None:
                    self.cursor = start + length
                    if met.method is None:
                        return met.result
                    if met.method(self):
                        self.cursor = start + length
                        return met.result
        return 0

    def find_among_b(self, v: Sequence[Affix]) -> int:
        """Like :meth:`find_among` for suffixes."""
        end = self.cursor
        room = end - self.limit_backward
        word = self.current
        known = _tables.get((id(v), -1)) or _table(v, -1)
        for length, by_text in known.get(word[end - 1 : end], known[""]):
            if length <= room:
                met = by_text.get(word[end - length : end])
                if met is not None:
                    self.cursor = end - length
                    if met.method is None:
                        return met.result
                    if met.method(self):
                        self.cursor = end - length
                        return met.result
        return 0


_Table = dict[str, list[tuple[int, dict[str, Affix]]]]
_tables: dict[tuple[int, int], _Table] = {}
"""By the identity of the list, which is kept alive, and by which end of a word it is about."""
_lists: list[Sequence[Affix]] = []


def _table(listed: Sequence[Affix], end: int) -> _Table:
    """By the letter at that end of a word, which most lists have little for: by length, the longest
    first, the affixes."""
    made: _Table = {}
    empty = [one for one in listed if not one.s]
    for letter in {"", *(one.s[end] for one in listed if one.s)}:
        fitting = [one for one in listed if one.s and one.s[end] == letter] + empty
        lengths = sorted({len(one.s) for one in fitting}, reverse=True)
        made[letter] = [
            (length, {one.s: one for one in fitting if len(one.s) == length}) for length in lengths
        ]
    _lists.append(listed)
    _tables[id(listed), end] = made
    return made


@cache
def languages() -> tuple[str, ...]:
    """The languages with a stemmer or stop words, without loading any stemmer."""
    return tuple(sorted(_stemmed() | word_lists("stop_words").keys()))


@cache
def _stemmed() -> frozenset[str]:
    names = (module.name for module in pkgutil.iter_modules(_folders()))
    return frozenset(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


@cache
def stemmer_version() -> str:
    from importlib.metadata import version  # slow to load, and not needed for searching

    return version(_PACKAGE)


@cache
def stemmer(language: str) -> Callable[[str], str]:
    if language not in _stemmed():
        return str
    lock = threading.Lock()
    load = cache(lambda: _load(language))

    @lru_cache(maxsize=_MAX_KNOWN_STEMS)
    def stem(word: str) -> str:
        with lock:  # a stemmer keeps the word it works on in itself
            return load()(word) or word

    return stem


def _folders() -> list[str]:
    found = importlib.util.find_spec(_PACKAGE)
    return list(found.submodule_search_locations or ()) if found else []


def _load(language: str) -> Callable[[str], str]:
    if _UNOPENED_PACKAGE not in sys.modules:
        unopened = ModuleType(_UNOPENED_PACKAGE)
        unopened.__path__ = _folders()
        sys.modules[_UNOPENED_PACKAGE] = unopened
    module = importlib.import_module(f"{_UNOPENED_PACKAGE}.{language}{_SUFFIX}")
    name = "".join(part.capitalize() for part in language.split("_"))
    given = getattr(module, f"{name}Stemmer")
    stem: Callable[[str], str] = type(given.__name__, (QuickAffixes, given), {})().stemWord
    return stem


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language; contractions without apostrophe.

    The lists are short on purpose: a missing stop word costs a little speed, a superfluous one
    cannot be searched. "May" and "no" stay searchable. A language without a list drops nothing.
    """
    listed = "english" if language == "porter" else language.removesuffix("_porter")
    return word_lists("stop_words").get(listed, frozenset())


class Analyser:
    """Splits texts into terms for one language, or each text by its own ("auto").

    Words are folded (case, diacritics, compatibility forms), stop words dropped, the rest stemmed.
    Identifiers are kept whole and also split. Scripts without spaces give character bigrams, emoji
    and other symbols are terms. Every term is 1 to 64 characters without white space, quotes,
    colons or NUL.

    By its own language, a text also has the terms that it would have in English, so that a name is
    found by a question in any language; a question has those of its own only.

    Cheap to create, since analysers of one language share caches. Thread-safe.

    Raises:
        InvalidValue: not a language with a stemmer or stop words, nor "auto" or "none".
    """

    def __init__(self, language: str = EACH_ITS_OWN) -> None:
        if language not in (EACH_ITS_OWN, NO_LANGUAGE, *languages()):
            allowed = ", ".join([EACH_ITS_OWN, NO_LANGUAGE, *languages()])
            raise InvalidValue("language", f"{language!r:.60} is not one of: {allowed}")
        self._language = language
        self._usual = _chunk_analysis(_USUAL if language == EACH_ITS_OWN else language)

    @property
    def language(self) -> str:
        return self._language

    @property
    def fingerprint(self) -> str:
        """Differs between analysers that could give different terms for the same text.

        Leaves out Python's Unicode version: properties of assigned characters do not change, and
        several Pythons may open one database.
        """
        if self._language == NO_LANGUAGE:
            return f"{ANALYSER_VERSION}/{NO_LANGUAGE}"
        return f"{ANALYSER_VERSION}/{self._language}/snowball-{stemmer_version()}"

    def terms(self, text: str) -> list[str]:
        """The terms to index: in order, with repeats, at most MAX_TERMS_PER_TEXT."""
        language = self._spoken(text)
        own = self._usual if language is None else _chunk_analysis(language)
        language = language or self._language
        is_plain = own is self._usual and language not in _MARKED
        return _terms(text, own if is_plain else _both(own, self._usual), language)

    def query_terms(self, text: str) -> list[str]:
        """The terms to search, each once."""
        language = self._spoken(text)
        analysis = self._usual if language is None else _chunk_analysis(language)
        asked = text if text.isascii() else _without_function_words(text)
        return list(dict.fromkeys(_terms(asked, analysis, language or self._language)))

    def like(self, text: str) -> "Analyser":
        """The analyser of a question, for single words of what it found."""
        language = self._spoken(text)
        return self if language is None else Analyser(language)

    def _spoken(self, text: str) -> str | None:
        return nearest(text) if self._language == EACH_ITS_OWN else None


def _terms(text: str, analysis: _ChunkTerms, language: str) -> list[str]:
    found: list[str] = []
    # no chunk has white space inside
    for part in fold_marks(text, _MARKED.get(language, "")).split():
        if part.isascii() and part.isalpha():
            found += analysis(part)
        else:
            for chunk in CHUNK.findall(part):
                found += analysis(chunk)
        if len(found) >= MAX_TERMS_PER_TEXT:
            del found[MAX_TERMS_PER_TEXT:]
            break
    return found


def _without_function_words(text: str) -> str:
    """A question without the words in scripts without spaces that ask or join. Texts keep them:
    they may be part of another word there."""
    text = unicodedata.normalize("NFC", text)
    left = _function_words().sub(" ", text)
    return left if left.strip(_SIGNS) else text


@cache
def _function_words() -> re.Pattern[str]:
    words = set[str]().union(*word_lists("function_words").values())
    return re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)))


class _KnownChunks(dict[str, tuple[str, ...]]):
    """The terms of chunks. Long ones hardly ever come twice, and are not kept."""

    def __init__(self, analysis: _ChunkTerms) -> None:
        super().__init__()
        self._analysis = analysis

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        made = self._analysis(chunk)
        if len(chunk) <= _MAX_KNOWN_CHUNK_CHARS:
            if len(self) >= _MAX_KNOWN_CHUNKS:
                self.clear()
            self[chunk] = made
        return made


@cache
def _chunk_analysis(language: str) -> _ChunkTerms:
    return _KnownChunks(_ChunkAnalysis(language).terms).__getitem__


@cache
def _both(own: _ChunkTerms, usual: _ChunkTerms) -> _ChunkTerms:
    def terms(chunk: str) -> tuple[str, ...]:
        said = own(chunk)
        if not said:
            return said
        if not chunk.isascii() and (plain := fold_marks(chunk).strip()) != chunk:
            said, chunk = tuple(dict.fromkeys((*said, *own(plain)))), plain
        also = usual(chunk)
        return said if also == said else (*said, *(one for one in also if one not in said))

    return terms


class _ChunkAnalysis:
    def __init__(self, language: str) -> None:
        self._stop_words = frozenset(
            fold_letters(fold_marks(word)) for word in stop_words(language)
        )
        self._stem = stemmer(language)
        self._marked = _MARKED.get(language, "")

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
        whole = fold_letters(fold_marks(chunk))
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
        """The words of a hyphenated word or identifier; an identifier keeps stop words."""
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
        plain = fold_marks(word).strip() if self._marked else word
        folded = fold_letters(plain)[:MAX_TERM_CHARS]
        if not keep_stop_words and folded in self._stop_words:
            return []
        if plain != word:
            return [self._stemmed_with_marks(word)]
        parts = humps(word)
        if len(parts) == 1:
            return [self._stemmed(folded)]
        # Also the stem of the whole: userpreferences in lower case is stemmed.
        wholes = dict.fromkeys((folded, self._stemmed(folded)))
        return [*wholes, *(self._stemmed(fold_letters(part)[:MAX_TERM_CHARS]) for part in parts)]

    def _stemmed(self, folded: str) -> str:
        if len(folded) == 1 or has_digit(folded):
            return folded
        return self._stem(folded)[:MAX_TERM_CHARS]

    def _stemmed_with_marks(self, word: str) -> str:
        """The stem of a word whose stemmer knows the marks, without them."""
        if "ı" in self._marked:
            word = word.replace("I", "ı").replace("İ", "i")
        return fold_letters(fold_marks(self._stem(word.lower())))[:MAX_TERM_CHARS]


def _cut(terms: Iterable[str]) -> list[str]:
    return [term[:MAX_TERM_CHARS] for term in terms]
