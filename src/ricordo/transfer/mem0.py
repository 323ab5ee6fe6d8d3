"""Importing memories of mem0: the answer of its ``get_all``, or an export job.

JSON that is a list of memories, or an object with that list under ``results`` or ``memories``. The
text of a memory is under ``memory``, in older versions under ``text`` or ``data``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept

_LIST_FIELDS: Final = ("results", "memories")
_TEXT_FIELDS: Final = ("memory", "text", "data")


def fits(data: object) -> bool:
    """Whether the JSON looks like memories of mem0."""
    if isinstance(data, dict):
        data = next((data[name] for name in _LIST_FIELDS if name in data), None)
        if data == []:
            return True
    first = foreign_files.first_object(data)
    return any(isinstance(first.get(name), str) for name in _TEXT_FIELDS)


def read(path: Path) -> Iterator[ImportedData]:
    """The memories, each with its user. Raises ImportFailed."""
    place, data = _listed(path, foreign_files.document(path).data)
    for where, entry in foreign_files.numbered(place, data, "memory"):
        given = foreign_files.an_object(where, entry)
        found = ImportedData(user=foreign_files.user(given.get("user_id")))
        content = foreign_files.text(_content(where, given))
        if is_kept(found, content, limits.MAX_CONTENT_CHARS):
            found.memories.append(_memory(content, given))
        yield found


def _listed(path: Path, data: object) -> tuple[str, object]:
    """The list of memories, and its place."""
    if not isinstance(data, dict):
        return str(path), data
    for name in _LIST_FIELDS:
        if name in data:
            return f"{path}, {name!r}", data[name]
    raise ImportFailed(f"{path}: an object without {' or '.join(map(repr, _LIST_FIELDS))}")


def _content(place: str, entry: JsonObject) -> str:
    for name in _TEXT_FIELDS:
        value = entry.get(name)
        if value is not None:
            return foreign_files.a_text(f"{place}, {name!r}", value)
    raise ImportFailed(f"{place}: no text under {', '.join(map(repr, _TEXT_FIELDS))}")


def _memory(content: str, entry: JsonObject) -> NewMemory:
    categories = foreign_files.list_or_empty(entry.get("categories"))
    if not categories:
        categories = [foreign_files.object_or_empty(entry.get("metadata")).get("category")]
    return NewMemory(
        content=content,
        theme=foreign_files.theme(categories[0]),
        tags=foreign_files.tags(categories[1:]),
        source=Source.IMPORT,
        agent_id=foreign_files.reference(entry.get("agent_id")),
        run_id=foreign_files.reference(entry.get("run_id")),
        actor_id=foreign_files.reference(entry.get("actor_id")),
        role=foreign_files.reference(entry.get("role")),
        created_at=foreign_files.moment(entry.get("created_at")),
        expires_at=foreign_files.moment(entry.get("expiration_date")),
    )
