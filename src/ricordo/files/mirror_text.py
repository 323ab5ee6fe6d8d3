"""The format of MEMORY.md: rendering memories, and parsing an edited file."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.files.sync import Unreadable
from ricordo.limits import MAX_ID
from ricordo.model.checks import theme_slug
from ricordo.model.vocabulary import GENERAL_THEME
from ricordo.text.normalise import lazy_pattern

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
# Each pattern begins at the first of a run of backslashes: beginning at every one of them would
# take quadratic time.
_SIGN: Final = re.compile(rf"(?<!\\)(\\*)([{LINE_BREAK}{_CARRIAGE_RETURN}])")
_LINE_END: Final = re.compile(r"\r?\n|\r")
_BEFORE_RETURN: Final = re.compile(r"(?<!\\)(\\*)\r")
_SHOWN_SIGN_OR_BREAK: Final = re.compile(
    rf"(?<!\\)(\\(?:\\\\)*){LINE_BREAK}|(?: |(?<!\\))((?:\\\\)*){LINE_BREAK} ?"
)
_SHOWN_RETURN: Final = re.compile(rf"(?<!\\)(\\*){_CARRIAGE_RETURN}")

_NUMBER: Final = re.compile(r"[0-9a-f]*-[0-9]+|[0-9a-f]*[0-9]")
_COPY: Final = lazy_pattern(rf"{re.escape(COPY_OPENING)}\s+([0-9a-f]+-[0-9]{{1,18}})\s*\Z")
_BULLET: Final = lazy_pattern(r"([ \t]*)[-*+](?:[ \t]+(.*))?\Z")
_TICKED: Final = lazy_pattern(r"\A\[[ xX]\](?:[ \t]+|\Z)")
_NUMBERED: Final = lazy_pattern(r"\[([0-9]{1,18})\](?:[ \t]+|\Z)")
_ESCAPED_NUMBER: Final = lazy_pattern(r"\\\[([0-9]{1,18})\\?\][ \t]+")
_ESCAPED: Final = lazy_pattern(r"\\+\[")
_MENTIONED: Final = lazy_pattern(r"\[([0-9]{1,18})\]")
_HEADING: Final = lazy_pattern(r"## *(?!#)(.*)\Z")
_BEHIND_HEADING: Final = " \t#"  # characters that may close it
_FENCE: Final = lazy_pattern(r" {0,3}(`{3,}|~{3,})")
_BEGINS_SOMETHING: Final = lazy_pattern(r"[ \t]*(?:[-*+•–—>|#<=`~]|[0-9]{1,9}[.)])")
_CONFLICT_MARK: Final = lazy_pattern(r"(?:<{7}|>{7})(?: |\Z)")
_NESTED_CHARS: Final = 2  # bullets indented further are nested
_LONGEST_BREAKING: Final = 400  # lines that an editor may have wrapped one line into


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """An active memory as a line of the file."""

    id: int
    theme: str
    content: str
    text: str = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # computed once
        put(self, "text", in_one_line(self.content))
        put(self, "digest", digest(self.text))


def in_one_line(content: str) -> str:
    """The text with marks in place of line breaks; :func:`as_written` reverses it.

    Marks in the text itself are escaped with a backslash.
    """
    if not _SPECIAL.search(content):
        return content
    escaped = _SIGN.sub(r"\1\1\\\2", content)
    returned = _BEFORE_RETURN.sub(rf"\1\1{_CARRIAGE_RETURN}", escaped)
    return returned.replace("\n", f" {LINE_BREAK} ")


def as_written(line: str) -> str:
    """The text of a line: the reverse of :func:`in_one_line`."""
    broken = _SHOWN_SIGN_OR_BREAK.sub(_break_or_sign, line)
    return _SHOWN_RETURN.sub(_return_or_sign, broken)


def _break_or_sign(found: re.Match[str]) -> str:
    if found[1] is not None:  # an odd number of backslashes: the mark itself
        return "\\" * (len(found[1]) // 2) + LINE_BREAK
    return "\\" * (len(found[2]) // 2) + "\n"


def _return_or_sign(found: re.Match[str]) -> str:
    slashes = len(found[1])
    sign = "\r" if slashes % 2 == 0 else _CARRIAGE_RETURN
    return "\\" * (slashes // 2) + sign


def digest(text: str) -> str:
    """A short hash, to recognise an unchanged line."""
    return hashlib.blake2b(text.strip().encode("utf-8"), digest_size=10).hexdigest()


def last_line(copy: str) -> str:
    """The end mark of a copy: a file without it is incomplete."""
    return f"{_END_OPENING} {copy} {HEADER_END}"


def is_last_line(line: str) -> bool:
    return line.startswith(_END_OPENING) and line.rstrip().endswith(HEADER_END)


def body(memories: Iterable[ShownMemory], leftovers: Sequence[str]) -> str:
    """The file after its header: themes in order, the oldest memory first, then leftovers."""
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
    """The header: the copy's name, and how to edit the file."""
    said = [*_EXPLANATION]
    if hidden:
        said.append(f"Not shown here: {hidden} more, the oldest. They stay as they are.")
    return "\n".join([TITLE, "", f"{COPY_OPENING} {copy}", *said, HEADER_END, ""])


