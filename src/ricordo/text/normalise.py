"""Text made comparable: normalised, folded, split into chunks.

Computed here, never in a database, so that SQLite and PostgreSQL agree.
"""

import hashlib
import re
import unicodedata
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, cast

_OPENING: Final = " \t\"'“”‘’«»(["
_ENDING: Final = ".!?:…\r\n"
_LOOK_BACK_CHARS: Final = 64

# Two steps, because splitting ``camelCase`` needs capitals: :func:`fold_marks` works on a whole
# text and keeps case, :func:`fold_letters` finishes one word.

# After fold_marks, everything beyond ASCII is a letter, digit, mark or a single symbol.
_MAX_KNOWN_FOLDS: Final = 20_000  # so that odd texts cannot fill the memory

_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINED_EMOJI = re.compile(f"(?<=[{_EMOJI}\ufe0f])\u200d[{_EMOJI}]")
_SHORT_I_DECOMPOSED = (("и\u0306", "й"), ("И\u0306", "Й"))  # a letter of its own, not an accent

# Combining classes that spell a word rather than decorate a letter: nukta, kana voicing, virama,
# and vowels and tones of South and South-East Asian scripts.
_SPELLING_CLASSES = frozenset({0, 7, 8, 9, *range(84, 133)})

_REPLACED: Final = {
    **dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032", "'"),
    **dict.fromkeys("\u2010\u2011\u2212", "-"),
    **dict.fromkeys("\u02b9\u02ba\u02bb\u02bd\u02be\u02bf\u02ee\u0640", ""),  # unvoiced marks
    "\u0345": "ι",  # what capitals turn the iota below a Greek vowel into
    "\u034f": "",
    "\u2044": "/",
}

# Letters that Unicode does not decompose; lower case only, after case folding.
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

# A chunk is a word, identifier, number or address with its inner signs (``user_prefs_v2``,
# ``ERR-4512``, ``3.14``, ``ana@example.com``); a run of a script without spaces; or a flag.

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Hangul (with glued endings),
# kana, bopomofo, Han.
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
# A letter and then a digit, a long number, or signs that no word has inside.
_IDENTIFIER = re.compile(r"^[^\W\d_].*[0-9]|[0-9]{5}|[_@]|^(?=.{6})[0-9].*[.-].*[0-9]")
_RUN = re.compile(r"\w+")
_WITHOUT_VOWELS = re.compile(r"[b-df-hj-np-tv-xz]{5,}", re.IGNORECASE | re.ASCII)
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")


def canonical(text: str) -> str:
    """Equal for texts that differ only in case, white space, Unicode form or a final full stop.

    Decides whether memories are duplicates. Letters that merely look or sound alike (ß and ss, ²
    and 2) stay different.
    """
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    lowered = composed.lower()
    flat = _single_spaced(lowered if lowered.isascii() else unicodedata.normalize("NFC", lowered))
    return flat.rstrip(".。 ") or flat


def content_hash(text: str) -> str:
    return hashlib.blake2b(canonical(text).encode("utf-8"), digest_size=16).hexdigest()


def folded(text: str) -> str:
    """Case- and diacritic-folded text with single spaces, for substring search."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.casefold())
        bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
        text = unicodedata.normalize("NFKC", bare)
    return _single_spaced(text.casefold())


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def slug(name: str) -> str:
    """A theme's name: letters, marks and digits of any script, ``_``, and ``-`` for the rest."""
    kept = (
        letter if letter == "_" or unicodedata.category(letter)[0] in "LMN" else " "
        for letter in _folded_case(name)
    )
    return "-".join("".join(kept).split()).strip("-_")


def _folded_case(text: str) -> str:
    if text.isascii():
        return text.casefold()
    # Case folding can leave the normal form, and normalising can restore capitals.
    once = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", once).casefold())


@cache
def word_lists(name: str) -> dict[str, frozenset[str]]:
    """The lists of a file in ``data/``, by their titles."""
    text = (Path(__file__).parent / "data" / f"{name}.txt").read_text(encoding="utf-8")
    sections = (section.partition("]") for section in text.split("[")[1:])
    return {title: frozenset(words.split()) for title, _, words in sections}


