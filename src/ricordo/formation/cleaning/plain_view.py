"""A text as a pattern should see it: small letters, no disguises, and a way back to the text.

Invisible characters, full-width letters and letters of another script that look Latin are the
usual ways to slip words past a pattern. They are undone here for looking only; what is kept is
always cut out of the text as it was written.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ricordo.formation.cleaning.text_spans import Span

_LINE_BREAKS: Final = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
_LOOK_ALIKES: Final = {
    **dict.fromkeys("‘’‛ʼ′´", "'"),
    **dict.fromkeys("“”„‟«»〝〞", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict(zip("аеорсухіѕј", "aeopcyxisj", strict=True)),
}
_MAX_KNOWN_CHARACTERS: Final = 20_000


@dataclass(frozen=True, slots=True)
class PlainView:
    """``text`` for looking; ``places`` has the place of each of its characters, and the end."""

    text: str
    places: list[int]

    def original(self, span: Span) -> Span:
        """A span of the view as a span of the text that was viewed."""
        return self.places[span[0]], self.places[span[1]]


def plain_view(text: str) -> PlainView:
    """The view in which patterns are searched; line breaks of any kind are ``\\n``."""
    return _viewed(text.replace("\r\n", " \n"), _plain)


def comparable_view(text: str) -> PlainView:
    """The view in which a quote is compared: white space is one space, letters fall apart."""
    spread = _viewed(text, _comparable)
    letters: list[str] = []
    places: list[int] = []
    for letter, place in zip(spread.text, spread.places[:-1], strict=True):
        if letter != " " or (letters and letters[-1] != " "):
            letters.append(letter)
            places.append(place)
    return PlainView("".join(letters), [*places, len(text)])


def _viewed(text: str, change: Callable[[str], str]) -> PlainView:
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        seen = change(letter)
        letters.append(seen)
        places += [place] * len(seen)
    return PlainView("".join(letters), [*places, len(text)])


@lru_cache(maxsize=_MAX_KNOWN_CHARACTERS)
def _plain(letter: str) -> str:
    if letter in _LINE_BREAKS:
        return "\n"
    if unicodedata.category(letter) == "Cf":
        return ""
    small = unicodedata.normalize("NFKC", letter).casefold()
    return "".join(_LOOK_ALIKES.get(part, part) for part in small)


@lru_cache(maxsize=_MAX_KNOWN_CHARACTERS)
def _comparable(letter: str) -> str:
    if letter.isspace():
        return " "
    if unicodedata.category(letter) == "Cf":
        return ""
    replaced = _LOOK_ALIKES.get(letter, letter) if not letter.isalpha() else letter
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", replaced).casefold())
