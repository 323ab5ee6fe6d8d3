"""Which sensitive fields a statement touches, so that consent can be asked before it is stored.

What it is filed under counts first, then the words of the statement and of what it rests on. It
would rather ask once too often: a field that is missed is stored without anybody being asked.
"""

import re
from collections.abc import Sequence
from typing import Final

from ricordo.formation.consent import harmless_words, sensitive_words
from ricordo.formation.consent.identifiers import has_identifier, has_street
from ricordo.formation.consent.phrases import Phrases, Span, plain_text, words_of
from ricordo.formation.consent.sensitive_japanese import JAPANESE
from ricordo.formation.consent.sensitive_patterns import PATTERNS
from ricordo.limits import MAX_TURN_CHARS
from ricordo.text.folding import fold_marks
from ricordo.text.normalise import lazy_pattern

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

_BY_KEY: Final[dict[str, str]] = {
    "preferred_name": "preferred_name name user_name full_name first_name last_name nickname"
    " surname nama nama_panggilan",
    "pronouns": "pronouns pronoun gender_pronouns",
    "city": "city home_city hometown home_town home home_address address location residence"
    " birthplace kota tempat_tinggal alamat",
    "language": "language languages native_language spoken_language mother_tongue bahasa",
    "health": "health allergy allergies diagnosis condition illness disease medication medications"
    " medicine disability mental_health pregnancy therapy addiction blood_type intolerance"
    " kesehatan alergi penyakit obat",
    "faith": "faith religion church denomination belief agama",
    "sexuality": "sexuality sexual_orientation orientation gender gender_identity",
    "politics": "politics party political_party political_view vote union politik",
    "money": "money salary income wage debt loan savings mortgage net_worth bank_balance gaji"
    " penghasilan utang tabungan",
    "identifiers": "identifiers identifier email e_mail phone phone_number mobile address"
    " home_address street_address alamat passport id_number nik ssn tax_number tax_id npwp iban"
    " card_number account_number licence_plate license_plate ip_address password"
    " date_of_birth birth_date birthdate dob tanggal_lahir",
}
_FIELDS_OF_KEY: Final[dict[str, frozenset[str]]] = {
    name: frozenset(field for field, names in _BY_KEY.items() if name in names.split())
    for names in _BY_KEY.values()
    for name in names.split()
}
_WORDS: Final = {field: Phrases(listed) for field, listed in sensitive_words.WORDS.items()}
_HARMLESS: Final = {field: Phrases(listed) for field, listed in harmless_words.HARMLESS.items()}
_WORK: Final = Phrases(harmless_words.WORK)
_TRADE: Final = Phrases(harmless_words.TRADE)
_OF_TRADES: Final = frozenset({"health", "faith", "politics", "money"})
_WORK_REACH_WORDS: Final = 8
_TRADE_REACH_WORDS: Final = 2
_JAPANESE: Final = {field: lazy_pattern(pattern, re.VERBOSE) for field, pattern in JAPANESE.items()}
_PROGRAMMING: Final = frozenset({"programming", "scripting", "pemrograman", "programmiersprache"})


def sensitive_fields_of(content: str, quote: str, key: str | None) -> frozenset[str]:
    """Those of :data:`SENSITIVE_FIELDS` that a statement touches.

    ``quote`` is what the statement rests on, ``key`` what it is filed under. A key can add fields
    but never takes one away.
    """
    found: set[str] = set()
    for text in (content, quote):
        found |= _fields_of_text(text[:MAX_TURN_CHARS])
    return frozenset(found | _fields_of_key(key, content))


def _fields_of_key(key: str | None, content: str) -> set[str]:
    if key is None:
        return set()
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
        found |= {field for field, pattern in _JAPANESE.items() if pattern.search(plain)}
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
        harmless = _covered(field, words)
        for span in listed.spans(words):
            if not harmless.isdisjoint(range(*span)):
                continue
            if field in _OF_TRADES and _names_a_trade(span, about_work, trades):
                continue
            found.add(field)
            break
    return found


def _covered(field: str, words: Sequence[str]) -> set[int]:
    """The places of words that mean something harmless here."""
    listed = _HARMLESS.get(field)
    return set() if listed is None else {n for span in listed.spans(words) for n in range(*span)}


def _names_a_trade(span: Span, about_work: Sequence[int], trades: set[int]) -> bool:
    """True of "works for a cancer charity": what somebody works on, not how they are."""
    start, end = span
    follows = not trades.isdisjoint(range(end, end + _TRADE_REACH_WORDS))
    return follows and any(start - _WORK_REACH_WORDS <= place < start for place in about_work)
