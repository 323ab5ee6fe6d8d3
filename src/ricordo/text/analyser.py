"""The analyser: the search terms of a text, the same on both databases."""

import importlib
import importlib.util
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain
from types import ModuleType
from typing import Any, Final, Protocol

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_TERM_CHARS, MAX_TERMS_PER_TEXT
from ricordo.text.folding import (
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
)

# The snowball stemmers compare a word letter by letter with a sorted list, which takes most of
# their time. Here the longest affix is looked up in a table. Every stem is the same.


class Affix(Protocol):
    """An entry of a stemmer's list."""

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
        lengths, by_text = _table(v)
        for length in lengths:
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
        lengths, by_text = _table(v)
        for length in lengths:
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


_Table = tuple[list[int], dict[str, Affix]]
_tables: dict[int, tuple[_Table, Sequence[Affix]]] = {}
"""By the identity of the list, which is kept alive."""


def _table(listed: Sequence[Affix]) -> _Table:
    known = _tables.get(id(listed))
    if known is None:
        by_text = {one.s: one for one in listed}
        table = (sorted({len(text) for text in by_text}, reverse=True), by_text)
        known = _tables[id(listed)] = (table, listed)
    return known[0]


# A stemmer is imported on first use, and only that one: the whole package takes ten times as long,
# and prefers compiled stemmers where installed, so that the same database could get other terms on
# another machine.

NO_LANGUAGE: Final = "none"

_PACKAGE: Final = "snowballstemmer"
_UNOPENED_PACKAGE: Final = "_ricordo_snowballstemmer"  # the same folder, its __init__ not run
_SUFFIX: Final = "_stemmer"
_MAX_KNOWN_STEMS: Final = 32_768


@cache
def languages() -> tuple[str, ...]:
    """The languages with a stemmer, without loading any."""
    names = (module.name for module in pkgutil.iter_modules(_folders()))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


@cache
def stemmer_version() -> str:
    from importlib.metadata import version  # slow to load, and not needed for searching

    return version(_PACKAGE)


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """A cached, thread-safe stemming function for folded words."""
    if language == NO_LANGUAGE:
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


# Short on purpose: a missing stop word costs a little speed, a superfluous one cannot be searched.
# "May" and "no" stay searchable. A language without a list drops nothing.

_ENGLISH = """
a about after all also am an and any are arent as at be because been before being both but by can
cant could couldnt did didnt do does doesnt doing dont during each e.g few for from further had
hadnt has hasnt have havent having he her here hers herself him himself his how i i.e if in into is
isnt it its itself just me more most mustnt my myself nor not of on once only or other ought our
ours ourselves out over own same shall shant she should shouldnt so some such than that the their
theirs them themselves then there these they this those through to too under until up us very was
wasnt we were werent what when where which while who whom whose why will with wont would wouldnt
you your yours yourself yourselves
"""

_INDONESIAN = """
ada adalah agar akan aku anda antara apa apakah atas atau bagaimana bagi bahwa banyak beberapa
begitu belum bila bisa bukan dalam dan dapat dari dengan di dia dimana hal hanya harus ia ini itu
jadi jika juga kah kalau kami kamu kapan karena ke kepada ketika kita lagi lain lalu lebih maka
masih mana mengapa mereka nya oleh pada para pernah saat saja sambil sampai sangat saya seorang
sebagai sebuah secara sedang sehingga sejak seluruh semua seperti serta siapa suatu sudah supaya
tapi telah tentang terhadap tetapi tersebut untuk yaitu yakni yang
"""

