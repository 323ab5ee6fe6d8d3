"""Which sensitive fields a statement touches, by its words and by the form of identifiers."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from ricordo.formation.resources import alternatives, listing, pattern, words
from ricordo.limits import MAX_TURN_CHARS
from ricordo.text.identifiers import has_identifier
from ricordo.text.normalise import fold_letters, fold_marks, lazy_pattern

_PHONE_WORD: Final = pattern("sensitive", "phone word", re.IGNORECASE)
_STREET: Final = pattern("sensitive", "street")

_WORD: Final = re.compile(r"[^\W_]+")
_SPACE: Final = re.compile(r"\s+")
_ANY_ENDING: Final = "*"
_KNOWN_TEXTS: Final = 16  # what was said is looked at again with each sentence made of it

Span = tuple[int, int]
"""The indexes of the first word of a match and of the word after it."""

_HOME: Final = pattern("sensitive", "home pattern")
_LIVING_SOFTWARE: Final = pattern("sensitive", "living software")
_MOVED: Final = pattern("sensitive", "moved")
_NO_PLACE: Final = lazy_pattern(rf"(?:{alternatives('sensitive', 'not a place')})\b")
_MOVED_ANYHOW: Final = lazy_pattern(_MOVED.pattern, re.IGNORECASE)
_VAGUE: Final = lazy_pattern(r"(?:a|an|the|my|our|his|her|their|another|new)\b")
_MOVED_HOME: Final = pattern("sensitive", "moved home")
_MOVED_TO_NAME: Final = lazy_pattern(r"(?:The |the )?[A-Z][a-z]")

SENSITIVE_FIELDS: Final[tuple[str, ...]] = (
    "preferred_name",
    "pronouns",
    "city",
    "language",
    "health",
    "faith",
    "sexuality",
    "politics",
    "money",
    "identifiers",
)

_KEYS: Final = {field: words("sensitive", f"keys {field}") for field in SENSITIVE_FIELDS}
_OF_TRADES: Final = frozenset({"health", "faith", "politics", "money"})
_WORK_REACH_WORDS: Final = 8
_TRADE_REACH_WORDS: Final = 2
_UNSPACED: Final = {field: pattern("sensitive", f"unspaced {field}") for field in SENSITIVE_FIELDS}
_PROGRAMMING: Final = frozenset({"programming", "scripting", "pemrograman", "programmiersprache"})


def plain_text(text: str) -> str:
    """Without case, diacritics and repeated space, as the word lists are written."""
    return _SPACE.sub(" ", fold_letters(fold_marks(text))).strip()


def words_of(plain: str) -> list[str]:
    """Hyphens, apostrophes and underscores separate words."""
    return _WORD.findall(plain)


class Phrases:
    """Lists of words and phrases, separated by commas; ``*`` at the end of a word is any ending.

    Words are looked up in dictionaries, so the length of the lists does not matter, and no text can
    make it slow.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._exact: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self._begun: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for name in names:
            for entry in listing("sensitive", name).replace("\n", " ").split(","):
                pieces = tuple(plain_text(entry).split())
                if pieces:
                    first = pieces[0]
                    known = self._begun if first.endswith(_ANY_ENDING) else self._exact
                    known.setdefault(first.rstrip(_ANY_ENDING), []).append((name, pieces))
        self._lengths = sorted({len(beginning) for beginning in self._begun})

    def spans(self, words: Sequence[str]) -> dict[str, list[Span]]:
        """Every occurrence of a phrase, in order, by the name of its list."""
        found: dict[str, list[Span]] = {}
        for place, word in enumerate(words):
            begun = (
                self._begun.get(word[:size], ()) for size in self._lengths if size <= len(word)
            )
            for name, pieces in chain(self._exact.get(word, ()), *begun):
                if _matches_at(pieces, words, place):
                    found.setdefault(name, []).append((place, place + len(pieces)))
        return found


