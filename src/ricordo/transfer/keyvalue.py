"""Importing flat JSON: ``{"favourite_drink": "tea"}``, or one level of themes around such objects.

Each value is a memory under its key, so that importing a changed file updates it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import is_kept

_KEY_AS_WORDS: Final = str.maketrans("_-", "  ")
_ALLOWED: Final = "text, a number, true, false, or a list of those"
Scalar = str | int | float | bool


def fits(data: object) -> bool:
    """Whether this is a non-empty JSON object of this shape."""
    if not isinstance(data, dict) or not data:
        return False
    return all(_is_value(value) for _theme, _key, value in _entries(data))


def read(path: Path) -> Iterator[ImportedData]:
    """The values of a flat JSON file, each under its key. Raises ImportFailed."""
    data = foreign_files.an_object(str(path), foreign_files.document(path).data)
    found = ImportedData()
    kept: dict[tuple[str | None, str | None], NewMemory] = {}
    for outer, name, value in _entries(data):
        if not _is_value(value):
            where = f"{outer!r}, {name!r}" if outer is not None else repr(name)
            kind = foreign_files.kind_of(value)
            raise ImportFailed(f"{path}, {where}: expected {_ALLOWED}, got {kind}")
        memory = _memory(found, outer, name, value)
        if memory is not None:
            # Of keys that differ only in space, or themes in spelling, the last wins, as in JSON
            # itself; otherwise each import would flip the memory.
            place = (memory.theme, memory.key)
            found.skipped["key given again"] += place in kept
            kept[place] = memory
    found.memories = list(kept.values())
    yield found


def _entries(data: dict[str, Any]) -> Iterator[tuple[str | None, str, object]]:
    """Every value with its key and, where it has one, the outer key."""
    for name, value in data.items():
        if isinstance(value, dict):
            for inner_name, inner_value in value.items():
                yield name, inner_name, inner_value
        else:
            yield None, name, value


def _is_value(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(entry, Scalar) for entry in value)
    return value is None or isinstance(value, Scalar)


def _memory(found: ImportedData, outer: str | None, name: str, value: object) -> NewMemory | None:
    key = foreign_files.text(name)
    said = foreign_files.text(_as_text(value))
    words = " ".join(key.translate(_KEY_AS_WORDS).split()) or key
    content = f"{words}: {said}" if said else ""
    if not is_kept(found, key, limits.MAX_KEY_CHARS):
        return None
    if not is_kept(found, content, limits.MAX_CONTENT_CHARS):
        return None
    theme = foreign_files.theme(outer)
    return NewMemory(content=content, key=key, theme=theme, source=Source.IMPORT)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(filter(None, map(_as_text, value)))
    return str(value)
