"""Bullet lists in Markdown: notes that somebody, or another assistant, keeps as a plain file.

Each bullet (``-``, ``*``, ``+``, ``1.``, with or without a task box) is a memory, nested ones
too; the heading above it is its theme. Indented lines below a bullet belong to it.
"""

from collections.abc import Iterator
from pathlib import Path

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source
from ricordo.transfer.importers import cleaning, opening
from ricordo.transfer.importers.blocks import Block, Kind, blocks
from ricordo.transfer.importers.skipping import in_batches, is_kept
from ricordo.transfer.merging import Findings


def fits(path: Path) -> bool:
    """True for a file of text in which there is something to import."""
    try:
        return has_bullets(opening.read_text(path))
    except ImportFailed:
        return False


def has_bullets(text: str) -> bool:
    """True where there is something in a text to import."""
    return any(block.kind is Kind.BULLET for block in blocks(text))


def read(path: Path) -> Iterator[Findings]:
    """The bullets of a Markdown file.

    Raises:
        ImportFailed: the file is not text in UTF-8, or has no bullets.
    """
    text = opening.read_text(path)
    if not has_bullets(text):
        raise ImportFailed(f"{path}: no Markdown bullets in it")
    yield from in_batches(_found(block) for block in blocks(text))


def _found(block: Block) -> Findings:
    found = Findings()
    if block.kind is not Kind.BULLET:
        found.skipped[block.kind.value] += 1
        return found
    content = cleaning.text(block.text)
    if is_kept(found, content, limits.MAX_CONTENT_CHARS):
        theme = cleaning.theme(block.heading)
        found.memories.append(NewMemory(content=content, theme=theme, source=Source.FILE))
    return found
