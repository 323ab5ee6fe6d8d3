"""How a memory becomes a line of MEMORY.md, a line a text, and memories the whole file."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

LINE_BREAK: Final = "⏎"
_CARRIAGE_RETURN: Final = "␍"
NOT_UNDERSTOOD: Final = "## Not understood"
INDENT: Final = "    "
TITLE: Final = "# Memory"
COPY_OPENING: Final = "<!-- ricordo mirror, copy"
HEADER_END: Final = "-->"
_END_OPENING: Final = "<!-- ricordo mirror, end of copy"
_EXPLANATION: Final = (
    "One line is one memory, under the heading of its theme: - [number] text",
    "Change a text, move a line under another heading, delete a line, or write a new one without a",
    f"number. ricordo takes that over and writes this file anew. {LINE_BREAK} stands for a line"
    " break.",
    'What it cannot make out it keeps under "Not understood", at the end.',
)

_SPECIAL: Final = re.compile(rf"[\n\r{LINE_BREAK}{_CARRIAGE_RETURN}]")
# Each begins with the first of a row of backslashes: from each of them anew, a long row would take
# the square of its length.
_SIGN: Final = re.compile(rf"(?<!\\)(\\*)([{LINE_BREAK}{_CARRIAGE_RETURN}])")
_BEFORE_RETURN: Final = re.compile(r"(?<!\\)(\\*)\r")
_SHOWN_SIGN_OR_BREAK: Final = re.compile(
    rf"(?<!\\)(\\(?:\\\\)*){LINE_BREAK}|(?: |(?<!\\))((?:\\\\)*){LINE_BREAK} ?"
)
_SHOWN_RETURN: Final = re.compile(rf"(?<!\\)(\\*){_CARRIAGE_RETURN}")


@dataclass(frozen=True, slots=True)
class Shown:
    """An active memory as the file shows it: its text in one line, known by its digest."""

    id: int
    theme: str
    content: str
    text: str = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # once, and not at each of many looks
        put(self, "text", in_one_line(self.content))
        put(self, "digest", digest(self.text))


def in_one_line(content: str) -> str:
    """A text with signs for its line breaks; :func:`as_written` gives the text again.

    The signs themselves, where a text has them, get a backslash.
    """
    if not _SPECIAL.search(content):
        return content
    escaped = _SIGN.sub(r"\1\1\\\2", content)
    returned = _BEFORE_RETURN.sub(rf"\1\1{_CARRIAGE_RETURN}", escaped)
    return returned.replace("\n", f" {LINE_BREAK} ")


def as_written(line: str) -> str:
    """The text that a line of the file stands for."""
    broken = _SHOWN_SIGN_OR_BREAK.sub(_break_or_sign, line)
    return _SHOWN_RETURN.sub(_return_or_sign, broken)


def _break_or_sign(found: re.Match[str]) -> str:
    if found[1] is not None:  # an odd number of backslashes: the sign itself
        return "\\" * (len(found[1]) // 2) + LINE_BREAK
    return "\\" * (len(found[2]) // 2) + "\n"


def _return_or_sign(found: re.Match[str]) -> str:
    slashes = len(found[1])
    sign = "\r" if slashes % 2 == 0 else _CARRIAGE_RETURN
    return "\\" * (slashes // 2) + sign


def digest(text: str) -> str:
    """A short stand-in for a line's text, by which an untouched line is known."""
    return hashlib.blake2b(text.strip().encode("utf-8"), digest_size=10).hexdigest()


def last_line(copy: str) -> str:
    """What a copy ends with: a file without it is not all there yet."""
    return f"{_END_OPENING} {copy} {HEADER_END}"


def is_last_line(line: str) -> bool:
    """True for the last line of any copy."""
    return line.startswith(_END_OPENING) and line.rstrip().endswith(HEADER_END)


def body(memories: Iterable[Shown], leftovers: Sequence[str]) -> str:
    """The file after its header: themes in order, in each the oldest first, then what was left."""
    in_order = sorted(memories, key=lambda one: (one.theme, one.id))
    parts = []
    for theme, members in groupby(in_order, key=lambda one: one.theme):
        lines = [f"- [{one.id}] {one.text}" for one in members]
        parts.append("\n".join([f"## {theme}", "", *lines]))
    if leftovers:
        kept = [f"{INDENT}{line}" if line.strip() else "" for line in leftovers]
        parts.append("\n".join([NOT_UNDERSTOOD, "", *kept]))
    return "".join(f"\n{part}\n" for part in parts)


def header(copy: str, hidden: int) -> str:
    """What stands before the memories: which copy this is, and how to edit it."""
    said = [*_EXPLANATION]
    if hidden:
        said.append(f"Not shown here: {hidden} more, the oldest. They stay as they are.")
    return "\n".join([TITLE, "", f"{COPY_OPENING} {copy}", *said, HEADER_END, ""])


_HEADER_WORDS: Final = frozenset(" ".join([header("", 1), header("", 2)]).split())
_NUMBER: Final = re.compile(r"[0-9a-f]*-[0-9]+|[0-9a-f]*[0-9]")


def is_of_header(line: str) -> bool:
    """True for a line that has nothing but words of the header, however they were wrapped."""
    words = line.split()
    return bool(words) and all(word in _HEADER_WORDS or _NUMBER.fullmatch(word) for word in words)


def digests(memories: Iterable[Shown]) -> Mapping[int, tuple[str, str]]:
    """Theme and digest of each memory as it is shown, by id."""
    return {one.id: (one.theme, one.digest) for one in memories}
