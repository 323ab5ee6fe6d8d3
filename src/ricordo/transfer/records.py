"""Importing JSON Lines, or a JSON list, of memories: texts, or objects with fields like ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import Entries, JsonObject, is_kept

NAME: Final = "jsonl"
_TEXT_FIELDS: Final = ("content", "memory", "text", "fact")
_USER_FIELDS: Final = ("user_id", "user")
_THEME_FIELDS: Final = ("theme", "category")
_TIME_FIELDS: Final = ("created_at", "timestamp", "date")
_MESSAGE_ROLES: Final = ("user", "assistant", "system", "tool")


def fits(data: object) -> bool:
    """Whether the JSON looks like a list of memories."""
    if not isinstance(data, Entries):
        return False
    first = next(iter(data), None)
    if isinstance(first, str):
        return True
    given = foreign_files.object_or_empty(first)
    return any(isinstance(given.get(name), str) for name in _TEXT_FIELDS)


def read(path: Path) -> Iterator[ImportedData]:
    """The memories, each with its user where it names one. Raises ImportFailed."""
    document = foreign_files.document(path)
    data = [document.data] if isinstance(document.data, dict) else document.data
    for place, entry in foreign_files.numbered(document.place, data, "memory"):
        if isinstance(entry, str):
            yield _found(entry, {})
            continue
        given = foreign_files.an_object(place, entry)
        if given.get("role") in _MESSAGE_ROLES:
            raise ImportFailed(
                f"{place}: is a message of a conversation, and no memory; record conversations"
                " with: ricordo observe"
            )
        yield _found(_content(place, given), given)


def _content(place: str, given: JsonObject) -> str:
    for name in _TEXT_FIELDS:
        if given.get(name) is not None:
            return foreign_files.a_text(f"{place}, {name!r}", given[name])
    raise ImportFailed(f"{place}: no text under {', '.join(map(repr, _TEXT_FIELDS))}")


def _found(said: str, given: JsonObject) -> ImportedData:
    found = ImportedData(user=foreign_files.user(_first(given, _USER_FIELDS)))
    content = foreign_files.text(said)
    if is_kept(found, content, limits.MAX_CONTENT_CHARS):
        key = foreign_files.text(given.get("key"))
        found.memories.append(
            NewMemory(
                content=content,
                theme=foreign_files.theme(_first(given, _THEME_FIELDS)),
                type=_type(given.get("type")),
                key=key if 0 < len(key) <= limits.MAX_KEY_CHARS else None,
                tags=foreign_files.tags(foreign_files.list_or_empty(given.get("tags"))) or None,
                source=Source.IMPORT,
                importance=_importance(given.get("importance")),
                message_id=foreign_files.origin(NAME, given.get("id")),
                agent_id=foreign_files.reference(given.get("agent_id")),
                created_at=foreign_files.moment(_first(given, _TIME_FIELDS)),
            )
        )
    return found


def _first(given: JsonObject, names: tuple[str, ...]) -> object:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _type(value: object) -> MemoryType | None:
    try:
        return MemoryType(str(value))
    except ValueError:
        return None


def _importance(value: object) -> int | None:
    try:
        return None if value is None else checks.integer("importance", value, 1, 5)
    except InvalidValue:
        return None
