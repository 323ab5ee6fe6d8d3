"""Which sensitive fields a statement touches, by its words and by the form of identifiers."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ricordo.formation.words import alternatives, listing, pattern, words
from ricordo.limits import MAX_TURN_CHARS
from ricordo.text.normalise import fold_letters, fold_marks, lazy_pattern

_MAIL: Final = lazy_pattern(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")
_DIGITS: Final = lazy_pattern(r"(?<![\w.,])\d(?:[ -]?\d){11,18}(?![\w]|[.,]\d)", re.ASCII)
_SIXTEEN: Final = lazy_pattern(r"(?<!\d)\d{16}(?!\d)", re.ASCII)
# A lookahead, because the following text may look like more of it.
_IBAN: Final = lazy_pattern(r"(?<!\w)(?=([A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,38}))", re.ASCII)
_SSN: Final = lazy_pattern(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", re.ASCII)
_PHONE: Final = lazy_pattern(
    r"(?<![\w.,/-])(?:\+ ?|\()?\d[\d ().-]{4,20}\d(?!\w|[.,:]\d)", re.ASCII
)
_PHONE_WORD: Final = pattern("sensitive", "phone word", re.IGNORECASE)
_AMERICAN_PHONE: Final = lazy_pattern(r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")
_DATE: Final = lazy_pattern(r"\d{4}-\d{1,2}-\d{1,2}\b|\d{1,2}[.-]\d{1,2}[.-]\d{2,4}$")
_IP4: Final = lazy_pattern(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)", re.ASCII)
_IP6: Final = lazy_pattern(r"(?<![\w:.])[0-9a-fA-F:]{6,39}(?![\w:])", re.ASCII)
_STREET: Final = pattern("sensitive", "street")
_LONGEST_IBAN: Final = 34
_SHORTEST_IBAN: Final = 15
_PHONE_DIGITS: Final = range(8, 16)
_FEWEST_NAMED_PHONE_DIGITS: Final = 6

_WORD: Final = re.compile(r"[^\W_]+")
_SPACE: Final = re.compile(r"\s+")
_ANY_ENDING: Final = "*"

Span = tuple[int, int]
"""The indexes of the first word of a match and of the word after it."""

_NAME: Final = pattern("sensitive", "name pattern")
_HOME: Final = pattern("sensitive", "home pattern")
_LIVING_SOFTWARE: Final = pattern("sensitive", "living software")
_MOVED: Final = lazy_pattern(
    r"\b(?:move|moved|moving|moves|relocat(?:e|es|ed|ing)|emigrated|immigrated) (?:back |over |"
    r"away |out |here )?(?:to|from) "
)
_NO_PLACE: Final = lazy_pattern(rf"(?:{alternatives('sensitive', 'not a place')})\b")
_MOVED_ANYHOW: Final = lazy_pattern(_MOVED.pattern, re.IGNORECASE)
_VAGUE: Final = lazy_pattern(r"(?:a|an|the|my|our|his|her|their|another|new)\b")
_MOVED_HOME: Final = pattern("sensitive", "moved home")
_MOVED_TO_NAME: Final = lazy_pattern(r"(?:The |the )?[A-Z][a-z]")
_LANGUAGE: Final = pattern("sensitive", "language pattern")
_PRONOUNS: Final = lazy_pattern(
    r"\b(?:she|he|they|ze|xe) ?/ ?(?:her|hers|him|his|them|theirs|they|she|he|zir|xem)\b"
)
_INCOME: Final = pattern("sensitive", "income pattern")
_FULL_DATE: Final = (
    r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./ -]\d{1,2}[./ -]\d{2,4}"
    r"|\d{1,2}(?:st|nd|rd|th|\.|er)?(?: of| de)? \w{3,10}(?: of| de)?,? (?:19|20)\d\d"
    r"|\w{3,10} \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d)"
)
_BIRTH: Final = pattern("sensitive", "birth pattern", full_date=_FULL_DATE)
_SEEN_BY: Final = pattern("sensitive", "seen by")

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
_FIELDS_OF_KEY: Final[dict[str, frozenset[str]]] = {
    name: frozenset(field for field, names in _KEYS.items() if name in names)
    for names in _KEYS.values()
    for name in names
}
_OF_TRADES: Final = frozenset({"health", "faith", "politics", "money"})
_WORK_REACH_WORDS: Final = 8
_TRADE_REACH_WORDS: Final = 2
_UNSPACED: Final = {field: pattern("sensitive", f"unspaced {field}") for field in SENSITIVE_FIELDS}
_PROGRAMMING: Final = frozenset({"programming", "scripting", "pemrograman", "programmiersprache"})


def has_identifier(text: str) -> bool:
    """Whether a text contains something that identifies one person, by its form."""
    plain = fold_marks(text)
    return (
        any(form.search(plain) for form in (_MAIL, _SIXTEEN, _SSN, _STREET))
        or any(_is_card(found.group()) for found in _DIGITS.finditer(plain))
        or any(_starts_with_iban(found[1]) for found in _IBAN.finditer(plain.upper()))
        or _has_phone(plain)
        or any(
            _is_address(found.group()) for form in (_IP4, _IP6) for found in form.finditer(plain)
        )
        or "〒" in text
    )


def has_street(text: str) -> bool:
    """Whether a text names a street with a number."""
    return _STREET.search(fold_marks(text)) is not None


def _is_card(found: str) -> bool:
    """The check digit of bank cards (Luhn)."""
    digits = [int(sign) for sign in found if sign.isdigit()]
    if len(digits) < 13 or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _starts_with_iban(found: str) -> bool:
    groups = found.split(" ")
    return any(_is_iban("".join(groups[:count])) for count in range(1, len(groups) + 1))


def _is_iban(bare: str) -> bool:
    """The check digits of an account number (ISO 7064, mod 97)."""
    if not (_SHORTEST_IBAN <= len(bare) <= _LONGEST_IBAN and bare.isascii()):
        return False
    return int("".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4])) % 97 == 1


def _has_phone(plain: str) -> bool:
    is_named = _PHONE_WORD.search(plain) is not None
    return any(_is_phone(found.group(), is_named) for found in _PHONE.finditer(plain))


def _is_phone(found: str, is_named: bool) -> bool:
    if _DATE.match(found):
        return False
    digits = sum(sign.isdigit() for sign in found)
    if is_named and digits >= _FEWEST_NAMED_PHONE_DIGITS:
        return True
    if digits not in _PHONE_DIGITS:
        return False
    return found.startswith(("+", "0", "(0")) or _AMERICAN_PHONE.fullmatch(found) is not None


def _is_address(found: str) -> bool:
    try:
        address = ipaddress.ip_address(found)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def plain_text(text: str) -> str:
    """Without case, diacritics and repeated space, as the word lists are written."""
    return _SPACE.sub(" ", fold_letters(fold_marks(text))).strip()


def words_of(plain: str) -> list[str]:
    """Hyphens, apostrophes and underscores separate words."""
    return _WORD.findall(plain)


class Phrases:
    """A list of words and phrases, separated by commas; ``*`` at the end of a word is any ending.

    Words are looked up in dictionaries, so the length of the list does not matter, and no text can
    make it slow.
    """

    def __init__(self, listed: str) -> None:
        self._exact: dict[str, list[tuple[str, ...]]] = {}
        self._begun: dict[str, list[tuple[str, ...]]] = {}
        for entry in listed.replace("\n", " ").split(","):
            pieces = tuple(plain_text(entry).split())
            if pieces:
                first = pieces[0]
                known = self._begun if first.endswith(_ANY_ENDING) else self._exact
                known.setdefault(first.rstrip(_ANY_ENDING), []).append(pieces)
        self._lengths = sorted({len(beginning) for beginning in self._begun})

    def spans(self, words: Sequence[str]) -> Iterator[Span]:
        """Every occurrence of a phrase, in order."""
        for place, word in enumerate(words):
            for pieces in self._starting_with(word):
                if _matches_at(pieces, words, place):
                    yield place, place + len(pieces)

    def _starting_with(self, word: str) -> Iterator[tuple[str, ...]]:
        yield from self._exact.get(word, ())
        for length in self._lengths:
            if length > len(word):
                break
            yield from self._begun.get(word[:length], ())


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


def _finds(words: re.Pattern[str]) -> Callable[[str, str], bool]:
    return lambda plain, _cased: words.search(plain) is not None


PATTERNS: Final[dict[str, Callable[[str, str], bool]]] = {
    "preferred_name": _finds(_NAME),
    "pronouns": _finds(_PRONOUNS),
    "city": _names_home,
    "language": _finds(_LANGUAGE),
    "health": _finds(_SEEN_BY),
    "money": _finds(_INCOME),
    "identifiers": _finds(_BIRTH),
}
"""By field: a test of a plain text and the same text with capitals."""
_WORDS: Final = {field: Phrases(listing("sensitive", field)) for field in SENSITIVE_FIELDS}
_HARMLESS: Final = {
    field: Phrases(listing("sensitive", f"harmless {field}")) for field in SENSITIVE_FIELDS
}
_WORK: Final = Phrases(listing("sensitive", "work"))
_TRADE: Final = Phrases(listing("sensitive", "trade"))


def sensitive_fields_of(content: str, quote: str, key: str | None) -> frozenset[str]:
    """The :data:`SENSITIVE_FIELDS` that a statement touches.

    The key counts first, then the words of the statement and its quote. A key can add fields but
    never removes one. When in doubt a field counts: a missed one is stored without asking.
    """
    found = _fields_of_text(content[:MAX_TURN_CHARS]) | _fields_of_text(quote[:MAX_TURN_CHARS])
    return frozenset(found if key is None else found | _fields_of_key(key, content))


def _fields_of_key(key: str, content: str) -> set[str]:
    plain = plain_text(key[:MAX_TURN_CHARS])
    head = re.sub(r"[\s.-]+", "_", plain.partition(":")[0].strip())
    found = set(_FIELDS_OF_KEY.get(head, ()))
    if not _PROGRAMMING.isdisjoint(words_of(plain_text(content[:MAX_TURN_CHARS]))):
        found.discard("language")
    return found | _fields_of_words(words_of(plain))


def _fields_of_text(text: str) -> set[str]:
    plain = plain_text(text)
    found = _fields_of_words(words_of(plain))
    if not plain.isascii():
        found |= {field for field, said in _UNSPACED.items() if said.search(plain)}
    cased = " ".join(fold_marks(text).split())
    found |= {field for field, touches in PATTERNS.items() if touches(plain, cased)}
    if has_identifier(text):
        found.add("identifiers")
    if has_street(text):
        found.add("city")
    return found


def _fields_of_words(words: Sequence[str]) -> set[str]:
    about_work = sorted({place for place, _ in _WORK.spans(words)})
    trades = {place for place, _ in _TRADE.spans(words)} if about_work else set()
    found = set()
    for field, listed in _WORDS.items():
        harmless = {place for span in _HARMLESS[field].spans(words) for place in range(*span)}
        for span in listed.spans(words):
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
