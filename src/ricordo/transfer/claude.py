"""Importing Claude's data export.

``conversations.json`` lists conversations with their ``chat_messages`` in order. Memories are in
``memories.json`` (newer exports: ``memories/<account>.json``), as Markdown.

Memories: ``conversations_memory`` is about the user, ``project_memories`` has a text per project,
``memory_files`` has texts by topic. Every bullet and paragraph becomes a memory.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept
from ricordo.transfer.markdown import BlockKind, blocks

_FIELDS: Final = ("conversations_memory", "project_memories", "memory_files", "account_uuid")

MEMBERS: Final = ("conversations.json", "conversations-*.json", "memories.json", "memories/*.json")
_ROLE_OF_SENDER: Final = {"human": "user", "assistant": "assistant"}


class _Text(NamedTuple):
    """One Markdown text, its location and time."""

    markdown: str
    origin: str | None
    at: datetime | None


def holds_memories(data: object) -> bool:
    """Whether the JSON holds Claude's memories: one account, or a list of them."""
    account = data if isinstance(data, dict) else foreign_files.first_object(data)
    return any(name in account for name in _FIELDS)


def read_memories(place: str, data: object) -> Iterator[ImportedData]:
    """Claude's memories, text by text. Raises ImportFailed."""
    accounts = [data] if isinstance(data, dict) else foreign_files.listed(place, data)
    for number, account in enumerate(accounts, start=1):
        where = f"{place}, account {number}"
        for text in _texts(where, foreign_files.an_object(where, account)):
            yield from _kept(text)


def _texts(place: str, account: JsonObject) -> Iterator[_Text]:
    where = f"{place}, 'conversations_memory'"
    yield _Text(foreign_files.a_text(where, account.get("conversations_memory") or ""), None, None)
    where = f"{place}, 'project_memories'"
    for project, text in foreign_files.an_object(
        where, account.get("project_memories") or {}
    ).items():
        yield _Text(foreign_files.a_text(where, text), f"project {project}", None)
    where = f"{place}, 'memory_files'"
    for entry in foreign_files.a_list(where, account.get("memory_files") or []):
        file = foreign_files.an_object(where, entry)
        at = foreign_files.moment(file.get("updated_at"))
        text = foreign_files.a_text(where, file.get("content"))
        yield _Text(text, foreign_files.title(file.get("path")), at)


def _kept(text: _Text) -> Iterator[ImportedData]:
    for block in blocks(foreign_files.text(text.markdown)):
        found = ImportedData()
        if block.kind not in (BlockKind.BULLET, BlockKind.PARAGRAPH):
            found.skipped[block.kind.value] += 1
        elif is_kept(found, block.text, limits.MAX_CONTENT_CHARS):
            context = foreign_files.title(": ".join(filter(None, (text.origin, block.heading))))
            found.memories.append(
                NewMemory(
                    content=block.text,
                    type=MemoryType.FACT,
                    theme="claude",
                    source=Source.IMPORT,
                    source_context=context,
                    created_at=text.at,
                )
            )
        yield found


def fits(data: object) -> bool:
    """Whether the JSON looks like Claude's conversations or memories."""
    return "chat_messages" in foreign_files.first_object(data) or holds_memories(data)


def read(path: Path) -> Iterator[ImportedData]:
    """The conversations and memories of an export. Raises ImportFailed."""
    for document in foreign_files.documents(path, MEMBERS):
        if holds_memories(document.data):
            yield from read_memories(document.place, document.data)
            continue
        entries = foreign_files.listed(document.place, document.data)
        for number, entry in enumerate(entries, start=1):
            place = f"{document.place}, conversation {number}"
            yield _conversation(place, foreign_files.an_object(place, entry))


def _conversation(place: str, entry: JsonObject) -> ImportedData:
    found = ImportedData()
    thread_id = foreign_files.thread_id("claude", entry.get("uuid"))
    if thread_id is None:
        raise ImportFailed(f"{place}: no usable 'uuid'")
    messages = foreign_files.a_list(f"{place}, 'chat_messages'", entry.get("chat_messages"))
    turns: list[NewTurn] = []
    for number, message in enumerate(messages, start=1):
        given = foreign_files.an_object(f"{place}, message {number}", message)
        for name in ("attachments", "files"):
            found.skipped["attachments"] += len(foreign_files.list_or_empty(given.get(name)))
        role = _ROLE_OF_SENDER.get(foreign_files.text(given.get("sender")))
        content = _text_of(given)
        if role is None:
            found.skipped["other messages"] += 1
        elif is_kept(found, content, limits.MAX_TURN_CHARS):
            at = foreign_files.moment(given.get("created_at"))
            message_id = foreign_files.reference(given.get("uuid"))
            turns.append(NewTurn(role=role, content=content, at=at, message_id=message_id))
    found.add_thread(thread_id, foreign_files.title(entry.get("name")), turns)
    return found


def _text_of(message: JsonObject) -> str:
    """The text without thinking and tool use.

    ``text`` has placeholders for those, so it is used only without text blocks.
    """
    blocks = map(foreign_files.object_or_empty, foreign_files.list_or_empty(message.get("content")))
    said = [
        foreign_files.text(block.get("text")) for block in blocks if block.get("type") == "text"
    ]
    return "\n\n".join(filter(None, said)) or foreign_files.text(message.get("text"))