_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch
auf aus bei bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der
des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
einen einer eines er es etwas euch euer eure für gegen hab habe haben hat hatte hatten hier hin
hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes
jene kann kein keine keinem keinen keiner können könnte man mein meine meinem meinen meiner mich
mir mit muss musste nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit
selbst sich sie sind so solche soll sollte sondern sonst über um und uns unser unsere unter vom von
vor wann war waren warum was weil welche welcher welches wem wen wenn wer werde werden wie wieder
will wir wird wo wollte würde würden zu zum zur zwar zwischen
"""

_SPANISH = """
a al algo algunas algunos ante antes aquel aquella aquello aquí así aun aunque cada como cómo con
contra cual cuál cuando cuándo de del desde donde dónde dos durante e el él ella ellas ellos en
entre era eran eres es esa esas ese eso esos esta está están estar estas este esto estos estoy fue
fueron ha había habían han hasta hay he la las le les lo los más me mi mí mis mucho muchos muy nada
ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque qué que
quién quien se sea ser si sí sin sobre son soy su sus también tan tanto te tengo tiene tienen todo
todos tu tú tus un una uno unos vosotros y ya yo
"""

_FRENCH = """
à ai as au aucun aussi autre aux avait avec avez avoir avons c ça car ce cela ces cet cette ceux
chez ci comme comment d dans de des donc dont du elle elles en entre es est et étaient était être
eu eux fait il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne ni nos notre
nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se
sera ses si sont sous sur suis t ta te tes toi ton tous tout toute toutes très tu un une vers vos
votre vous y
"""

_ITALIAN = """
a ad agli ai al alla alle allo anche ancora avere aveva c che chi ci ciò coi col come con contro
cosa così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dove due
e è ed era erano essere fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia
mie miei mio molto ne negli nei nel nell nella nelle nello noi non nostra nostro o ogni per perché
perciò più poi quale quali quando quanto quella quelle quelli quello questa queste questi questo se
sei senza si sia siamo solo sono sta stata stato su sua sue sugli sui sul sull sulla sulle suo suoi
tra tu tua tue tuo tuoi tutti tutto un una uno v vi voi
"""

_DUTCH = """
aan al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een
en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun ik in is ja je jij jullie
kan kon kunnen maar me meer men met mij mijn moet na naar niet nog nu of om omdat onder ons ook op
over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we
welke wel werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou
"""

_PORTUGUESE = """
a à ao aos aquela aquele aquilo as às até com como cada da das de dela dele deles depois do dos e é
ela elas ele eles em entre era eram essa esse esta está estão estas este eu foi foram há isso isto
já lhe lhes mais mas me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nosso num
numa o os ou onde para pela pelas pelo pelos por porque quais qual quando que quê quem são se sem
ser será seu seus sim só sobre sua suas também te tem têm ter teu tinha tu tua tudo um uma umas uns
você vocês
"""

_WORDS: Final = {
    "english": _ENGLISH,
    "porter": _ENGLISH,
    "indonesian": _INDONESIAN,
    "german": _GERMAN,
    "spanish": _SPANISH,
    "french": _FRENCH,
    "italian": _ITALIAN,
    "dutch": _DUTCH,
    "dutch_porter": _DUTCH,
    "portuguese": _PORTUGUESE,
}


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language; contractions without apostrophe."""
    return frozenset(_WORDS.get(language, "").split())


# Words are folded (case, diacritics, compatibility forms), stop words dropped, the rest stemmed.
# Identifiers are kept whole and also split. Scripts without spaces give character bigrams, emoji
# and other symbols are terms. Every term is 1 to 64 characters without white space, quotes, colons
# or NUL.

# Raise whenever the same text may give other terms: indexes are then rebuilt.
ANALYSER_VERSION: Final = 1

_MAX_KNOWN_CHUNKS: Final = 32_768
_MAX_KNOWN_CHUNK_CHARS: Final = 128  # longer ones hardly ever come twice

# Possessives and English contractions: Ana's, I'll, they're, we've, she'd, I'm.
_SHORT_ENDING = re.compile(r"'(?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_WORD_JOINT = re.compile(r"[-_]+")


class Analyser:
    """Splits texts into terms for one language.

    Cheap to create, since analysers of one language share caches. Thread-safe.

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
        """The language of stop words and stemming, or "none"."""
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
        """The terms to search: those of :meth:`terms`, each once."""
        return list(dict.fromkeys(self.terms(text)))


_ChunkTerms = Callable[[str], tuple[str, ...]]


@cache
def _chunk_analysis(language: str) -> tuple[_ChunkTerms, _ChunkTerms]:
    """The analysis of one chunk, without and with a cache."""
    uncached = _ChunkAnalysis(language).terms
    return uncached, lru_cache(maxsize=_MAX_KNOWN_CHUNKS)(uncached)


class _ChunkAnalysis:
    """The terms of one chunk, independent of its context."""

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
        folded = fold_letters(word)[:MAX_TERM_CHARS]
        if not keep_stop_words and folded in self._stop_words:
            return []
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


def _cut(terms: Iterable[str]) -> list[str]:
    return [term[:MAX_TERM_CHARS] for term in terms]
