"""Importing what other systems for memories have: mem0, Zep, Letta and MCP's memory server."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept
from ricordo.transfer.plain_files import said_lines

# mem0: the answer of its ``get_all``, or an export job. A list of memories, or an object with that
# list. The text of a memory is under ``memory``, in older versions under ``text`` or ``data``.

_LIST_FIELDS: Final = ("results", "memories")
_TEXT_FIELDS: Final = ("memory", "text", "data")


def fits_mem0(data: object) -> bool:
    """Whether the JSON looks like memories of mem0."""
    if isinstance(data, dict):
        data = next((data[name] for name in _LIST_FIELDS if name in data), None)
        if data == []:
            return True
    first = foreign_files.first_object(data)
    return any(isinstance(first.get(name), str) for name in _TEXT_FIELDS)


def read_mem0(path: Path) -> Iterator[ImportedData]:
    """The memories, each with its user. Raises ImportFailed."""
    place, data = _mem0_list(path, foreign_files.document(path).data)
    for where, entry in foreign_files.numbered(place, data, "memory"):
        given = foreign_files.an_object(where, entry)
        found = ImportedData(user=foreign_files.user(given.get("user_id")))
        content = foreign_files.text(_mem0_text(where, given))
        if is_kept(found, content, limits.MAX_CONTENT_CHARS):
            found.memories.append(_mem0_memory(content, given))
        yield found


def _mem0_list(path: Path, data: object) -> tuple[str, object]:
    """The list of memories, and its place."""
    if not isinstance(data, dict):
        return str(path), data
    for name in _LIST_FIELDS:
        if name in data:
            return f"{path}, {name!r}", data[name]
    raise ImportFailed(f"{path}: an object without {' or '.join(map(repr, _LIST_FIELDS))}")


def _mem0_text(place: str, entry: JsonObject) -> str:
    for name in _TEXT_FIELDS:
        value = entry.get(name)
        if value is not None:
            return foreign_files.a_text(f"{place}, {name!r}", value)
    raise ImportFailed(f"{place}: no text under {', '.join(map(repr, _TEXT_FIELDS))}")


def _mem0_memory(content: str, entry: JsonObject) -> NewMemory:
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


# Zep: what its API answers. A list of edges of a user's graph (facts), of episodes or of messages
# of a thread, or objects that have such lists.


_ZEP: Final = "zep"
_FACTS: Final = ("edges", "facts")
_SAID: Final = ("episodes", "messages")
_ROLES: Final = ("user", "assistant")
_NODES: Final = "nodes"


def fits_zep(data: object) -> bool:
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


def read_zep(path: Path) -> Iterator[ImportedData]:
    """The facts, and what was said. Raises ImportFailed."""
    document = foreign_files.document(path)
    conversations: dict[str, list[NewTurn]] = {}
    for what, listed, thread in _zep_lists(document.place, document.data):
        for place, entry in foreign_files.numbered(document.place, listed, what):
            given = foreign_files.an_object(place, entry)
            if _is_fact(given):
                yield _zep_fact(given)
            elif isinstance(given.get("content"), str):
                yield _zep_turn(given, thread, conversations)
            else:
                raise ImportFailed(f"{place}: neither a 'fact' nor a 'content'")
    last = ImportedData()
    data = document.data
    if isinstance(data, dict):
        last.skipped["nodes"] += len(foreign_files.list_or_empty(data.get(_NODES)))
    for thread_id, turns in conversations.items():
        last.add_thread(thread_id, None, turns)
    yield last


def _zep_lists(place: str, data: object) -> Iterator[tuple[str, object, object]]:
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


def _zep_fact(given: JsonObject) -> ImportedData:
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
            theme=_ZEP,
            tags=foreign_files.tags([given.get("name")]),
            source=Source.IMPORT,
            message_id=foreign_files.origin(_ZEP, given.get("uuid")),
            valid_from=since,
            valid_to=until,
            created_at=noted,
        )
    )
    return found


def _zep_turn(
    given: JsonObject, thread: object, conversations: dict[str, list[NewTurn]]
) -> ImportedData:
    found = ImportedData()
    thread_id = foreign_files.thread_id(_ZEP, given.get("thread_id") or thread)
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


# Letta: agent files (``.af``), with memory blocks and the conversation of each agent. Those of
# before 2025-07 have one agent, whose blocks are its ``core_memory``. In some, the JSON is written
# as a text inside JSON.


_LETTA: Final = "letta"
_OF_THE_AGENT: Final = ("persona", "soul", "custom_instructions", "scratchpad")
"""Labels of blocks in which an agent says who it is and how it works."""
_SEND: Final = "send_message"


def fits_letta(data: object) -> bool:
    """Whether the JSON looks like an agent file."""
    try:
        given = _letta_file("", data)
    except ImportFailed:
        return False
    if isinstance(given.get("agents"), list) and isinstance(given.get("blocks"), list):
        return True
    return isinstance(given.get("core_memory"), list) and isinstance(given.get("messages"), list)


def read_letta(path: Path) -> Iterator[ImportedData]:
    """The blocks and conversations. Raises ImportFailed."""
    given = _letta_file(str(path), foreign_files.document(path).data)
    is_one_agent = "agents" not in given
    blocks = given.get("core_memory" if is_one_agent else "blocks")
    for number, block in enumerate(foreign_files.a_list(f"{path}, its blocks", blocks), start=1):
        yield _letta_block(f"{path}, block {number}", block)
    agents = [given] if is_one_agent else given.get("agents")
    for number, agent in enumerate(foreign_files.a_list(f"{path}, 'agents'", agents), start=1):
        place = f"{path}, agent {number}"
        yield _letta_conversation(place, foreign_files.an_object(place, agent))
    last = ImportedData()
    last.skipped["files"] += len(foreign_files.list_or_empty(given.get("files")))
    yield last


def _letta_file(place: str, data: object) -> JsonObject:
    if isinstance(data, str):
        data = foreign_files.parsed(place, data)
    return foreign_files.an_object(place, data)


def _letta_block(place: str, block: object) -> ImportedData:
    given = foreign_files.an_object(place, block)
    label = foreign_files.text(given.get("label"))
    value = foreign_files.a_text(f"{place}, 'value'", given.get("value") or "")
    found = ImportedData()
    if label in _OF_THE_AGENT:
        found.skipped["blocks about the agent"] += 1
        return found
    for line in said_lines(value):
        if is_kept(found, line.text, limits.MAX_CONTENT_CHARS):
            context = foreign_files.title(": ".join(filter(None, (label, line.heading))))
            found.memories.append(
                NewMemory(
                    content=line.text,
                    type=MemoryType.FACT,
                    theme=_LETTA,
                    source=Source.IMPORT,
                    source_context=context,
                    created_at=foreign_files.moment(given.get("created_at")),
                )
            )
    return found


def _letta_conversation(place: str, agent: JsonObject) -> ImportedData:
    found = ImportedData()
    name = foreign_files.title(agent.get("name"))
    thread_id = foreign_files.thread_id(_LETTA, name)
    if thread_id is None:
        raise ImportFailed(f"{place}: no usable 'name'")
    turns: list[NewTurn] = []
    messages = foreign_files.a_list(f"{place}, 'messages'", agent.get("messages"))
    for number, entry in enumerate(messages, start=1):
        message = foreign_files.an_object(f"{place}, message {number}", entry)
        role = foreign_files.text(message.get("role"))
        text = _letta_message(message) if role in ("user", "assistant") else None
        if text is None:
            kind = role if role in ("system", "tool") else "other"
            found.skipped[f"{kind} messages"] += 1
        elif is_kept(found, text, limits.MAX_TURN_CHARS):
            at = foreign_files.moment(message.get("created_at"))
            # Ids count the messages of one file, so that they are of use only with the time.
            named = foreign_files.reference(f"{message.get('id')}@{at}") if at else None
            turns.append(NewTurn(role=role, content=text, at=at, message_id=named))
    if turns:
        found.add_thread(thread_id, name, turns)
    return found


def _letta_message(message: JsonObject) -> str | None:
    """What the user or the agent said; None where that is something else.

    An agent may say it by calling a tool, and what it wrote beside a call is what it thought.
    """
    calls = foreign_files.list_or_empty(message.get("tool_calls"))
    if calls:
        sent = [one for one in map(_letta_sent, calls) if one]
        return "\n\n".join(sent) or None
    content = message.get("content")
    if content is None:
        content = message.get("text")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    objects = map(foreign_files.object_or_empty, parts)
    texts = [foreign_files.text(one.get("text")) for one in objects if one.get("type") == "text"]
    text = "\n\n".join(filter(None, texts))
    if message.get("role") == "user" and text.startswith("{"):
        return _of_event(text)
    return text


def _of_event(text: str) -> str | None:
    """What a user said in an event, as older agents are told of everything."""
    try:
        event: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(event, dict) or "type" not in event:
        return text
    is_said = event["type"] == "user_message"
    return foreign_files.text(event.get("message")) if is_said else None


def _letta_sent(call: object) -> str:
    function = foreign_files.object_or_empty(foreign_files.object_or_empty(call).get("function"))
    if function.get("name") != _SEND:
        return ""
    try:
        arguments = json.loads(foreign_files.text(function.get("arguments")) or "{}")
    except (ValueError, RecursionError):
        return ""
    return foreign_files.text(foreign_files.object_or_empty(arguments).get("message"))


# MCP's reference memory server: ``memory.jsonl``, or what its ``read_graph`` answers. Each
# observation of an entity and each relation becomes a sentence of its own.


_KINDS: Final = ("entity", "relation")
_LISTS: Final = {"entities": "entity", "relations": "relation"}
_DEFAULT_USER: Final = "default_user"  # what the server's instructions call whoever talks
_AS_WORDS: Final = str.maketrans("_", " ")


def fits_mcp(data: object) -> bool:
    """Whether the JSON looks like such a graph."""
    if isinstance(data, dict) and all(isinstance(data.get(name), list) for name in _LISTS):
        return True
    first = data if isinstance(data, dict) else foreign_files.first_object(data)
    return _is_part(first)


def _is_part(given: JsonObject) -> bool:
    if given.get("type") == "entity":
        return "name" in given and "observations" in given
    return given.get("type") == "relation" and "from" in given and "to" in given


def read_mcp(path: Path) -> Iterator[ImportedData]:
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
    name = _mcp_name(place, given, "name")
    kind = foreign_files.text(given.get("entityType"))
    listed = foreign_files.a_list(f"{place}, 'observations'", given.get("observations"))
    said = [foreign_files.a_text(f"{place}, 'observations'", one) for one in listed]
    observations = [foreign_files.text(one) for one in said]
    if not observations:
        observations = [f"{name} ({kind})" if kind else name]
    texts = (one if name.casefold() in one.casefold() else f"{name}: {one}" for one in observations)
    return _mcp_found(texts, foreign_files.tags([kind]))


def _relation(place: str, given: JsonObject) -> ImportedData:
    relation = foreign_files.a_text(f"{place}, 'relationType'", given.get("relationType"))
    words = (
        _mcp_name(place, given, "from"),
        foreign_files.text(relation).translate(_AS_WORDS),
        _mcp_name(place, given, "to"),
    )
    return _mcp_found([" ".join(words)], ())


def _mcp_found(texts: Iterable[str], tags: tuple[str, ...]) -> ImportedData:
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


def _mcp_name(place: str, given: JsonObject, field: str) -> str:
    name = foreign_files.text(foreign_files.a_text(f"{place}, {field!r}", given.get(field)))
    if not name:
        raise ImportFailed(f"{place}, {field!r}: is empty")
    return "The user" if name == _DEFAULT_USER else name.translate(_AS_WORDS)
