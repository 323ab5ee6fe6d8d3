"""Importing what programs for chats export: ChatGPT, Claude and Open WebUI."""

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept
from ricordo.transfer.markdown import BlockKind, blocks

# ChatGPT: a conversation is a tree of messages, because messages can be edited and answers
# regenerated; only the branch that ends in its ``current_node`` is read. Messages to ``bio`` are
# what the assistant saved to its memory. The frame (lists, conversations, their trees) must be
# right; single parts of a message may be missing, as they are in exports of different years.

THEME: Final = "chatgpt"
_EVERYBODY: Final = "all"

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
# The exported text has an explanation for the model, with the user's own words in a fence.
_USERS_OWN_WORDS: Final = re.compile(r"```(.*)```", re.DOTALL)
CHATGPT_MEMBERS: Final = ("conversations.json", "conversations-*.json")


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


def fits_chatgpt(data: object) -> bool:
    """Whether the JSON looks like ChatGPT's conversations."""
    return "mapping" in foreign_files.first_object(data)


def read_chatgpt(path: Path) -> Iterator[ImportedData]:
    """The conversations, saved memories and custom instructions of an export. Raises ImportFailed:
    not such an export; the message names the file and the conversation."""
    instructions = CustomInstructions()
    for document in foreign_files.documents(path, CHATGPT_MEMBERS):
        entries = foreign_files.listed(document.place, document.data)
        for number, entry in enumerate(entries, start=1):
            place = f"{document.place}, conversation {number}"
            yield _chatgpt_conversation(instructions, place, foreign_files.an_object(place, entry))
    last = ImportedData()
    instructions.add_to(last)
    yield last


def _chatgpt_conversation(
    instructions: CustomInstructions, place: str, entry: JsonObject
) -> ImportedData:
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


# Claude: ``conversations.json`` has conversations with their ``chat_messages`` in order; memories
# are in ``memories.json`` (newer exports: ``memories/<account>.json``), as Markdown, about the
# user, per project and in texts by topic. Every bullet and paragraph becomes a memory.


_MEMORY_FIELDS: Final = ("conversations_memory", "project_memories", "memory_files", "account_uuid")

CLAUDE_MEMBERS: Final = (
    "conversations.json",
    "conversations-*.json",
    "memories.json",
    "memories/*.json",
)
_ROLE_OF_SENDER: Final = {"human": "user", "assistant": "assistant"}


class _Markdown(NamedTuple):
    """One Markdown text, its location and time."""

    markdown: str
    origin: str | None
    at: datetime | None


def holds_memories(data: object) -> bool:
    """Whether the JSON holds Claude's memories: one account, or a list of them."""
    account = data if isinstance(data, dict) else foreign_files.first_object(data)
    return any(name in account for name in _MEMORY_FIELDS)


def read_memories(place: str, data: object) -> Iterator[ImportedData]:
    """Claude's memories, text by text. Raises ImportFailed."""
    accounts = [data] if isinstance(data, dict) else foreign_files.listed(place, data)
    for number, account in enumerate(accounts, start=1):
        where = f"{place}, account {number}"
        for text in _memory_texts(where, foreign_files.an_object(where, account)):
            yield from _kept(text)


def _memory_texts(place: str, account: JsonObject) -> Iterator[_Markdown]:
    where = f"{place}, 'conversations_memory'"
    yield _Markdown(
        foreign_files.a_text(where, account.get("conversations_memory") or ""), None, None
    )
    where = f"{place}, 'project_memories'"
    for project, text in foreign_files.an_object(
        where, account.get("project_memories") or {}
    ).items():
        yield _Markdown(foreign_files.a_text(where, text), f"project {project}", None)
    where = f"{place}, 'memory_files'"
    for entry in foreign_files.a_list(where, account.get("memory_files") or []):
        file = foreign_files.an_object(where, entry)
        at = foreign_files.moment(file.get("updated_at"))
        text = foreign_files.a_text(where, file.get("content"))
        yield _Markdown(text, foreign_files.title(file.get("path")), at)


def _kept(text: _Markdown) -> Iterator[ImportedData]:
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


def fits_claude(data: object) -> bool:
    """Whether the JSON looks like Claude's conversations or memories."""
    return "chat_messages" in foreign_files.first_object(data) or holds_memories(data)


