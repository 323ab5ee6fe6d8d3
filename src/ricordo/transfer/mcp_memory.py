"""Importing the knowledge graph of MCP's reference memory server: ``memory.jsonl``, or what its
``read_graph`` answers.

Each observation of an entity and each relation becomes a sentence of its own.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept

_KINDS: Final = ("entity", "relation")
_LISTS: Final = {"entities": "entity", "relations": "relation"}
_DEFAULT_USER: Final = "default_user"  # what the server's instructions call whoever talks
_AS_WORDS: Final = str.maketrans("_", " ")


def fits(data: object) -> bool:
    """Whether the JSON looks like such a graph."""
    if isinstance(data, dict) and all(isinstance(data.get(name), list) for name in _LISTS):
        return True
    first = data if isinstance(data, dict) else foreign_files.first_object(data)
    return _is_part(first)


def _is_part(given: JsonObject) -> bool:
    if given.get("type") == "entity":
        return "name" in given and "observations" in given
    return given.get("type") == "relation" and "from" in given and "to" in given


def read(path: Path) -> Iterator[ImportedData]:
    """The observations and relations. Raises ImportFailed."""
    for place, given in _parts(path):
        kind = given.get("type")
        if kind not in _KINDS:
            raise ImportFailed(f"{place}: its 'type' is none of: {', '.join(_KINDS)}")
        yield _entity(place, given) if kind == "entity" else _relation(place, given)


def _parts(path: Path) -> Iterator[tuple[str, JsonObject]]:
    document = foreign_files.document(path)
    data: Any = document.data
    if isinstance(data, dict) and not _is_part(data):
        for name, kind in _LISTS.items():
            entries = foreign_files.a_list(f"{path}, {name!r}", data.get(name))
            for place, entry in foreign_files.numbered(document.place, entries, kind):
                yield place, {**foreign_files.an_object(place, entry), "type": kind}
        return
    entries = [data] if isinstance(data, dict) else data  # a graph of one part is one line
    for place, entry in foreign_files.numbered(document.place, entries, "entry"):
        yield place, foreign_files.an_object(place, entry)


def _entity(place: str, given: JsonObject) -> ImportedData:
    name = _name(place, given, "name")
    kind = foreign_files.text(given.get("entityType"))
    listed = foreign_files.a_list(f"{place}, 'observations'", given.get("observations"))
    said = [foreign_files.a_text(f"{place}, 'observations'", one) for one in listed]
    observations = [foreign_files.text(one) for one in said]
    if not observations:
        observations = [f"{name} ({kind})" if kind else name]
    texts = (one if name.casefold() in one.casefold() else f"{name}: {one}" for one in observations)
    return _found(texts, foreign_files.tags([kind]))


def _relation(place: str, given: JsonObject) -> ImportedData:
    relation = foreign_files.a_text(f"{place}, 'relationType'", given.get("relationType"))
    words = (
        _name(place, given, "from"),
        foreign_files.text(relation).translate(_AS_WORDS),
        _name(place, given, "to"),
    )
    return _found([" ".join(words)], ())


def _found(texts: Iterable[str], tags: tuple[str, ...]) -> ImportedData:
    found = ImportedData()
    for text in texts:
        if is_kept(found, text, limits.MAX_CONTENT_CHARS):
            found.memories.append(
                NewMemory(
                    content=text,
                    type=MemoryType.FACT,
                    theme="knowledge-graph",
                    tags=tags,
                    source=Source.IMPORT,
                )
            )
    return found


def _name(place: str, given: JsonObject, field: str) -> str:
    name = foreign_files.text(foreign_files.a_text(f"{place}, {field!r}", given.get(field)))
    if not name:
        raise ImportFailed(f"{place}, {field!r}: is empty")
    return "The user" if name == _DEFAULT_USER else name.translate(_AS_WORDS)
