"""What identifies one person by its form: addresses, and numbers of phones, cards and accounts."""

import ipaddress
import re
from typing import Final

from ricordo.text.normalise import lazy_pattern

_MAIL: Final = lazy_pattern(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")
_DIGITS: Final = lazy_pattern(r"(?<![\w.,])\d(?:[ -]?\d){11,18}(?![\w]|[.,]\d)", re.ASCII)
_SIXTEEN: Final = lazy_pattern(r"(?<!\d)\d{16}(?!\d)", re.ASCII)
# A lookahead, because the following text may look like more of it.
IBAN: Final = lazy_pattern(
    r"(?<!\w)(?=([a-z]{2}\d{2}(?: ?[a-z0-9]){11,38}))", re.ASCII | re.IGNORECASE
)
_SSN: Final = lazy_pattern(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", re.ASCII)
_PHONE: Final = lazy_pattern(
    r"(?<![\w.,/-])(?:\+ ?|\()?\d[\d ().-]{4,20}\d(?!\w|[.,:]\d)", re.ASCII
)
_AMERICAN_PHONE: Final = lazy_pattern(r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")
_DATE: Final = lazy_pattern(r"\d{4}-\d{1,2}-\d{1,2}\b|\d{1,2}[.-]\d{1,2}[.-]\d{2,4}$")
_IP4: Final = lazy_pattern(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)", re.ASCII)
_IP6: Final = lazy_pattern(r"(?<![\w:.])[0-9a-fA-F:]{6,39}(?![\w:])", re.ASCII)
_POSTAL_MARK: Final = "〒"
SHORTEST_CARD: Final = 13
_IBAN_CHARS: Final = range(15, 35)
_PHONE_DIGITS: Final = range(8, 16)
_FEWEST_NAMED_PHONE_DIGITS: Final = 6


def has_identifier(plain: str, *, names_phone: bool) -> bool:
    """Of a text without diacritics; where it names a phone, a shorter number is one."""
    return (
        any(form.search(plain) for form in (_MAIL, _SIXTEEN, _SSN))
        or any(is_card(found.group()) for found in _DIGITS.finditer(plain))
        or any(iban_end(found[1]) for found in IBAN.finditer(plain))
        or any(_is_phone(found.group(), names_phone) for found in _PHONE.finditer(plain))
        or any(
            _is_address(found.group()) for form in (_IP4, _IP6) for found in form.finditer(plain)
        )
        or _POSTAL_MARK in plain
    )


def is_card(number: str) -> bool:
    """The length and the check digit of bank cards (Luhn)."""
    digits = [int(sign) for sign in number if sign.isdecimal()]
    if len(digits) < SHORTEST_CARD or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def iban_end(found: str) -> int:
    """The length of the account number at the start of a match, by its check digits (ISO 7064, mod
    97); 0 for none.
    """
    for end in (*(place for place, sign in enumerate(found) if sign == " "), len(found)):
        bare = found[:end].replace(" ", "")
        if len(bare) in _IBAN_CHARS:
            digits = "".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4])
            if int(digits) % 97 == 1:
                return end
    return 0


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