def read_claude(path: Path) -> Iterator[ImportedData]:
    """The conversations and memories of an export. Raises ImportFailed."""
    for document in foreign_files.documents(path, CLAUDE_MEMBERS):
        if holds_memories(document.data):
            yield from read_memories(document.place, document.data)
            continue
        entries = foreign_files.listed(document.place, document.data)
        for number, entry in enumerate(entries, start=1):
            place = f"{document.place}, conversation {number}"
            yield _claude_conversation(place, foreign_files.an_object(place, entry))


def _claude_conversation(place: str, entry: JsonObject) -> ImportedData:
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
        content = _said_in(given)
        if role is None:
            found.skipped["other messages"] += 1
        elif is_kept(found, content, limits.MAX_TURN_CHARS):
            at = foreign_files.moment(given.get("created_at"))
            message_id = foreign_files.reference(given.get("uuid"))
            turns.append(NewTurn(role=role, content=content, at=at, message_id=message_id))
    found.add_thread(thread_id, foreign_files.title(entry.get("name")), turns)
    return found


def _said_in(message: JsonObject) -> str:
    """The text without thinking and tool use.

    ``text`` has placeholders for those, so it is used only without text blocks.
    """
    blocks = map(foreign_files.object_or_empty, foreign_files.list_or_empty(message.get("content")))
    said = [
        foreign_files.text(block.get("text")) for block in blocks if block.get("type") == "text"
    ]
    return "\n\n".join(filter(None, said)) or foreign_files.text(message.get("text"))


# Open WebUI: the memories of a user, as its API lists them, or of all users in ``webui.db``.


OPEN_WEBUI: Final = "openwebui"
_BEGINNING: Final = b"SQLite format 3\x00"
_LOG_MODE_AT: Final = 18
_COLUMNS: Final = ("id", "user_id", "content", "created_at")
_ROWS: Final = "SELECT id, user_id, content, created_at FROM memory ORDER BY rowid"


def fits_open_webui(data: object) -> bool:
    """Whether the JSON looks like a list of its memories."""
    first = foreign_files.first_object(data)
    is_said = isinstance(first.get("content"), str) and isinstance(first.get("user_id"), str)
    return is_said and isinstance(first.get("created_at"), int)  # seconds since 1970


def is_database(path: Path) -> bool:
    """Whether a file begins like one of SQLite. Raises ImportFailed."""
    try:
        with path.open("rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None


def read_open_webui(path: Path) -> Iterator[ImportedData]:
    """The memories, each with its user. Raises ImportFailed."""
    if is_database(path):
        yield from _of_database(path)
        return
    document = foreign_files.document(path)
    for place, entry in foreign_files.numbered(document.place, document.data, "memory"):
        given = foreign_files.an_object(place, entry)
        foreign_files.a_text(f"{place}, 'content'", given.get("content"))
        yield _found(given)


def _found(given: JsonObject) -> ImportedData:
    found = ImportedData(user=foreign_files.user(given.get("user_id")))
    content = foreign_files.text(given.get("content"))
    if is_kept(found, content, limits.MAX_CONTENT_CHARS):
        found.memories.append(
            NewMemory(
                content=content,
                source=Source.IMPORT,
                message_id=foreign_files.origin(OPEN_WEBUI, given.get("id")),
                created_at=foreign_files.moment(given.get("created_at")),
            )
        )
    return found


def _of_database(path: Path) -> Iterator[ImportedData]:
    with _opened(path) as connection:
        kind = connection.execute("SELECT type FROM sqlite_master WHERE name = 'memory'").fetchone()
        columns = {row[1] for row in connection.execute("PRAGMA table_info(memory)")}
        if kind != ("table",) or not columns.issuperset(_COLUMNS):
            raise ImportFailed(
                f"{path}: a database without the table 'memory' of Open WebUI;"
                " allowed of databases: its webui.db"
            )
        for row in connection.execute(_ROWS):
            yield _found(dict(zip(_COLUMNS, row, strict=True)))


def _is_left_by_a_log(path: Path) -> bool:
    """Whether it was written through a write-ahead log that is not here."""
    with path.open("rb") as file:
        header = file.read(_LOG_MODE_AT + 1)
    return header[_LOG_MODE_AT:] == b"\x02" and not Path(f"{path}-wal").exists()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Only for reading, and distrusted: anybody can have made it."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    if _is_left_by_a_log(path):
        address += "&immutable=1"  # otherwise files for a new log are made beside it, and stay
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.MAX_IMPORT_ENTRY_BYTES)
            connection.text_factory = lambda given: given.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            yield connection
    except sqlite3.Error as problem:
        raise ImportFailed(f"{path}: not a readable database ({problem})") from None
