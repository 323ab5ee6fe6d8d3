"""Claude's data export: the archive, or one of the JSON files taken out of it.

``conversations.json`` lists conversations with their ``chat_messages`` in order. What Claude
remembers is in ``memories.json`` (newer exports: ``memories/<account>.json``), as Markdown.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.thread import NewTurn
from ricordo.transfer.importers import cleaning, opening, shapes
from ricordo.transfer.importers.claude_memories import holds_memories, read_memories
from ricordo.transfer.importers.shapes import JsonObject
from ricordo.transfer.importers.skipping import is_kept
from ricordo.transfer.merging import Findings, FoundThread

MEMBERS: Final = (
    "conversations.json",
    "conversations-*.json",
    "memories.json",
    "memories/*.json",
)
_ROLE_OF_SENDER: Final = {"human": "user", "assistant": "assistant"}


def fits(data: object) -> bool:
    """True for JSON that looks like Claude's conversations or memories."""
    return "chat_messages" in shapes.first_object(data) or holds_memories(data)


def read(path: Path) -> Iterator[Findings]:
    """The conversations of an export and what Claude remembered.

    Raises:
        ImportFailed: not such an export; the message names the file and the conversation.
    """
    for document in opening.documents(path, MEMBERS):
        if holds_memories(document.data):
            yield from read_memories(document.place, document.data)
            continue
        entries = shapes.listed(document.place, document.data)
        for number, entry in enumerate(entries, start=1):
            found = Findings()
            place = f"{document.place}, conversation {number}"
            _read_conversation(found, place, shapes.an_object(place, entry))
            yield found


def _read_conversation(found: Findings, place: str, entry: JsonObject) -> None:
    thread_id = cleaning.thread_id("claude", entry.get("uuid"))
    if thread_id is None:
        raise ImportFailed(f"{place}: no usable 'uuid'")
    messages = shapes.a_list(f"{place}, 'chat_messages'", entry.get("chat_messages"))
    turns: list[NewTurn] = []
    for number, message in enumerate(messages, start=1):
        where = f"{place}, message {number}"
        _keep_turn(found, turns, shapes.an_object(where, message))
    if turns:
        found.threads.append(FoundThread(thread_id, cleaning.title(entry.get("name")), turns))
    else:
        found.skipped["conversations without text"] += 1


def _keep_turn(found: Findings, turns: list[NewTurn], message: JsonObject) -> None:
    for name in ("attachments", "files"):
        found.skipped["attachments"] += len(shapes.list_or_empty(message.get(name)))
    role = _ROLE_OF_SENDER.get(cleaning.text(message.get("sender")))
    if role is None:
        found.skipped["other messages"] += 1
        return
    content = _text_of(message)
    if is_kept(found, content, limits.MAX_TURN_CHARS):
        turns.append(
            NewTurn(
                role=role,
                content=content,
                at=cleaning.moment(message.get("created_at")),
                message_id=cleaning.reference(message.get("uuid")),
            )
        )


def _text_of(message: JsonObject) -> str:
    """What was said, without the thinking and the use of tools in between.

    ``text`` has placeholders for those, so it counts only where there are no blocks of text.
    """
    blocks = map(shapes.object_or_empty, shapes.list_or_empty(message.get("content")))
    said = [cleaning.text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(filter(None, said)) or cleaning.text(message.get("text"))
