"""Files to import: nearly right, of another kind, damaged, hostile. All of it or nothing."""

import contextlib
import io
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, limits
from ricordo.cli.input import Unnamed, read_transcript
from ricordo.errors import ImportFailed, RicordoError
from ricordo.storage.consistency import find_inconsistencies
from ricordo.transfer import foreign_files
from ricordo.transfer.imports import IMPORTERS, recognise
from ricordo.transfer.markdown import BlockKind, blocks
from tests.fuzz.mutating import (
    altered,
    json_values,
    mutated,
    mutated_bytes,
    odd_texts,
    well_formed,
)
from tests.fuzz.running import FUZZ, FUZZ_SLOWLY
from tests.fuzz.stores import fresh_user
from tests.transfer.test_importers_chatgpt import TALK, conversation, instructions
from tests.transfer.test_importers_systems import (
    AGENT_FILE,
    AT,
    EDGE,
    EPISODES,
    GRAPH,
    MOVED,
    WEBUI_TABLE,
)

pytestmark = pytest.mark.requirement("faults.fuzzed")

CLAUDE: list[Any] = [
    {
        "uuid": "c1",
        "name": "Tea",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "I drink tea",
                "content": [{"type": "text", "text": "I drink tea"}, {"type": "thinking"}],
                "created_at": "2026-01-31T12:00:00Z",
                "attachments": [{}],
            },
            {"uuid": "m2", "sender": "assistant", "text": "Noted."},
        ],
    }
]
CLAUDE_MEMORIES: dict[str, Any] = {
    "account_uuid": "a",
    "conversations_memory": "**Work**\n\nNurse.\n\n- Has a cat\n  called Miso\n",
    "project_memories": {"p1": "# Goal\nShip it."},
    "memory_files": [{"path": "/a.md", "content": "- x", "updated_at": "2026-01-31"}],
}
MEM0: dict[str, Any] = {
    "results": [
        {
            "memory": "Has a cat",
            "user_id": "ana",
            "categories": ["pets", "home"],
            "metadata": {"category": "pets"},
            "created_at": "2026-01-31T12:00:00-08:00",
            "expiration_date": "2027-01-31",
            "agent_id": "a",
        },
        {"text": "Drinks tea", "user_id": "ana", "created_at": 1_735_689_600},
    ]
}
KEYVALUE: dict[str, Any] = {"drink": "tea", "pets": {"cat": "Miso", "n": 2}, "l": ["a", 1, None]}
CHATGPT: list[Any] = [TALK, conversation([instructions("Ana", "Be brief")], name="c2")]
OPEN_WEBUI = [{"id": "m1", "user_id": "7f0c", "content": "Has a cat", "created_at": AT}]
ZEP = {"edges": [EDGE, MOVED], "episodes": EPISODES, "nodes": [{}]}
DOCUMENTS: list[Any] = [
    *(CHATGPT, CLAUDE, CLAUDE_MEMORIES, [CLAUDE_MEMORIES], MEM0, KEYVALUE),
    *(OPEN_WEBUI, ZEP, GRAPH, AGENT_FILE, json.dumps(AGENT_FILE)),
]
LINES = (
    "\n".join(json.dumps(one) for one in (*GRAPH, EDGE)),
    '{"content": "Has a cat", "type": "fact"}\n\n"tea"\n{"memory": "x", "user_id": 7}\n',
    "Has a cat\n# Food\n- [x] tea\n",
)
NAMES = (
    *("mapping", "parent", "message", "content", "parts", "author", "role", "create_time"),
    *("recipient", "conversation_id", "current_node", "title", "chat_messages", "uuid", "sender"),
    *("agents", "blocks", "label", "value", "tool_calls", "fact", "edges", "episodes", "type"),
    *("text", "memory", "results", "memories", "user_id", "categories", "metadata", "created_at"),
)
MARKDOWN = (
    "---\ntitle: x\n---\n# Pets #\n- Has a cat\n  called Miso\n\n* [x] done\n1) one\n",
    "Work\n----\n+ Nurse\n\n```\n- code\n```\n**Home:**\n- - -\n  - nested\n\t- deeper\n~~~~\n",
    "- a\r- b\r\n- c\n\n    goes on\n# \n__Bold__\n* * *\n1234567890. no\n",
)
SPOKEN = (
    "Ana: I drink tea.\nassistant: Noted.\nand so on\nBen Tan: hi\n10:30 at home\n",
    '[{"role": "user", "content": "tea", "at": "2026-01-31", "id": "m1"}]',
    '{"role": "user", "content": "tea"}\n{"role": "tool", "content": "1", "tool_calls": []}\n',
)
unnamed = st.sampled_from((Unnamed(None, None), Unnamed("user", None), Unnamed(None, "Ana")))


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return packed.getvalue()


