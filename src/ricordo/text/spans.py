"""Spans of a text, and normalised views of it for patterns. All in linear time."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

from ricordo.frozen import dataclass

Span = tuple[int, int]

CUT_FILLER: Final = "\x1f"
"""Replaces text that was cut out, so that positions stay the same. It counts as space."""

_PARAGRAPH_BREAK = re.compile(r"\n[ \t]*+\n")
# A full stop inside a number or an address ends nothing. Case does not matter: views have none.
# Starts at the first of several signs; else a row of them before a letter takes quadratic time.
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]}”’»]*+(?=\s|$)|[。！？]++[」』）]*+|\n")
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|no|vs|etc|e\.g|i\.e|approx|jl|z\.b|bzw|ca|nr|str|[a-z]))\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION: Final = 8

_LINE_BREAKS: Final = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
_LOOK_ALIKES: Final = {
    **dict.fromkeys("‘’‛ʼ′´", "'"),
    **dict.fromkeys("“”„‟«»〝〞", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict(zip("аеорсухіѕј", "aeopcyxisj", strict=True)),
}
_MAX_KNOWN_CHARACTERS: Final = 20_000


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same positions as sorted spans that neither overlap nor touch."""
    joined: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def outside(cut: Iterable[Span], length: int) -> list[Span]:
    """The spans that remain of a text of this length without the cuts."""
    left = []
    place = 0
    for start, end in merged(cut):
        left.append((place, start))
        place = end
    left.append((place, length))
    return [span for span in left if span[0] < span[1]]


def blanked(text: str, cut: Iterable[Span]) -> str:
    """The text with :data:`CUT_FILLER` over the cuts."""
    pieces = []
    place = 0
    for start, end in merged(cut):
        pieces += [text[place:start], CUT_FILLER * (end - start)]
        place = end
    return "".join([*pieces, text[place:]])


def lines(text: str) -> list[Span]:
    """The spans of all lines, without line breaks."""
    found = []
    start = 0
    while (end := text.find("\n", start)) >= 0:
        found.append((start, end))
        start = end + 1
    return [*found, (start, len(text))]


class Paragraphs:
    """Where the paragraphs of a text end; blank lines separate them."""

    def __init__(self, text: str) -> None:
        self._ends = [*(found.start() for found in _PARAGRAPH_BREAK.finditer(text)), len(text)]

    def end_after(self, place: int) -> int:
        """The end of the paragraph at this position."""
        return self._ends[min(bisect_left(self._ends, place), len(self._ends) - 1)]


class Sentences:
    """Where the sentences of a text begin and end; a line break ends one too."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._starts = [0, *_sentence_ends(text)]

    def around(self, start: int, end: int) -> Span:
        """The sentences that overlap this span."""
        first = self._starts[max(bisect_right(self._starts, start) - 1, 0)]
        after = bisect_left(self._starts, end)
        return first, self._starts[after] if after < len(self._starts) else self._length

    def spans(self) -> list[Span]:
        """Every sentence with the space after it."""
        return list(zip(self._starts, [*self._starts[1:], self._length], strict=True))


def _sentence_ends(text: str) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(text):
        before = text[max(0, found.start() + 1 - _LONGEST_ABBREVIATION) : found.start() + 1]
        if found.group() != "." or not _ABBREVIATED.search(before):
            yield found.end()


def sentences(text: str) -> list[str]:
    """The non-empty sentences of a text, trimmed."""
    found = (text[start:end].strip() for start, end in Sentences(text).spans())
    return [sentence for sentence in found if sentence]


@dataclass(frozen=True, slots=True)
class PlainView:
    """``places[i]`` is the position of ``text[i]`` in the original; one more for the end."""

    text: str
    places: list[int]

    def original(self, span: Span) -> Span:
        """A span of the view as a span of the original text."""
        return self.places[span[0]], self.places[span[1]]


def plain_view(text: str) -> PlainView:
    """The view in which patterns are searched; all line breaks are ``\\n``.

    Invisible characters, full-width letters and letters of another script that look Latin are the
    usual ways to hide words from a pattern. The view undoes them; what is stored is always cut from
    the original text.
    """
    return _viewed(text.replace("\r\n", " \n"), _plain)


def comparable_view(text: str) -> PlainView:
    """The view in which a quote is compared: white space is one space, letters are decomposed."""
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
