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
_HEADER = re.compile(
    r"^[ \t]*(?:(?:from|to|cc|bcc|subject|sent|date|dari|kepada|perihal|subjek)[ \t]*:|"
    r"-{2,} ?(?:original|forwarded|begin)|begin forwarded|on .{5,80} wrote:\s*$|"
    r"pada .{5,80} menulis:\s*$)",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"^[ \t]*(?:dear|to whom it may concern|yth|kepada yth|dengan hormat|"
    r"(?:hi|hello|hey|halo|hai)(?: [\w.’'-]{1,30}){1,3},[ \t]*$)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"^[ \t]*(?:(?:best|kind|warm|warmest)? ?(?:regards|wishes)|best|sincerely|yours|cheers|"
    r"salam(?: hormat)?|hormat (?:saya|kami)|terima kasih|love|xoxo),?[ \t]*$|"
    r"^[ \t]*(?:yours (?:sincerely|faithfully|truly)|sincerely yours|sent from my)\b|^-- ?$",
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
    """Without code, block quotes, tables, headings, lists of sentences, e-mails and letters."""
    lines = text.split("\n")
    keep = [True] * len(lines)
    in_fence = False
    for number, line in enumerate(lines):
        fence = bool(_FENCE.match(line))
        keep[number] = not (in_fence or fence or _MARKED_LINE.match(line))
        in_fence ^= fence
    _drop_lists(lines, keep)
    _drop_letters(lines, keep)
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


def _drop_letters(lines: list[str], keep: list[bool]) -> None:
    """Drop a letter from its salutation or header on, and all that stands above a closing."""
    start = end = None
    has_salutation = False
    for number, line in enumerate(lines):
        if _HEADER.match(line[:120]):
            start = number if start is None else start
            end = len(lines) - 1
        elif _SALUTATION.match(line[:120]) and number + 1 < len(lines):
            start = number if start is None else start
            has_salutation = True
            if line.lower().lstrip().startswith(("dear", "to whom", "yth", "kepada", "dengan")):
                end = len(lines) - 1
        elif _CLOSING.match(line[:120]) and _signs(lines, number):
            start = start if has_salutation and start is not None else 0
            end = len(lines) - 1
    if start is not None and end is not None:
        for number in range(start, end + 1):
            keep[number] = False


def _signs(lines: list[str], number: int) -> bool:
    """Whether a closing stands at the end of a letter: a short line follows, and text precedes."""
    following = [line for line in lines[number + 1 :] if line.strip()]
    return number > 0 and len(following) <= 4 and any(len(line) < 60 for line in following)