def database() -> bytes:
    """The memories of Open WebUI as SQLite keeps them."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(WEBUI_TABLE)
        row = ("m1", "7f0c", "Has a cat", AT, AT)
        columns = "id, user_id, content, updated_at, created_at"
        connection.execute(f"INSERT INTO memory ({columns}) VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
        return connection.serialize()


ARCHIVES = [
    archive(
        {"conversations.json": as_json(document).encode(), "memories.json": b"{}", "x.html": b""},
        method,
    )
    for document in (CHATGPT, CLAUDE)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
]
contents = st.one_of(
    altered(DOCUMENTS, NAMES).map(lambda value: json.dumps(value).encode()),
    json_values(NAMES).map(lambda value: json.dumps(value).encode()),
    mutated([as_json(document) for document in DOCUMENTS]).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    ),
    mutated((*MARKDOWN, *LINES)).map(lambda text: well_formed(text).encode()),
    mutated_bytes([*ARCHIVES, database()]),
)


def check_members_fit(found: Any) -> None:
    """What an importer found can be stored as it is."""
    for one in found.memories:
        assert 0 < len(one.content) <= limits.MAX_CONTENT_CHARS
    for thread in found.threads:
        assert thread.turns


@FUZZ
@pytest.mark.parametrize("name", IMPORTERS)
@given(content=contents)
def test_a_file_is_found_to_hold_something_or_refused_by_its_name(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / "export"
    path.write_bytes(content)
    try:
        for found in IMPORTERS[name](path):
            check_members_fit(found)
    except ImportFailed as problem:
        assert str(problem).startswith(str(path))


@FUZZ
@given(contents)
def test_a_format_is_recognised_as_one_that_can_be_read_or_refused(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "export"
    path.write_bytes(content)
    with contextlib.suppress(ImportFailed):
        assert recognise(path) in IMPORTERS


def _whole(data: Any) -> Any:
    return list(data) if isinstance(data, foreign_files.Entries) else data


@FUZZ
@given(mutated_bytes(ARCHIVES))
def test_no_archive_unpacks_to_more_than_is_allowed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits, "MAX_IMPORT_FILE_BYTES", 1_000)
        with contextlib.suppress(ImportFailed):
            read = list(foreign_files.documents(path, ("conversations.json",)))
            texts = [as_json(_whole(document.data)) for document in read]
            assert sum(map(len, texts)) <= 2_000


@FUZZ
@given(mutated(MARKDOWN))
def test_every_block_of_markdown_says_what_stands_in_the_text(text: str) -> None:
    found = list(blocks(text))
    for block in found:
        if block.kind in (BlockKind.BULLET, BlockKind.PARAGRAPH):
            assert all(word in text for word in block.text.split())
    assert sum(len(block.text.split()) for block in found) <= len(text.split())


@FUZZ_SLOWLY
@given(content=contents)
def test_an_import_is_whole_or_nothing(file_store: Memory, tmp_path: Path, content: bytes) -> None:
    user = fresh_user(file_store)
    path = tmp_path / "export"
    path.write_bytes(content)
    try:
        user.import_file(path)
    except RicordoError:
        assert user.revision() == 0
        assert len(user.threads()) == 0
    with file_store.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@FUZZ_SLOWLY
@given(data=st.data())
def test_an_export_of_our_own_is_restored_or_refused_and_never_in_part(
    file_store: Memory, tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "ana.jsonl"
    if not path.exists():
        _written(file_store, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    row = data.draw(altered([json.loads(lines[at])], list(json.loads(lines[at]))))
    lines[at] = json.dumps(row)
    changed = data.draw(st.just("\n".join(lines)) | mutated(["\n".join(lines)]))
    user = fresh_user(file_store)
    other = tmp_path / "changed.jsonl"
    other.write_bytes(changed.encode("utf-8", "surrogatepass"))
    try:
        user.import_file(other, format="ricordo")
    except RicordoError:
        assert user.revision() == 0
        assert len(user.threads()) == 0
    with file_store.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def _written(memory: Memory, path: Path) -> None:
    ana = fresh_user(memory)
    first = ana.add("Drinks tea", theme="tastes", key="drink", tags=["a"]).id
    ana.add("Drinks coffee", supersedes=first)
    ana.observe([{"role": "user", "content": "I love jazz", "at": "2026-01-31"}], thread="t")
    ana.form("t")
    ana.save_checkpoint("t", {"a": [1, 2.5, None]})
    ana.export(path)


@FUZZ
@given(
    mutated(SPOKEN)
    | odd_texts
    | altered([json.loads(SPOKEN[1])], ("role", "at", "id")).map(as_json),
    unnamed,
)
def test_a_transcript_is_turns_or_refused(tmp_path: Path, text: str, who: Unnamed) -> None:
    path = tmp_path / "said.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        said = read_transcript(path, who)
    except ImportFailed as problem:
        assert str(problem).startswith(str(path))
        return
    assert said
    assert all(turn.content.strip() for turn in said)
