"""The user's own voice in a passage: what is quoted, pasted, drafted or code is blanked out.

The screened text is as long as the passage, so that every place in one is a place in the other.
"""

import re
from typing import Final

from ricordo.formation.rules import tasks

BLANKED: Final = "\ufffc"  # stands for a quotation inside a sentence
_LONG_PASSAGE_CHARS: Final = 4_000  # beyond that a passage is mostly pasted
_OPENING_CHARS: Final = 1_000  # what of such a passage the user probably typed
_SENTENCES_IN_A_LIST: Final = 2

_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)")
_MARKED_LINE = re.compile(r"^[ \t]*(?:>|\||#{1,6} |//|\$ |<[a-z/!])|^(?: {4,}|\t)\S", re.IGNORECASE)
_LIST_LINE = re.compile(r"^[ \t]*(?:[-*•–+]|\(?\d{1,3}[.)]|[a-z][.)])[ \t]+\S", re.IGNORECASE)
_OWN_LIST = re.compile(
    r"\b(?:about me|about myself|remember|facts? about me|my (?:details|profile|background)|"
    r"tentang (?:saya|aku|gue|diri(?:ku| saya))|ingat|catat|profil (?:saya|ku))\b",
    re.IGNORECASE,
)
_QUOTATIONS: Final = (
    re.compile(r"`[^`\n]{1,400}`"),
    re.compile(r"\"[^\"\n]{0,400}\""),
    re.compile(r"“[^”\n]{0,400}”"),
    re.compile(r"„[^“”\n]{0,400}[“”]"),
    re.compile(r"«[^»\n]{0,400}»"),
    re.compile(r"(?<!\w)‘[^‘\n]{2,400}?’(?!\w)"),
    re.compile(r"(?<!\w)'(?=\S)[^'\n]{1,30}(?:'\w[^'\n]{0,60}){0,6}(?<=\S)'(?!\w)"),
    re.compile(r"\*[^*\n]{2,200}\*(?=\s|$)"),
    re.compile(r"[\"“«„][^\n]*"),  # opened and never closed
)


def screened(text: str) -> str:
    """The text with everything blanked out that the user does not say in their own voice."""
    own = tasks.without_given_text(text)
    if not own.strip():
        return own
    if len(text) > _LONG_PASSAGE_CHARS:
        end = _end_of_opening(text)
        own = own[:end] + _blank_lines(own[end:])
    own = _without_marked_lines(own)
    for quotation in _QUOTATIONS:
        own = quotation.sub(lambda found: BLANKED * len(found.group()), own)
    return own


def _end_of_opening(text: str) -> int:
    end = text.find("\n\n", 0, _OPENING_CHARS)
    return max(0, end)


def _blank_lines(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_marked_lines(text: str) -> str:
    """Without code, block quotes, tables, headings and lists of sentences."""
    lines = text.split("\n")
    keep = [True] * len(lines)
    in_fence = False
    for number, line in enumerate(lines):
        fence = bool(_FENCE.match(line))
        keep[number] = not (in_fence or fence or _MARKED_LINE.match(line))
        in_fence ^= fence
    _drop_lists(lines, keep)
    return "\n".join(
        line if kept else " " * len(line) for line, kept in zip(lines, keep, strict=True)
    )


def _drop_lists(lines: list[str], keep: list[bool]) -> None:
    """Drop lists, which are mostly material, unless they are introduced as being about the user."""
    introduction = ""
    run: list[int] = []
    for number, line in enumerate([*lines, "end"]):
        if number < len(lines) and _LIST_LINE.match(line):
            run.append(number)
            continue
        if not line.strip() and number < len(lines):
            continue
        if len(run) >= _SENTENCES_IN_A_LIST and not _OWN_LIST.search(introduction):
            for item in run:
                keep[item] = False
        introduction, run = line[:400], []