_HEADER_WORDS: Final = frozenset(" ".join([header("", 1), header("", 2)]).split())


def is_of_header(line: str) -> bool:
    """Whether a line has only words of the header, however they were wrapped."""
    words = line.split()
    return bool(words) and all(word in _HEADER_WORDS or _NUMBER.fullmatch(word) for word in words)


def digests(memories: Iterable[ShownMemory]) -> Mapping[int, tuple[str, str]]:
    return {one.id: (one.theme, one.digest) for one in memories}


Digests = Mapping[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MirrorLine:
    """One memory in the file. ``theme`` is None under a heading that names none."""

    number: int
    id: int | None
    text: str
    theme: str | None
    raw: tuple[str, ...]
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest(self.text))


@dataclass(frozen=True, slots=True)
class Leftover:
    """Lines that cannot be stored; kept as they are."""

    number: int
    raw: tuple[str, ...]


@dataclass(slots=True)
class ReadFile:
    copy: str | None = None
    lines: list[MirrorLine] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """What is under "Not understood" from before."""
    waiting_at: int | None = None

    def mentioned(self) -> set[int]:
        """Ids in leftovers: a memory that is mentioned there was not deleted."""
        rest = [*self.waiting, *(line for left in self.leftovers for line in left.raw)]
        return {int(found) for line in rest for found in _MENTIONED.findall(line)}


def decoded(contents: bytes) -> str:
    """The text of a file. Raises Unreadable: not UTF-8, or with conflict markers."""
    try:
        text = contents.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 (byte {error.start})") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if _CONFLICT_MARK.match(line):
            raise Unreadable(f"has the mark of an unfinished merge in line {number}")
    return text


def copy_of(text: str) -> str | None:
    """The copy that a file was made from; None where it does not say."""
    for line in text.split("\n"):
        found = _COPY.match(line.rstrip())
        if found:
            return found[1]
    return None


def is_cut(text: str, copy: str | None) -> bool:
    """Whether a file is incomplete: a program may still be writing it.

    A complete one has the last line of its copy, and a line break at its end.
    """
    if copy is None:  # or it is not a mirror
        return header("", 0).partition(COPY_OPENING)[0].startswith(text.rstrip()) or (
            text.rstrip().rpartition("\n")[2].startswith(COPY_OPENING)
        )
    _, found, after = text.rpartition(f"\n{last_line(copy)}")
    return not found or bool(after.strip() and not after.endswith("\n"))


def read_mirror(text: str, base: Digests) -> ReadFile:
    """Parse a file. ``base`` is what it said when it was written, to recognise wrapped lines."""
    reader = _Reader(text, base)
    reader.read()
    reader.found.copy = copy_of(text)
    return reader.found


