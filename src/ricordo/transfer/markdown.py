"""Markdown blocks, and importing Markdown bullets."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.frozen import dataclass
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import is_kept

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-{2,})\s*")
_RULE: Final = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
_BULLET: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s+(?P<text>.*))?")
_TASK_BOX: Final = re.compile(r"\A\[[ xX]\](?:\s+|$)")
_FENCE: Final = re.compile(r"\s*(?P<mark>`{3,}(?=[^`]*$)|~{3,})")


class BlockKind(StrEnum):
    """Kinds of blocks, as reports name them."""

    BULLET = "bullets"
    PARAGRAPH = "text outside bullets"
    CODE = "code blocks"
    FRONT_MATTER = "front matter"


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Consecutive lines that belong together, and the heading above them."""

    kind: BlockKind
    text: str
    heading: str | None


def blocks(text: str) -> Iterator[MarkdownBlock]:
    """The blocks of a Markdown text in order. A nested list item is a block of its own."""
    start = _end_of_front_matter(text)
    if start:
        yield MarkdownBlock(BlockKind.FRONT_MATTER, "", None)
    scanner = _Scanner()
    for line in islice(_lines(text), start, None):
        yield from scanner.take(line)
    yield from scanner.close()


def _lines(text: str) -> Iterator[str]:
    """Lazily: a list of all lines would take many times the memory of the text."""
    at = 0
    for end in _LINE_END.finditer(text):
        yield text[at : end.start()]
        at = end.end()
    yield text[at:]


def _end_of_front_matter(text: str) -> int:
    """The number of lines of front matter."""
    for number, line in enumerate(_lines(text), start=1):
        if number == 1 and line.rstrip() != "---":
            return 0
        if number > 1 and line.rstrip() in ("---", "..."):
            return number
    return 0


class _Scanner:
    """Reads line by line; a block is yielded once its end is known."""

    def __init__(self) -> None:
        self._heading: str | None = None
        self._kind: BlockKind | None = None
        self._lines: list[str] = []
        self._chars = 0
        self._fence = ""

    def take(self, line: str) -> Iterator[MarkdownBlock]:
        """The block that this line ends, if any."""
        if self._kind is BlockKind.CODE:
            mark = line.strip()
            if len(mark) >= len(self._fence) and not mark.strip(self._fence[0]):
                yield from self.close()
        elif fence := _FENCE.match(line):
            yield from self._open(BlockKind.CODE, "")
            self._fence = fence["mark"]
        elif not line.strip():
            if self._kind is BlockKind.PARAGRAPH:  # a list item may continue, indented
                yield from self.close()
        elif self._is_underline(line):
            self._heading = self._lines[0]
            self._kind = None
        elif self._continues(line):
            if self._chars <= MAX_CONTENT_CHARS:  # otherwise it is too long to be kept already
                self._lines.append(line.strip())
                self._chars += len(self._lines[-1]) + 1
        else:
            yield from self._start(line)

    def close(self) -> Iterator[MarkdownBlock]:
        if self._kind is not None:
            yield MarkdownBlock(self._kind, " ".join(filter(None, self._lines)), self._heading)
        self._kind = None

    def _start(self, line: str) -> Iterator[MarkdownBlock]:
        heading = heading_of(line)
        if heading is not None:
            yield from self.close()
            self._heading = heading
        elif _RULE.fullmatch(line):
            yield from self.close()
        elif _BULLET.fullmatch(line):
            yield from self._open(BlockKind.BULLET, without_bullet(line))
        else:
            yield from self._open(BlockKind.PARAGRAPH, line)

    def _open(self, kind: BlockKind, first_line: str) -> Iterator[MarkdownBlock]:
        yield from self.close()
        self._kind = kind
        self._lines = [first_line.strip()]
        self._chars = len(self._lines[0])

    def _is_underline(self, line: str) -> bool:
        opened = self._kind is BlockKind.PARAGRAPH and len(self._lines) == 1
        return opened and _UNDERLINE.fullmatch(line) is not None

    def _continues(self, line: str) -> bool:
        if _BULLET.fullmatch(line) or _HEADING.match(line) or _RULE.fullmatch(line):
            return False
        if self._kind is BlockKind.BULLET:
            return line[0] in " \t"
        return self._kind is BlockKind.PARAGRAPH


def without_bullet(line: str) -> str:
    """The text of a line; of one in a list, without its bullet and task box."""
    bullet = _BULLET.fullmatch(line)
    return line if bullet is None else _TASK_BOX.sub("", bullet["text"] or "")


def heading_of(line: str) -> str | None:
    """The text of a heading or of a line in bold; None for any other line."""
    marker = _HEADING.match(line)
    if marker is None:
        bold = line.strip().rstrip(":")
        mark, inner = bold[:2], bold[2:-2].strip()
        is_bold = len(bold) > 4 and mark in ("**", "__") and bold.endswith(mark)
        return inner.rstrip(":") if is_bold and mark not in inner else None
    name = line[marker.end() :].strip()
    bare = name.rstrip("#")
    is_closed = not bare or bare[-1].isspace()
    return (bare if is_closed else name).strip(" \t*_")


def fits(path: Path) -> bool:
    """Whether this is a text file with bullets."""
    try:
        return has_bullets(foreign_files.read_text(path))
    except ImportFailed:
        return False


def has_bullets(text: str) -> bool:
    return any(block.kind is BlockKind.BULLET for block in blocks(text))


def read(path: Path) -> Iterator[ImportedData]:
    """The bullets of a Markdown file. Raises ImportFailed.

    Each bullet (``-``, ``*``, ``+``, ``1.``, with or without a task box) is a memory, nested ones
    too; the heading above it is its theme. Indented lines below a bullet belong to it.
    """
    text = foreign_files.read_text(path)
    if not has_bullets(text):
        raise ImportFailed(f"{path}: no Markdown bullets in it")
    yield from map(_found, blocks(text))


def _found(block: MarkdownBlock) -> ImportedData:
    found = ImportedData()
    if block.kind is not BlockKind.BULLET:
        found.skipped[block.kind.value] += 1
        return found
    content = foreign_files.text(block.text)
    if is_kept(found, content, limits.MAX_CONTENT_CHARS):
        theme = foreign_files.theme(block.heading)
        found.memories.append(NewMemory(content=content, theme=theme, source=Source.FILE))
    return found
