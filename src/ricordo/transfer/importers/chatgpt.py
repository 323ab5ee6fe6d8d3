"""ChatGPT's data export: the archive, or a ``conversations.json`` taken out of it.

A conversation is a tree of messages, because a message can be edited and an answer made anew; its
``current_node`` is the end of the branch that was last on the screen, and only that branch is
read. Messages that the assistant sent to ``bio`` are what it saved to its memory.

The frame (lists, conversations, their trees) has to be right; single parts of a message may be
missing, as they are in exports of different years.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer.importers import cleaning, opening, shapes
from ricordo.transfer.importers.chatgpt_instructions import CustomInstructions
from ricordo.transfer.importers.chatgpt_messages import THEME, Message
from ricordo.transfer.importers.shapes import JsonObject
from ricordo.transfer.importers.skipping import is_kept
from ricordo.transfer.merging import Findings, FoundThread

MEMBERS: Final = ("conversations.json", "conversations-*.json")


@dataclass(frozen=True, slots=True)
class _Conversation:
    """What the messages of a conversation have in common."""

    thread_id: str
    title: str | None
    created_at: datetime | None


def fits(data: object) -> bool:
    """True for JSON that looks like ChatGPT's conversations."""
    return "mapping" in shapes.first_object(data)


def read(path: Path) -> Iterator[Findings]:
    """The conversations of an export, what was saved to memory in them, and the instructions.

    Raises:
        ImportFailed: not such an export; the message names the file and the conversation.
    """
    instructions = CustomInstructions()
    for document in opening.documents(path, MEMBERS):
        entries = shapes.listed(document.place, document.data)
        for number, entry in enumerate(entries, start=1):
            found = Findings()
            place = f"{document.place}, conversation {number}"
            _read_conversation(found, instructions, place, shapes.an_object(place, entry))
            yield found
    last = Findings()
    instructions.add_to(last)
    yield last


def _read_conversation(
    found: Findings, instructions: CustomInstructions, place: str, entry: JsonObject
) -> None:
    conversation = _described(place, entry)
    turns: list[NewTurn] = []
    for message in _messages_seen(found, place, entry):
        if message.holds_instructions:
            instructions.note(message, conversation.created_at)
        elif message.is_saved_memory:
            _keep_saved(found, conversation, message)
        elif (reason := message.reason_to_skip()) is not None:
            found.skipped[reason] += 1
        else:
            _keep_turn(found, turns, message)
    if turns:
        found.threads.append(FoundThread(conversation.thread_id, conversation.title, turns))
    else:
        found.skipped["conversations without text"] += 1


def _described(place: str, entry: JsonObject) -> _Conversation:
    given = entry.get("conversation_id") or entry.get("id")
    thread_id = cleaning.thread_id("chatgpt", given)
    if thread_id is None:
        raise ImportFailed(f"{place}: no usable 'conversation_id' or 'id'")
    created_at = cleaning.moment(entry.get("create_time"))
    return _Conversation(thread_id, cleaning.title(entry.get("title")), created_at)


def _messages_seen(found: Findings, place: str, entry: JsonObject) -> Iterator[Message]:
    """The messages from the first to the one last on the screen."""
    nodes = shapes.an_object(f"{place}, 'mapping'", entry.get("mapping"))
    current = entry.get("current_node")
    if nodes and not (isinstance(current, str) and current in nodes):
        raise ImportFailed(f"{place}: 'current_node' names none of its messages")
    branch: dict[str, JsonObject] = {}
    while isinstance(current, str) and current in nodes:
        if current in branch:
            raise ImportFailed(f"{place}: message {current!r} is its own ancestor")
        branch[current] = shapes.an_object(f"{place}, message {current!r}", nodes[current])
        current = branch[current].get("parent")
    if current is not None:
        found.skipped["earlier messages missing from the file"] += 1
    for node_id, node in reversed(branch.items()):
        if isinstance(node.get("message"), dict):  # the root of the tree has none
            yield Message(node_id, node["message"])


def _keep_saved(found: Findings, conversation: _Conversation, message: Message) -> None:
    for line in message.text.splitlines():
        content = line.strip()
        if content and is_kept(found, content, limits.MAX_CONTENT_CHARS):
            found.memories.append(
                NewMemory(
                    content=content,
                    type=MemoryType.FACT,
                    theme=THEME,
                    source=Source.IMPORT,
                    source_context=conversation.title,
                    thread_id=conversation.thread_id,
                    message_id=message.id,
                    created_at=message.created_at or conversation.created_at,
                )
            )


def _keep_turn(found: Findings, turns: list[NewTurn], message: Message) -> None:
    if is_kept(found, message.text, limits.MAX_TURN_CHARS):
        turns.append(
            NewTurn(
                role=message.role,
                content=message.text,
                at=message.created_at,
                message_id=message.id,
            )
        )
