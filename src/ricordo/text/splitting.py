"""How a folded text falls into chunks, and a chunk into its parts. Knows no language.

A chunk is what stands between spaces and punctuation: a word, or an identifier, number or address
with its inner signs (``user_prefs_v2``, ``ERR-4512``, ``3.14``, ``ana@example.com``); or a run of
a script that is written without spaces; or a flag.
"""

import re
from typing import Final

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Hangul (written with spaces, but
# with endings glued on), kana, bopomofo, Han.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u19e0-\u19ff\u2e80-\u2fdf\u3005-\u3007"
    "\u303b\u3040-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\uac00-\ud7ff\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_FLAG = "\U0001f1e6-\U0001f1ff"
_LETTER = rf"[^\x00-/:-@\[-`{{-\x7f{_DENSE}{_FLAG}]"  # any but ASCII signs and the two above

CHUNK: Final = re.compile(
    rf"{_LETTER}+(?:(?:[.'@-]|_+|(?<=[0-9]),(?=[0-9])){_LETTER}+)*"
    rf"(?:(?:\+\+|\#)(?!{_LETTER}))?"  # C++ and C#
    rf"|[{_DENSE}]+|[{_FLAG}]{{1,2}}"
)
INNER_SIGN: Final = re.compile(r"[.'@,_#+-]")
NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)+")

_DENSE_LETTER = re.compile(f"[{_DENSE}]")
_GROUPED_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DIGIT = re.compile(r"[0-9]")
# A letter and then a digit, a long number, or signs that no word of a language has inside.
_IDENTIFIER = re.compile(r"^[^\W\d_].*[0-9]|[0-9]{5}|[_@]|^(?=.{6})[0-9].*[.-].*[0-9]")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")


def is_dense(letter: str) -> bool:
    """Whether this letter belongs to a script written without spaces between words."""
    return _DENSE_LETTER.match(letter) is not None


def has_digit(word: str) -> bool:
    """Whether a folded word has a digit, and is thus no word of a language."""
    return _DIGIT.search(word) is not None


def is_identifier(term: str) -> bool:
    """Whether a term names one thing, such as a serial number, an address or a code."""
    return _IDENTIFIER.search(term) is not None


def bigrams(run: str) -> list[str]:
    """Each pair of neighbours; a single character is its own term."""
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def number_forms(number: str) -> list[str]:
    """A number as written, also without thousands separators; a bare list of numbers, split."""
    if _GROUPED_NUMBER.fullmatch(number):
        return [number, number.replace(",", "")]
    return [number] if number.count(",") < 2 else number.split(",")


def humps(word: str) -> list[str]:
    """The parts of a camelCase or PascalCase word; one part when it is a plain word."""
    if word.islower() or word.isupper() or word[1:].islower() or _PLURAL_ACRONYM.fullmatch(word):
        return [word]
    starts = [0, *(place for place in range(1, len(word)) if _starts_hump(word, place))]
    return [word[start:end] for start, end in zip(starts, [*starts[1:], len(word)], strict=True)]


def _starts_hump(word: str, place: int) -> bool:
    if not word[place].isupper():
        return False
    if not word[place - 1].isupper():
        return True
    return place + 1 < len(word) and word[place + 1].islower()  # the S of HTTPServer
