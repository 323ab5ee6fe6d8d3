"""Normal forms of texts, and lazily compiled patterns."""

import hashlib
import re
import unicodedata
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, cast

# Computed here, never in a database, so that SQLite and PostgreSQL agree.


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


_OPENING: Final = " \t\"'“”‘’«»(["
_ENDING: Final = ".!?:…\r\n"
_LOOK_BACK_CHARS: Final = 64


def capitalised_inside_sentence(text: str, start: int, end: int) -> bool:
    """Whether the word has a capital that the start of a sentence does not explain.

    Not in a text in capitals only.
    """
    if not (text[start : start + 1].isupper() and text[start + 1 : end].islower()):
        return False
    before = text[max(0, start - _LOOK_BACK_CHARS) : start].rstrip(_OPENING)
    return bool(before) and before[-1] not in _ENDING
