"""Letters made comparable for searching: no diacritics, no case, no invisible characters.

Folding is done in two steps, because splitting ``camelCase`` needs to see capitals:
:func:`fold_marks` works on a whole text and keeps case, :func:`fold_letters` finishes one word.
"""

import re
import unicodedata
from typing import Final

# After fold_marks, everything beyond ASCII is a letter, digit, mark or a symbol on its own.
_MAX_KNOWN_FOLDS: Final = 20_000  # so that odd texts cannot fill the memory

_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINED_EMOJI = re.compile(f"(?<=[{_EMOJI}\ufe0f])\u200d[{_EMOJI}]")
_SHORT_I_DECOMPOSED = (("и\u0306", "й"), ("И\u0306", "Й"))  # a letter of its own, not an accent

# Combining classes that spell a word rather than decorate a letter: nukta, kana voicing, virama,
# and the vowels and tones of South and South-East Asian scripts.
_SPELLING_CLASSES = frozenset({0, 7, 8, 9, *range(84, 133)})

_REPLACED: Final = {
    **dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032", "'"),
    **dict.fromkeys("\u2010\u2011\u2212", "-"),
    **dict.fromkeys("\u02b9\u02ba\u02bb\u02bd\u02be\u02bf\u02ee\u0640", ""),  # unvoiced marks
    "\u0345": "ι",  # what capitals turn the iota below a Greek vowel into
    "\u034f": "",
    "\u2044": "/",
}

# Letters that Unicode does not decompose. Lower case only: words are case-folded before.
_PLAIN_LETTERS: Final = str.maketrans(
    {
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ħ": "h",
        "ı": "i",
        "ĸ": "k",
        "ł": "l",
        "ƚ": "l",
        "ŋ": "n",
        "ŧ": "t",
        "þ": "th",
        "ƀ": "b",
        "ɨ": "i",
        "ɵ": "o",
        "ʉ": "u",
        "ƶ": "z",
    }
)


class _Folds(dict[int, str]):
    """What each character becomes, worked out when it is first seen."""

    def __missing__(self, code: int) -> str:
        replacement = _fold_of(chr(code))
        if len(self) < _MAX_KNOWN_FOLDS:
            self[code] = replacement
        return replacement


_FOLDS = _Folds()


def fold_marks(text: str) -> str:
    """The text in compatibility form (NFKC) without diacritics and invisible characters.

    Case stays. Beyond ASCII only letters, digits (as ASCII), marks that spell, and symbols are
    left; symbols stand between spaces and an emoji is reduced to its base. Never raises.
    """
    if text.isascii():
        return text if text.isprintable() else text.translate(_FOLDS)
    apart = unicodedata.normalize("NFKD", text)
    if "\u200d" in apart:
        apart = _JOINED_EMOJI.sub("", apart)
    if "\u0306" in apart:
        for decomposed, letter in _SHORT_I_DECOMPOSED:
            apart = apart.replace(decomposed, letter)
    return unicodedata.normalize("NFC", apart.translate(_FOLDS))


def fold_letters(word: str) -> str:
    """A word of :func:`fold_marks` without case and without letters such as ø, æ and ß."""
    lowered = word.casefold()
    return lowered if lowered.isascii() else lowered.translate(_PLAIN_LETTERS)


def fold_with_places(text: str) -> tuple[str, list[int]]:
    """The text fully folded, and for each folded character its place in the text given.

    For finding words while keeping the text as it was written. Marks are looked at one character
    at a time, so the text should be composed (NFC).
    """
    if text.isascii() and text.isprintable():
        return text.casefold(), list(range(len(text)))
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        folded = fold_letters(fold_marks(letter))
        letters.append(folded)
        places.extend([place] * len(folded))
    return "".join(letters), places


def _fold_of(letter: str) -> str:
    if letter in _REPLACED:
        return _REPLACED[letter]
    category = unicodedata.category(letter)
    if letter.isspace():
        return " "
    if category in ("Cc", "Cf"):
        return ""
    if letter.isascii():
        return letter
    if category == "Nd":
        return str(unicodedata.digit(letter))
    if category[0] == "M":
        return letter if _spells(letter, category) else ""
    if category[0] in "LN":
        return letter
    return _fold_of_symbol(letter, category)


def _fold_of_symbol(letter: str, category: str) -> str:
    if "\U0001f3fb" <= letter <= "\U0001f3ff":  # skin tones
        return ""
    if "\U0001f1e6" <= letter <= "\U0001f1ff":  # halves of a flag, which must stay together
        return letter
    # The emoji blocks are named, so that an older Unicode table knows newer emoji too.
    if category in ("So", "Sm", "Sc") or "\U0001f000" <= letter <= "\U0001faff":
        return f" {letter} "
    return " "


def _spells(mark: str, category: str) -> bool:
    if category == "Me" or "\ufe00" <= mark <= "\ufe0f" or "\U000e0100" <= mark <= "\U000e01ef":
        return False
    return category == "Mc" or unicodedata.combining(mark) in _SPELLING_CLASSES
