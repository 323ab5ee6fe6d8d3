"""Finding listed words and phrases in a text, in time that grows with the text alone."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ricordo.text.folding import fold_letters, fold_marks

_WORD: Final = re.compile(r"[^\W_]+")
_SPACE: Final = re.compile(r"\s+")
_ANY_ENDING: Final = "*"

Span = tuple[int, int]
"""The first word of a match and the one behind its last."""


def plain_text(text: str) -> str:
    """A text without case, diacritics and repeated space, as the lists are written."""
    return _SPACE.sub(" ", fold_letters(fold_marks(text))).strip()


def words_of(plain: str) -> list[str]:
    """The words of a plain text; hyphens, apostrophes and underscores part words."""
    return _WORD.findall(plain)


class Phrases:
    """A list of words and phrases, one per comma; ``*`` at the end of a word is any ending.

    Words are looked up in dictionaries, so a long list costs no more than a short one, and no text
    can make it slow.
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
        """Every place where a phrase stands, in order."""
        for place, word in enumerate(words):
            for pieces in self._starting_with(word):
                if _stands_at(pieces, words, place):
                    yield place, place + len(pieces)

    def _starting_with(self, word: str) -> Iterator[tuple[str, ...]]:
        yield from self._exact.get(word, ())
        for length in self._lengths:
            if length > len(word):
                break
            yield from self._begun.get(word[:length], ())


def _stands_at(pieces: tuple[str, ...], words: Sequence[str], place: int) -> bool:
    if place + len(pieces) > len(words):
        return False
    return all(
        word.startswith(piece[:-1]) if piece.endswith(_ANY_ENDING) else word == piece
        for piece, word in zip(pieces, words[place : place + len(pieces)], strict=True)
    )
