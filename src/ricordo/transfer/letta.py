"""Importing agent files of Letta (``.af``): the memory blocks, and the conversation of each agent.

Files of before 2025-07 have one agent, whose blocks are its ``core_memory``. In some, the JSON is
written as a text inside JSON.
"""

import json
from collections.abc import Iterator
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
from ricordo.transfer.lines import said_lines

NAME: Final = "letta"
_OF_THE_AGENT: Final = ("persona", "soul", "custom_instructions", "scratchpad")
"""Labels of blocks in which an agent says who it is and how it works."""
_SEND: Final = "send_message"


def fits(data: object) -> bool:
    """Whether the JSON looks like an agent file."""
    try:
        given = _unpacked("", data)
    except ImportFailed:
        return False
    if isinstance(given.get("agents"), list) and isinstance(given.get("blocks"), list):
        return True
    return isinstance(given.get("core_memory"), list) and isinstance(given.get("messages"), list)


def read(path: Path) -> Iterator[ImportedData]:
    """The blocks and conversations. Raises ImportFailed."""
    given = _unpacked(str(path), foreign_files.document(path).data)
    is_one_agent = "agents" not in given
    blocks = given.get("core_memory" if is_one_agent else "blocks")
    for number, block in enumerate(foreign_files.a_list(f"{path}, its blocks", blocks), start=1):
        yield _block(f"{path}, block {number}", block)
    agents = [given] if is_one_agent else given.get("agents")
    for number, agent in enumerate(foreign_files.a_list(f"{path}, 'agents'", agents), start=1):
        place = f"{path}, agent {number}"
        yield _conversation(place, foreign_files.an_object(place, agent))
    last = ImportedData()
    last.skipped["files"] += len(foreign_files.list_or_empty(given.get("files")))
    yield last


def _unpacked(place: str, data: object) -> JsonObject:
    if isinstance(data, str):
        data = foreign_files.parsed(place, data)
    return foreign_files.an_object(place, data)


def _block(place: str, block: object) -> ImportedData:
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
                    theme=NAME,
                    source=Source.IMPORT,
                    source_context=context,
                    created_at=foreign_files.moment(given.get("created_at")),
                )
            )
    return found


def _conversation(place: str, agent: JsonObject) -> ImportedData:
    found = ImportedData()
    name = foreign_files.title(agent.get("name"))
    thread_id = foreign_files.thread_id(NAME, name)
    if thread_id is None:
        raise ImportFailed(f"{place}: no usable 'name'")
    turns: list[NewTurn] = []
    messages = foreign_files.a_list(f"{place}, 'messages'", agent.get("messages"))
    for number, entry in enumerate(messages, start=1):
        message = foreign_files.an_object(f"{place}, message {number}", entry)
        role = foreign_files.text(message.get("role"))
        text = _said(message) if role in ("user", "assistant") else None
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


def _said(message: JsonObject) -> str | None:
    """What the user or the agent said; None where that is something else.

    An agent may say it by calling a tool, and what it wrote beside a call is what it thought.
    """
    calls = foreign_files.list_or_empty(message.get("tool_calls"))
    if calls:
        sent = [one for one in map(_sent, calls) if one]
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


def _sent(call: object) -> str:
    function = foreign_files.object_or_empty(foreign_files.object_or_empty(call).get("function"))
    if function.get("name") != _SEND:
        return ""
    try:
        arguments = json.loads(foreign_files.text(function.get("arguments")) or "{}")
    except (ValueError, RecursionError):
        return ""
    return foreign_files.text(foreign_files.object_or_empty(arguments).get("message"))
