"""Importing ChatGPT exports.

A conversation is a tree of messages, because messages can be edited and answers regenerated; only
the branch that ends in its ``current_node`` is read. Messages to ``bio`` are what the assistant
saved to its memory. The frame (lists, conversations, their trees) must be right; single parts of a
message may be missing, as they are in exports of different years.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept

THEME: Final = "chatgpt"
_EVERYBODY: Final = "all"

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
# The exported text has an explanation for the model, with the user's own words in a fence.
_USERS_OWN_WORDS: Final = re.compile(r"```(.*)```", re.DOTALL)
MEMBERS: Final = ("conversations.json", "conversations-*.json")


class ChatGptMessage:
    """A message with the parts of every export version in one place."""

    def __init__(self, node_id: str, raw: JsonObject) -> None:
        self.id: str | None = foreign_files.reference(raw.get("id") or node_id)
        self.role: str = foreign_files.text(
            foreign_files.object_or_empty(raw.get("author")).get("role")
        )
        self.created_at: datetime | None = foreign_files.moment(raw.get("create_time"))
        self.content: JsonObject = foreign_files.object_or_empty(raw.get("content"))
        self.metadata: JsonObject = foreign_files.object_or_empty(raw.get("metadata"))
        self.text: str = foreign_files.text("\n".join(_texts(self.content)))
        self._recipient: object = raw.get("recipient") or _EVERYBODY

    @property
    def holds_instructions(self) -> bool:
        """Whether this is the hidden message with the custom instructions."""
        return self.content.get("content_type") == "user_editable_context"

    @property
    def is_saved_memory(self) -> bool:
        return self.role == "assistant" and self._recipient == "bio"

    def reason_to_skip(self) -> str | None:
        """Why it is not a turn of the conversation; None for one that is."""
        if self.role not in ("user", "assistant"):
            return f"{self.role} messages" if self.role in ("system", "tool") else "other messages"
        if self.metadata.get("is_visually_hidden_from_conversation"):
            return "hidden messages"
        if self._recipient != _EVERYBODY:
            return "messages to tools"
        if self.content.get("content_type") not in ("text", "multimodal_text", "code"):
            return "reasoning and other content"
        return None


def _texts(content: JsonObject) -> list[str]:
    """The texts among the parts; code is beside them, and transcripts are inside a part."""
    parts: list[Any] = [*foreign_files.list_or_empty(content.get("parts")), content.get("text")]
    found = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in found if isinstance(text, str)]


class _Field(NamedTuple):
    """One of the two instruction texts: its field in a message and its theme here."""

    in_content: str
    in_metadata: str
    key: str
    type: MemoryType


class _Version(NamedTuple):
    at: datetime | None
    text: str


_FIELDS: Final = (
    _Field("user_profile", "about_user_message", "chatgpt-profile", MemoryType.FACT),
    _Field(
        "user_instructions", "about_model_message", "chatgpt-instructions", MemoryType.INSTRUCTION
    ),
)


class CustomInstructions:
    """Collects both texts over all conversations and keeps the newest of each."""

    def __init__(self) -> None:
        self._newest: dict[_Field, _Version] = {}

    def note(self, message: ChatGptMessage, conversation_at: datetime | None) -> None:
        """Read a message with instructions; few of them have a time of their own."""
        at = message.created_at or conversation_at
        for field in _FIELDS:
            text = _text_of(field, message)
            newest = self._newest.get(field)
            if text and (newest is None or (at or _LONG_AGO) > (newest.at or _LONG_AGO)):
                self._newest[field] = _Version(at, text)

    def add_to(self, found: ImportedData) -> None:
        """Add the newest of each as a memory, even if it is empty or too long to be kept."""
        for field, version in self._newest.items():
            if is_kept(found, version.text, limits.MAX_CONTENT_CHARS):
                found.memories.append(
                    NewMemory(
                        content=version.text,
                        type=field.type,
                        key=field.key,
                        theme=THEME,
                        source=Source.USER_EXPLICIT,
                        created_at=version.at,
                    )
                )


def _text_of(field: _Field, message: ChatGptMessage) -> str:
    bare = foreign_files.object_or_empty(message.metadata.get("user_context_message_data"))
    text = foreign_files.text(bare.get(field.in_metadata))
    if text:
        return text
    explained = foreign_files.text(message.content.get(field.in_content))
    own_words = _USERS_OWN_WORDS.search(explained)
    return own_words[1].strip() if own_words else explained


def fits(data: object) -> bool:
    """Whether the JSON looks like ChatGPT's conversations."""
    return "mapping" in foreign_files.first_object(data)


def read(path: Path) -> Iterator[ImportedData]:
    """The conversations, saved memories and custom instructions of an export.

    Raises:
        ImportFailed: not such an export; the message names the file and the conversation.
    """
    instructions = CustomInstructions()
    for document in foreign_files.documents(path, MEMBERS):
        entries = foreign_files.listed(document.place, document.data)
        for number, entry in enumerate(entries, start=1):
            place = f"{document.place}, conversation {number}"
            yield _conversation(instructions, place, foreign_files.an_object(place, entry))
    last = ImportedData()
    instructions.add_to(last)
    yield last


def _conversation(instructions: CustomInstructions, place: str, entry: JsonObject) -> ImportedData:
    found = ImportedData()
    thread_id = foreign_files.thread_id("chatgpt", entry.get("conversation_id") or entry.get("id"))
    if thread_id is None:
        raise ImportFailed(f"{place}: no usable 'conversation_id' or 'id'")
    title = foreign_files.title(entry.get("title"))
    created_at = foreign_files.moment(entry.get("create_time"))
    turns: list[NewTurn] = []
    for message in _messages_seen(found, place, entry):
        if message.holds_instructions:
            instructions.note(message, created_at)
        elif message.is_saved_memory:
            for line in filter(None, map(str.strip, message.text.splitlines())):
                if is_kept(found, line, limits.MAX_CONTENT_CHARS):
                    memory = NewMemory(
                        content=line,
                        type=MemoryType.FACT,
                        theme=THEME,
                        source=Source.IMPORT,
                        source_context=title,
                        thread_id=thread_id,
                        message_id=message.id,
                        created_at=message.created_at or created_at,
                    )
                    found.memories.append(memory)
        elif (reason := message.reason_to_skip()) is not None:
            found.skipped[reason] += 1
        elif is_kept(found, message.text, limits.MAX_TURN_CHARS):
            turn = NewTurn(
                role=message.role,
                content=message.text,
                at=message.created_at,
                message_id=message.id,
            )
            turns.append(turn)
    found.add_thread(thread_id, title, turns)
    return found


def _messages_seen(found: ImportedData, place: str, entry: JsonObject) -> Iterator[ChatGptMessage]:
    """The messages of the current branch, in order."""
    nodes = foreign_files.an_object(f"{place}, 'mapping'", entry.get("mapping"))
    current = entry.get("current_node")
    if nodes and not (isinstance(current, str) and current in nodes):
        raise ImportFailed(f"{place}: 'current_node' names none of its messages")
    branch: dict[str, JsonObject] = {}
    while isinstance(current, str) and current in nodes:
        if current in branch:
            raise ImportFailed(f"{place}: message {current!r} is its own ancestor")
        branch[current] = foreign_files.an_object(f"{place}, message {current!r}", nodes[current])
        current = branch[current].get("parent")
    if current is not None:
        found.skipped["earlier messages missing from the file"] += 1
    for node_id, node in reversed(branch.items()):
        if isinstance(node.get("message"), dict):  # the root of the tree has none
            yield ChatGptMessage(node_id, node["message"])
