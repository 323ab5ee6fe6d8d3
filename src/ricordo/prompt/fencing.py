"""Recalled text is data: it stands between markers that nothing inside can close.

Formation recognises the same markers (``formation/injected.py``), so that what was
recalled is never learnt again.
"""

import unicodedata
from collections.abc import Iterable
from typing import Final

from ricordo.formation.injected import FENCE_END, FENCE_START

_OPENING_SIGNS: Final = "<＜﹤"
"""What a model, or a pattern that undoes disguises, may read as the start of a tag."""

_ESCAPED: Final = str.maketrans(dict.fromkeys(_OPENING_SIGNS, "&lt;"))
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def one_line(text: str) -> str:
    """A text as one line of data.

    No line break, so that it cannot begin a line of its own; no sign that could open a tag, so that
    it closes no fence and no template of a model; nothing invisible.
    """
    if text.isascii() and text.isprintable() and "<" not in text:  # most of what there is
        return " ".join(text.split())
    seen = (" " if letter.isspace() else letter for letter in text if _is_seen(letter))
    return " ".join("".join(seen).translate(_ESCAPED).split())


def block(text: str) -> str:
    """A text of several lines as data: the same, line by line."""
    lines = (one_line(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def fenced(lines: Iterable[str]) -> str:
    """Lines of data between the markers; nothing for none."""
    inside = "\n".join(lines)
    return f"{FENCE_START}\n{inside}\n{FENCE_END}" if inside else ""


def may_open_a_tag(text: str) -> bool:
    """Whether there is anything in a text that could be taken for the start of a tag."""
    return any(sign in text for sign in _OPENING_SIGNS)


def _is_seen(letter: str) -> bool:
    if letter.isspace() or letter == "\u200d":  # which holds emoji together
        return True
    return unicodedata.category(letter) not in _UNSEEN
