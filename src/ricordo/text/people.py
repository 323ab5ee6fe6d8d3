"""Finds known people in a text, and removes their names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from ricordo.text.analyser import stop_words
from ricordo.text.normalise import (
    capitalised_inside_sentence,
    fold_letters,
    fold_marks,
    fold_with_places,
    is_dense,
)

_ROLE_NAMES = "agent ai assistant bot developer function human model system tool user"
_ADDRESS_FORMS = "bapak bu dr frau herr ibu mdm miss mister mr mrs ms mx pak prof professor sir"

ROLES: Final = frozenset(_ROLE_NAMES.split())
ADDRESSES: Final = frozenset(_ADDRESS_FORMS.split())
_FUNCTION_WORDS: Final = stop_words("english")

_INSIDE_WORD = r"[0-9a-z_\x80-\U0010ffff]"  # in folded text
_WORD_STARTS = rf"(?<!{_INSIDE_WORD})(?<!{_INSIDE_WORD}-)"
_WORD_ENDS = rf"(?:'(?:s|ll|re|ve|d|m)|(?<=s)')?(?![-@]?{_INSIDE_WORD})"
_PAUSES: Final = ",;:"
_SIGNS: Final = f"{_PAUSES}.!?"
_SPACE_BEFORE_SIGN = re.compile(r"\s+(?=[,.;:!?)\]}])")


def named_people(text: str, known: Collection[str]) -> list[str]:
    """The known names in a text, in the order of their first mention.

    Matches whole words, in full or by an unambiguous first name, whatever the case and diacritics,
    also as a possessive. Roles are no names, and a name that is also a function word (Will) needs
    its capital inside a sentence.
    """
    mentions = _people(tuple(known)).mentions(unicodedata.normalize("NFC", text))
    return list(dict.fromkeys(name for _, _, names in mentions for name in names))


def without_people(text: str, names: Collection[str]) -> str:
    """The text without these names.

    Unchanged when it mentions none of them or when no letter or digit would be left.
    """
    composed = unicodedata.normalize("NFC", text)
    mentions = _people(tuple(names)).mentions(composed)
    if not mentions:
        return text
    kept = ""
    end = 0
    for start, stop, _ in [*mentions, (len(composed), len(composed), [])]:
        piece = composed[end:start]
        if end:
            kept, piece = _without_double_signs(kept, piece)
        kept += f" {piece}"
        end = stop
    tidy = _SPACE_BEFORE_SIGN.sub("", " ".join(kept.split()))
    return tidy if any(letter.isalnum() for letter in tidy) else text


def _without_double_signs(before: str, after: str) -> tuple[str, str]:
    """Of the punctuation around a removed name, keep the stronger sign."""
    before = before.rstrip()
    if after.lstrip()[:1] in tuple(_SIGNS):
        before = before.rstrip(_PAUSES)
    if not before or before[-1] in _SIGNS:
        after = after.lstrip(f"{_SIGNS} ")
    return before, after


class _People:
    def __init__(self, names: Collection[str]) -> None:
        folded = ((name, fold_letters(fold_marks(name)).split()) for name in names)
        full = {name: words for name, words in folded if words and " ".join(words) not in ROLES}
        first_words = Counter(words[0] for words in set(map(tuple, full.values())))
        self._names: dict[str, list[str]] = {}
        for name, words in full.items():
            self._names.setdefault(" ".join(words), []).append(name)
        for name, words in full.items():
            if first_words[words[0]] == 1 and _can_stand_alone(words[0]):
                self._names.setdefault(words[0], [name])
        self._forms = sorted(self._names, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(_form_pattern, self._forms)))

    def mentions(self, text: str) -> list[tuple[int, int, list[str]]]:
        """Start, end and names of each mention, including possessives, in order."""
        if not self._names:
            return []
        folded, places = fold_with_places(text)
        places.append(len(text))
        found = []
        for match in self._pattern.finditer(folded):
            form = self._forms[(match.lastindex or 1) - 1]
            start, end = places[match.start()], places[match.end()]
            is_name = form not in _FUNCTION_WORDS or capitalised_inside_sentence(
                text, start, places[match.start() + len(form)]
            )
            if is_name:
                found.append((start, end, self._names[form]))
        return found


@lru_cache(maxsize=256)
def _people(names: tuple[str, ...]) -> _People:
    """Cached: a user's speakers stay the same between searches."""
    return _People(names)


def _can_stand_alone(first_word: str) -> bool:
    return first_word not in _FUNCTION_WORDS | ADDRESSES | ROLES


def _form_pattern(form: str) -> str:
    """The form as one group; with word boundaries except in scripts without spaces."""
    before = "" if is_dense(form[0]) else _WORD_STARTS
    after = "" if is_dense(form[-1]) else _WORD_ENDS
    words = r"\s+".join(map(re.escape, form.split(" ")))
    return f"{before}({words}){after}"