class _Reader:
    def __init__(self, text: str, base: Digests) -> None:
        self.rows = _LINE_END.split(text)
        self.base = base
        self.found = ReadFile()
        self.theme: str | None = GENERAL_THEME
        self.at = 0
        self.follows_memory = False
        self.left: list[tuple[int, int]] = []
        """Ranges of rows that cannot be stored: first, and one past the last."""
        self.unclosed: dict[str, int] = {}
        """Per fence character, the length of the shortest unclosed fence."""

    def read(self) -> None:
        in_preamble = True
        while self.at < len(self.rows):
            row = self.rows[self.at]
            heading = _HEADING.match(row)
            if in_preamble and row.rstrip() == TITLE:
                self.at += 1
            elif in_preamble and row.startswith(COPY_OPENING):
                self._skip_header()
            elif is_last_line(row):
                self.follows_memory = False
                self.at += 1
            elif row.rstrip() == NOT_UNDERSTOOD:
                self._keep_waiting()
                in_preamble = False
            elif heading:
                self._begin_theme(heading[1].rstrip(_BEHIND_HEADING))
                in_preamble = False
            else:
                self._take(row)
        self.found.leftovers = [
            Leftover(first + 1, tuple(self.rows[first:end])) for first, end in self.left
        ]

    def _take(self, row: str) -> None:
        if not row.strip():
            self.follows_memory = False
            self.at += 1
        elif _FENCE.match(row):
            self._leave_fenced(row)
        elif bullet := _BULLET.match(row):
            self._take_bullet(bullet)
        elif self.follows_memory and self._continues(row):
            self._join()
        else:
            self._leave(1)

    def _skip_header(self) -> None:
        self.follows_memory = False
        self.at += 1
        while self.at < len(self.rows) and is_of_header(self.rows[self.at]):
            ended = HEADER_END in self.rows[self.at]
            self.at += 1
            if ended:
                return

    def _begin_theme(self, name: str) -> None:
        self.follows_memory = False
        try:
            self.theme = theme_slug(name) if name.strip() else None
        except InvalidValue:
            self.theme = None
        if self.theme is None:
            self._leave(1)
        else:
            self.at += 1

    def _take_bullet(self, bullet: re.Match[str]) -> None:
        text = _TICKED.sub("", bullet[2] or "", count=1).strip()
        numbered = _NUMBERED.match(text) or self._escaped_number(text)
        if numbered:
            item_id: int | None = min(int(numbered[1]), MAX_ID)
            text = text[numbered.end() :].strip()
        else:
            item_id = None
            text = text[1:] if _ESCAPED.match(text) else text
        indent = len(bullet[1].expandtabs(4))
        is_lost = indent >= _NESTED_CHARS or self.theme is None
        if item_id is None and is_lost:
            self._leave(1)
            return
        rows, text = self._joined(item_id, text)
        raw = tuple(self.rows[self.at : self.at + rows])
        self.found.lines.append(MirrorLine(self.at + 1, item_id, text, self.theme, raw))
        self.at += rows
        self.follows_memory = True

    def _escaped_number(self, text: str) -> re.Match[str] | None:
        """The id of an unchanged memory whose brackets an editor has escaped."""
        found = _ESCAPED_NUMBER.match(text)
        known = None if found is None else self.base.get(int(found[1]))
        if found is None or known is None or digest(text[found.end() :]) != known[1]:
            return None
        return found

    def _joined(self, item_id: int | None, text: str) -> tuple[int, str]:
        """How many rows a memory takes that an editor may have wrapped, and its text."""
        known = None if item_id is None else self.base.get(item_id)
        joined = text
        if known is not None and digest(text) != known[1]:
            following = self.rows[self.at + 1 : self.at + _LONGEST_BREAKING]
            for rows, row in enumerate(following, start=2):
                bullet = _BULLET.match(row)
                has_id = bullet is not None and _NUMBERED.match(bullet[2] or "")
                if not row.strip() or has_id:
                    break
                joined = f"{joined} {row.strip()}".strip()
                if digest(joined) == known[1]:
                    return rows, joined
        return 1, text

    def _join(self) -> None:
        """Join all rows that continue the memory before them."""
        last = self.found.lines[-1]
        first = self.at
        while self.at < len(self.rows) and self._continues(self.rows[self.at]):
            self.at += 1
        more = self.rows[first : self.at]
        text = " ".join([last.text, *(row.strip() for row in more)]).strip()
        self.found.lines[-1] = MirrorLine(
            last.number, last.id, text, last.theme, (*last.raw, *more)
        )

    def _continues(self, row: str) -> bool:
        return bool(row.strip()) and not _BEGINS_SOMETHING.match(row)

    def _leave_fenced(self, opening: str) -> None:
        fence = _FENCE.match(opening)
        assert fence is not None
        sign = fence[1]
        # If one this long is not closed, none after it is: bounds the work for a paste with many.
        if len(sign) < self.unclosed.get(sign[0], len(sign) + 1):
            for end in range(self.at + 1, len(self.rows)):
                closing = self.rows[end].strip()
                if closing.startswith(sign) and not closing.strip(sign[0]):
                    self._leave(end + 1 - self.at)
                    return
            self.unclosed[sign[0]] = len(sign)
        self._leave(1)

    def _leave(self, rows: int) -> None:
        first, end = self.at, self.at + rows
        if self.left and self.left[-1][1] == first:
            first, _ = self.left.pop()
        self.left.append((first, end))
        self.follows_memory = False
        self.at = end

    def _keep_waiting(self) -> None:
        self.at += 1
        self.follows_memory = False
        start = self.at
        while self.at < len(self.rows) and not (
            _HEADING.match(self.rows[self.at]) or is_last_line(self.rows[self.at])
        ):
            self.at += 1
        kept = [row.removeprefix(INDENT) for row in self.rows[start : self.at]]
        while kept and not kept[-1].strip():
            kept.pop()
        while kept and not kept[0].strip():
            kept.pop(0)
            start += 1
        if kept:
            waiting = self.found.waiting
            self.found.waiting = [*waiting, "", *kept] if waiting else kept
            if self.found.waiting_at is None:
                self.found.waiting_at = start + 1
