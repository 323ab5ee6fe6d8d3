"""Importing plain text: a memory on each line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.markdown import heading_of, without_bullet

_NO_TEXT: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_OTHER_KINDS: Final = ("{", "[", "<", "%", "#!")
"""How files of other kinds begin, which nobody wants line by line."""


class SaidLine(NamedTuple):
    """A line without its bullet, and the heading above it."""

    text: str
    heading: str | None
    number: int


def said_lines(text: str) -> Iterator[SaidLine]:
    """The lines that say something."""
    heading = None
    for number, line in enumerate(text.splitlines(), start=1):
        above = heading_of(line)
        if above is not None:
            heading = above
        elif said := foreign_files.text(without_bullet(line)):
            yield SaidLine(said, heading, number)


def fits(path: Path) -> bool:
    """Whether this is plain text, and of no other kind."""
    try:
        text = foreign_files.read_text(path)
    except ImportFailed:
        return False
    beginning = text.lstrip()
    is_other = beginning.startswith(_OTHER_KINDS) or _NO_TEXT.search(text) is not None
    return not is_other and next(said_lines(text), None) is not None


def read(path: Path) -> Iterator[ImportedData]:
    """The lines of a text file; a heading of Markdown is the theme of those below it.

    Raises:
        ImportFailed: names the line that is no text, or too long.
    """
    text = foreign_files.read_text(path)
    odd = _NO_TEXT.search(text)
    if odd is not None:
        number = text.count("\n", 0, odd.start()) + 1
        raise ImportFailed(f"{path}, line {number}: not text (U+{ord(odd[0]):04X} in it)")
    for line in said_lines(text):
        if len(line.text) > limits.MAX_CONTENT_CHARS:
            most = limits.MAX_CONTENT_CHARS
            raise ImportFailed(f"{path}, line {line.number}: longer than {most} characters")
        theme = foreign_files.theme(line.heading)
        memory = NewMemory(content=line.text, theme=theme, source=Source.FILE)
        yield ImportedData(memories=[memory])
