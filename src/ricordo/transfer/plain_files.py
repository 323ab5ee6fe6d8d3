"""Importing files of nobody's format: lines of text, flat JSON, lists of memories."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import Entries, JsonObject, is_kept
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


def fits_lines(path: Path) -> bool:
    """Whether this is plain text, and of no other kind."""
    try:
        text = foreign_files.read_text(path)
    except ImportFailed:
        return False
    beginning = text.lstrip()
    is_other = beginning.startswith(_OTHER_KINDS) or _NO_TEXT.search(text) is not None
    return not is_other and next(said_lines(text), None) is not None


def read_lines(path: Path) -> Iterator[ImportedData]:
    """The lines of a text file; a heading of Markdown is the theme of those below it. Raises
    ImportFailed: names the line that is no text, or too long."""
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


# Flat JSON: ``{"favourite_drink": "tea"}``, or one level of themes around such objects. Each value
# is a memory under its key, so that importing a changed file updates it.


_KEY_AS_WORDS: Final = str.maketrans("_-", "  ")
_ALLOWED: Final = "text, a number, true, false, or a list of those"
Scalar = str | int | float | bool


def fits_keyvalue(data: object) -> bool:
    """Whether this is a non-empty JSON object of this shape."""
    if not isinstance(data, dict) or not data:
        return False
    return all(_is_value(value) for _theme, _key, value in _entries(data))


def read_keyvalue(path: Path) -> Iterator[ImportedData]:
    """The values of a flat JSON file, each under its key. Raises ImportFailed."""
    data = foreign_files.an_object(str(path), foreign_files.document(path).data)
    found = ImportedData()
    kept: dict[tuple[str | None, str | None], NewMemory] = {}
    for outer, name, value in _entries(data):
        if not _is_value(value):
            where = f"{outer!r}, {name!r}" if outer is not None else repr(name)
            kind = foreign_files.kind_of(value)
            raise ImportFailed(f"{path}, {where}: expected {_ALLOWED}, got {kind}")
        memory = _keyed_memory(found, outer, name, value)
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


def _keyed_memory(
    found: ImportedData, outer: str | None, name: str, value: object
) -> NewMemory | None:
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


# JSON Lines, or a JSON list, of memories: texts, or objects with fields like ours.


_JSONL: Final = "jsonl"
_TEXT_FIELDS: Final = ("content", "memory", "text", "fact")
_USER_FIELDS: Final = ("user_id", "user")
_THEME_FIELDS: Final = ("theme", "category")
_TIME_FIELDS: Final = ("created_at", "timestamp", "date")
_MESSAGE_ROLES: Final = ("user", "assistant", "system", "tool")


def fits_records(data: object) -> bool:
    """Whether the JSON looks like a list of memories."""
    if not isinstance(data, Entries):
        return False
    first = next(iter(data), None)
    if isinstance(first, str):
        return True
    given = foreign_files.object_or_empty(first)
    return any(isinstance(given.get(name), str) for name in _TEXT_FIELDS)


def read_records(path: Path) -> Iterator[ImportedData]:
    """The memories, each with its user where it names one. Raises ImportFailed."""
    document = foreign_files.document(path)
    data = [document.data] if isinstance(document.data, dict) else document.data
    for place, entry in foreign_files.numbered(document.place, data, "memory"):
        if isinstance(entry, str):
            yield _record(entry, {})
            continue
        given = foreign_files.an_object(place, entry)
        if given.get("role") in _MESSAGE_ROLES:
            raise ImportFailed(
                f"{place}: is a message of a conversation, and no memory; record conversations"
                " with: ricordo observe"
            )
        yield _record(_content(place, given), given)


def _content(place: str, given: JsonObject) -> str:
    for name in _TEXT_FIELDS:
        if given.get(name) is not None:
            return foreign_files.a_text(f"{place}, {name!r}", given[name])
    raise ImportFailed(f"{place}: no text under {', '.join(map(repr, _TEXT_FIELDS))}")


def _record(said: str, given: JsonObject) -> ImportedData:
    found = ImportedData(user=foreign_files.user(_first(given, _USER_FIELDS)))
    content = foreign_files.text(said)
    if is_kept(found, content, limits.MAX_CONTENT_CHARS):
        key = foreign_files.text(given.get("key"))
        found.memories.append(
            NewMemory(
                content=content,
                theme=foreign_files.theme(_first(given, _THEME_FIELDS)),
                type=_memory_type(given.get("type")),
                key=key if 0 < len(key) <= limits.MAX_KEY_CHARS else None,
                tags=foreign_files.tags(foreign_files.list_or_empty(given.get("tags"))) or None,
                source=Source.IMPORT,
                importance=_importance(given.get("importance")),
                message_id=foreign_files.origin(_JSONL, given.get("id")),
                agent_id=foreign_files.reference(given.get("agent_id")),
                created_at=foreign_files.moment(_first(given, _TIME_FIELDS)),
            )
        )
    return found


def _first(given: JsonObject, names: tuple[str, ...]) -> object:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _memory_type(value: object) -> MemoryType | None:
    try:
        return MemoryType(str(value))
    except ValueError:
        return None


def _importance(value: object) -> int | None:
    try:
        return None if value is None else checks.integer("importance", value, 1, 5)
    except InvalidValue:
        return None