def _matches_at(pieces: tuple[str, ...], words: Sequence[str], place: int) -> bool:
    if place + len(pieces) > len(words):
        return False
    return all(
        word.startswith(piece[:-1]) if piece.endswith(_ANY_ENDING) else word == piece
        for piece, word in zip(pieces, words[place : place + len(pieces)], strict=True)
    )


def _names_home(plain: str, cased: str) -> bool:
    if _HOME.search(_LIVING_SOFTWARE.sub(" ", plain)):
        return True
    for found in _MOVED.finditer(plain):
        following = plain[found.end() : found.end() + 60]
        if _MOVED_HOME.match(following):
            return True
        if following and not _VAGUE.match(following) and not _NO_PLACE.match(following):
            return True
    return any(
        _MOVED_TO_NAME.match(cased[found.end() : found.end() + 10])
        and not _NO_PLACE.match(cased[found.end() : found.end() + 30].casefold())
        for found in _MOVED_ANYHOW.finditer(cased)
    )


_PATTERNS: Final = {
    field: pattern("sensitive", f"{field} pattern")
    for field in ("preferred_name", "pronouns", "language", "health", "money", "identifiers")
}
_HARMLESS: Final = {field: f"harmless {field}" for field in SENSITIVE_FIELDS}
_WORDS: Final = Phrases((*SENSITIVE_FIELDS, *_HARMLESS.values(), "work", "trade"))


def sensitive_fields_of(content: str, quote: str, key: str | None) -> frozenset[str]:
    """The :data:`SENSITIVE_FIELDS` that a statement touches.

    The key counts first, then the words of the statement and its quote. A key can add fields but
    never removes one. When in doubt a field counts: a missed one is stored without asking.
    """
    found = _fields_of_text(content[:MAX_TURN_CHARS]) | _fields_of_text(quote[:MAX_TURN_CHARS])
    return found if key is None else found | _fields_of_key(key, content)


def _fields_of_key(key: str, content: str) -> set[str]:
    plain = plain_text(key[:MAX_TURN_CHARS])
    head = re.sub(r"[\s.-]+", "_", plain.partition(":")[0].strip())
    found = {field for field, names in _KEYS.items() if head in names}
    if not _PROGRAMMING.isdisjoint(words_of(plain_text(content[:MAX_TURN_CHARS]))):
        found.discard("language")
    return found | _fields_of_words(words_of(plain))


@lru_cache(maxsize=_KNOWN_TEXTS)
def _fields_of_text(text: str) -> frozenset[str]:
    plain = plain_text(text)
    found = _fields_of_words(words_of(plain))
    if not plain.isascii():
        found |= {field for field, said in _UNSPACED.items() if said.search(plain)}
    without_marks = fold_marks(text)
    found |= {field for field, said in _PATTERNS.items() if said.search(plain)}
    if _names_home(plain, " ".join(without_marks.split())):
        found.add("city")
    if _STREET.search(without_marks):
        found |= {"identifiers", "city"}
    names_phone = _PHONE_WORD.search(without_marks) is not None
    if has_identifier(without_marks, names_phone=names_phone):
        found.add("identifiers")
    return frozenset(found)


def _fields_of_words(words: Sequence[str]) -> set[str]:
    listed = _WORDS.spans(words)
    about_work = sorted({place for place, _ in listed.get("work", ())})
    trades = {place for place, _ in listed.get("trade", ())}
    found = set()
    for field, named in _HARMLESS.items():
        harmless = {place for span in listed.get(named, ()) for place in range(*span)}
        for span in listed.get(field, ()):
            if not harmless.isdisjoint(range(*span)):
                continue
            if field in _OF_TRADES and _names_a_trade(span, about_work, trades):
                continue
            found.add(field)
            break
    return found


def _names_a_trade(span: Span, about_work: Sequence[int], trades: set[int]) -> bool:
    """True for "works for a cancer charity": what somebody works on, not their state."""
    start, end = span
    follows = not trades.isdisjoint(range(end, end + _TRADE_REACH_WORDS))
    return follows and any(start - _WORK_REACH_WORDS <= place < start for place in about_work)