class _Later:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._compiled, name)
        setattr(self, name, found)  # found at once from now on
        return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern compiled on first use: the many long ones would slow down short commands."""
    return cast("re.Pattern[str]", _Later(text, flags))


def capitalised_inside_sentence(text: str, start: int, end: int) -> bool:
    """Whether the word has a capital that the start of a sentence does not explain.

    Not in a text in capitals only.
    """
    if not (text[start : start + 1].isupper() and text[start + 1 : end].islower()):
        return False
    before = text[max(0, start - _LOOK_BACK_CHARS) : start].rstrip(_OPENING)
    return bool(before) and before[-1] not in _ENDING


class _Folds(dict[int, str]):
    def __missing__(self, code: int) -> str:
        replacement = _fold_of(chr(code))
        if len(self) < _MAX_KNOWN_FOLDS:
            self[code] = replacement
        return replacement


_FOLDS = _Folds()


def fold_marks(text: str, kept: str = "") -> str:
    """The text in NFKC without diacritics and invisible characters; ``kept`` are small letters
    that keep theirs, as capitals, too.

    Case stays. Beyond ASCII only letters, digits (as ASCII), spelling marks, and symbols are left;
    symbols are surrounded by spaces and an emoji is reduced to its base. Never raises.
    """
    if text.isascii():
        return text if text.isprintable() else text.translate(_FOLDS)
    if kept:
        others = re.compile(f"[^{kept}{kept.upper()}İ]+")
        composed = unicodedata.normalize("NFC", text)
        return others.sub(lambda found: fold_marks(found.group()), composed)
    apart = unicodedata.normalize("NFKD", text)
    if "\u200d" in apart:
        apart = _JOINED_EMOJI.sub("", apart)
    if "\u0306" in apart:
        for decomposed, letter in _SHORT_I_DECOMPOSED:
            apart = apart.replace(decomposed, letter)
    return unicodedata.normalize("NFC", apart.translate(_FOLDS))


def fold_letters(word: str) -> str:
    """A word of :func:`fold_marks` without case and letters such as ø, æ and ß."""
    lowered = word.casefold()
    return lowered if lowered.isascii() else lowered.translate(_PLAIN_LETTERS)


def fold_with_places(text: str) -> tuple[str, list[int]]:
    """The folded text, and the position in the original of each folded character.

    Folds one character at a time, so the text should be composed (NFC).
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
    # Emoji blocks are listed, so that an older Unicode table knows newer emoji.
    if category in ("So", "Sm", "Sc") or "\U0001f000" <= letter <= "\U0001faff":
        return f" {letter} "
    return " "


def _spells(mark: str, category: str) -> bool:
    if category == "Me" or "\ufe00" <= mark <= "\ufe0f" or "\U000e0100" <= mark <= "\U000e01ef":
        return False
    return category == "Mc" or unicodedata.combining(mark) in _SPELLING_CLASSES


def is_dense(letter: str) -> bool:
    return _DENSE_LETTER.match(letter) is not None


def is_hangul(letter: str) -> bool:
    """Whether it is Korean, which has few letters to a word and spaces between words."""
    return "\uac00" <= letter <= "\ud7a3"


def has_digit(word: str) -> bool:
    return _DIGIT.search(word) is not None


def is_identifier(term: str) -> bool:
    return _IDENTIFIER.search(term) is not None


def means_nothing(text: str) -> bool:
    """Whether it is keys that were hit at random: such text resembles something by accident."""
    words = _RUN.findall(text)
    return bool(words) and all(map(_WITHOUT_VOWELS.fullmatch, words))


def bigrams(run: str) -> list[str]:
    """Pairs of neighbours; a single character is its own term."""
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def number_forms(number: str) -> list[str]:
    """A number as written and without thousands separators; a list of numbers, split."""
    if _GROUPED_NUMBER.fullmatch(number):
        return [number, number.replace(",", "")]
    return [number] if number.count(",") < 2 else number.split(",")


def humps(word: str) -> list[str]:
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


def printable(text: str) -> str:
    """Without line breaks and characters that a database refuses."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
