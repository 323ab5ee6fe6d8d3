"""The import formats, and recognising them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from ricordo.errors import ImportFailed
from ricordo.transfer import chatgpt, claude, foreign_files, keyvalue, markdown, mem0
from ricordo.transfer.merge import ImportedData

Importer = Callable[[Path], Iterator[ImportedData]]
"""Yields data as it reads, so that memory does not hold the whole file."""

IMPORTERS: Final[Mapping[str, Importer]] = {
    "mem0": mem0.read,
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "keyvalue": keyvalue.read,
    "markdown": markdown.read,
}

# Ordered: what fits an earlier one may look like flat key-value JSON as well.
_JSON_SHAPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "chatgpt": chatgpt.fits,
    "claude": claude.fits,
    "mem0": mem0.fits,
    "keyvalue": keyvalue.fits,
}
_ALLOWED: Final = f"allowed: {', '.join(IMPORTERS)}"


def recognise(path: Path) -> str:
    """The format of a file, by its contents. Raises ImportFailed: no known format."""
    if foreign_files.is_archive(path):
        return _format_of_archive(path)
    try:
        recognised = _format_of_json(foreign_files.document(path).data)
    except ImportFailed as problem:
        if markdown.fits(path):
            return "markdown"
        raise ImportFailed(f"{problem} and no Markdown bullets in it; {_ALLOWED}") from None
    if recognised is None:
        raise ImportFailed(f"{path}: JSON of an unknown kind; {_ALLOWED}")
    return recognised


def _format_of_archive(path: Path) -> str:
    try:
        for document in foreign_files.documents(path, {*chatgpt.MEMBERS, *claude.MEMBERS}):
            recognised = _format_of_json(document.data)
            if recognised in ("chatgpt", "claude"):
                return recognised
    except ImportFailed as problem:
        raise ImportFailed(f"{problem}; {_ALLOWED}") from None
    raise ImportFailed(f"{path}: an archive of an unknown kind; {_ALLOWED}")


def _format_of_json(data: object) -> str | None:
    found = next((name for name, fits in _JSON_SHAPES.items() if fits(data)), None)
    if found is None and isinstance(data, foreign_files.Entries):
        for _ in data:  # it may not be JSON
            pass
    return found
