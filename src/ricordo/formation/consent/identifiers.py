"""Numbers and addresses that point at one person: cards, accounts, phones, mail, streets."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from ricordo.text.folding import fold_marks
from ricordo.text.normalise import lazy_pattern

_MAIL: Final = lazy_pattern(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")
_DIGITS: Final = lazy_pattern(r"(?<![\w.,])\d(?:[ -]?\d){11,18}(?![\w]|[.,]\d)")
_SIXTEEN: Final = lazy_pattern(r"(?<!\d)\d{16}(?!\d)")
# A look ahead, because what follows in the text may look like more of it.
_IBAN: Final = lazy_pattern(r"(?<!\w)(?=([A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,38}))")
_SSN: Final = lazy_pattern(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")
_PHONE: Final = lazy_pattern(r"(?<![\w.,/-])(?:\+ ?|\()?\d[\d ().-]{4,20}\d(?!\w|[.,:]\d)")
_PHONE_WORD: Final = lazy_pattern(
    r"\b(?:phone|telephone|tel|mobile|cell|whatsapp|wa|hp|telp|telepon|ponsel|telefon|handy"
    r"|handynummer|telefonnummer|signal|sms|text me at|call me (?:at|on))\b|電話|携帯",
    re.IGNORECASE,
)
_AMERICAN_PHONE: Final = lazy_pattern(r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")
_DATE: Final = lazy_pattern(r"\d{4}-\d{1,2}-\d{1,2}\b|\d{1,2}[.-]\d{1,2}[.-]\d{2,4}$")
_IP4: Final = lazy_pattern(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)")
_IP6: Final = lazy_pattern(r"(?<![\w:.])[0-9a-fA-F:]{6,39}(?![\w:])")
_STREET: Final = lazy_pattern(
    r"\b\d{1,5}[a-zA-Z]?,? (?:[A-Z][\w'.-]{0,30} ){1,3}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Way|Court|Ct|Square|Terrace"
    r"|Close|Place|Crescent)\b"
    r"|\b\d{1,5} \w{1,30} (?:street|avenue|boulevard)\b"
    r"|\b(?:[Jj]alan|[Jj]ln|[Jj]l|[Gg]ang|[Gg]g)\.? \w{1,30}(?: \w{1,30}){0,4}?"
    r",? ?(?:[Nn]o\.? ?)?\d{1,4}\b"
    r"|\b\w{0,30}(?:strasse|stra(?:ss|ß)e|str\.|weg|platz|allee|gasse) \d{1,4}\b"
    r"|\b[Vv]ia \w{1,30}(?: \w{1,30}){0,3}?,? \d{1,4}\b|\b[Rr]ue (?:\w{1,30} ){1,4}\d{1,4}\b"
    r"|\d丁目|\d番地|〒 ?\d{3}"
)
_LONGEST_IBAN: Final = 34
_SHORTEST_IBAN: Final = 15
_PHONE_DIGITS: Final = range(8, 16)
_FEWEST_NAMED_PHONE_DIGITS: Final = 6


def has_identifier(text: str) -> bool:
    """True where a text holds something that points at one person, by its form."""
    plain = fold_marks(text)
    return (
        any(pattern.search(plain) for pattern in (_MAIL, _SIXTEEN, _SSN, _STREET))
        or any(_is_card(found.group()) for found in _DIGITS.finditer(plain))
        or any(_begins_with_iban(found[1]) for found in _IBAN.finditer(plain.upper()))
        or _has_phone(plain)
        or any(_is_address(found) for found in _addresses(plain))
        or "〒" in text
    )


def has_street(text: str) -> bool:
    """True where a text names a street with a number."""
    return _STREET.search(fold_marks(text)) is not None


def _is_card(found: str) -> bool:
    """The check digit of bank cards (Luhn)."""
    digits = [int(sign) for sign in found if sign.isdigit()]
    if len(digits) < 13 or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _begins_with_iban(found: str) -> bool:
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


def _addresses(plain: str) -> Iterator[str]:
    for pattern in (_IP4, _IP6):
        for found in pattern.finditer(plain):
            yield found.group()


def _is_address(found: str) -> bool:
    try:
        address = ipaddress.ip_address(found)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
