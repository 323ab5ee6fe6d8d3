"""Importing what Zep's API answers: the edges of a user's graph (facts), its episodes, and the
messages of a thread.

A list of one of these, or objects that have it under ``edges``, ``facts``, ``episodes`` or
``messages``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept

NAME: Final = "zep"
_FACTS: Final = ("edges", "facts")
_SAID: Final = ("episodes", "messages")
_ROLES: Final = ("user", "assistant")
_NODES: Final = "nodes"


def fits(data: object) -> bool:
    """Whether the JSON looks like one of these answers."""
    if isinstance(data, dict):
        facts = (foreign_files.first_object(data.get(name)) for name in _FACTS)
        said = (foreign_files.first_object(data.get(name)) for name in _SAID)
        return any(map(_is_fact, facts)) or any(map(_is_said, said))
    first = foreign_files.first_object(data)
    return _is_fact(first) or _is_said(first)


def _is_fact(given: JsonObject) -> bool:
    return isinstance(given.get("fact"), str)


def _is_said(given: JsonObject) -> bool:
    """Whether it is a message or an episode, which have the role elsewhere."""
    is_text = isinstance(given.get("content"), str) and "uuid" in given
    return is_text and not {"role", "role_type", "source"}.isdisjoint(given)


def read(path: Path) -> Iterator[ImportedData]:
    """The facts, and what was said. Raises ImportFailed."""
    document = foreign_files.document(path)
    conversations: dict[str, list[NewTurn]] = {}
    for what, listed, thread in _lists(document.place, document.data):
        for place, entry in foreign_files.numbered(document.place, listed, what):
            given = foreign_files.an_object(place, entry)
            if _is_fact(given):
                yield _fact(given)
            elif isinstance(given.get("content"), str):
                yield _turn(given, thread, conversations)
            else:
                raise ImportFailed(f"{place}: neither a 'fact' nor a 'content'")
    last = ImportedData()
    data = document.data
    if isinstance(data, dict):
        last.skipped["nodes"] += len(foreign_files.list_or_empty(data.get(_NODES)))
    for thread_id, turns in conversations.items():
        last.add_thread(thread_id, None, turns)
    yield last


def _lists(place: str, data: object) -> Iterator[tuple[str, object, object]]:
    """Each list, what its entries are, and the thread that all of them are of, if any."""
    if not isinstance(data, dict):
        yield "entry", data, None
        return
    names = [name for name in (*_FACTS, *_SAID) if data.get(name) is not None]
    if not names:
        raise ImportFailed(f"{place}: an object without {', '.join((*_FACTS, *_SAID))}")
    for name in names:
        listed = foreign_files.a_list(f"{place}, {name!r}", data[name])
        thread = None
        if name == "messages":
            first = foreign_files.first_object(listed)
            thread = data.get("thread_id") or data.get("session_id") or first.get("uuid")
        yield name.removesuffix("s"), listed, thread


def _fact(given: JsonObject) -> ImportedData:
    found = ImportedData()
    fact = foreign_files.text(given["fact"])
    if not is_kept(found, fact, limits.MAX_CONTENT_CHARS):
        return found
    since = foreign_files.moment(given.get("valid_at"))
    until = foreign_files.moment(given.get("invalid_at"))
    until = until or foreign_files.moment(given.get("expired_at"))
    noted = foreign_files.moment(given.get("created_at"))
    begun = since or noted
    if until is not None and (begun is None or until <= begun):
        found.skipped["facts that never held"] += 1
        return found
    found.memories.append(
        NewMemory(
            content=fact,
            type=MemoryType.FACT,
            theme=NAME,
            tags=foreign_files.tags([given.get("name")]),
            source=Source.IMPORT,
            message_id=foreign_files.origin(NAME, given.get("uuid")),
            valid_from=since,
            valid_to=until,
            created_at=noted,
        )
    )
    return found


def _turn(
    given: JsonObject, thread: object, conversations: dict[str, list[NewTurn]]
) -> ImportedData:
    found = ImportedData()
    thread_id = foreign_files.thread_id(NAME, given.get("thread_id") or thread)
    role = foreign_files.text(given.get("role_type") or given.get("role"))
    text = foreign_files.text(given["content"])
    if thread_id is None:
        found.skipped["episodes of no thread"] += 1
    elif role not in _ROLES:
        found.skipped["system messages" if role == "system" else "other messages"] += 1
    elif is_kept(found, text, limits.MAX_TURN_CHARS):
        at = foreign_files.moment(given.get("created_at"))
        message_id = foreign_files.reference(given.get("uuid"))
        turn = NewTurn(role=role, content=text, at=at, message_id=message_id)
        conversations.setdefault(thread_id, []).append(turn)
    return found
