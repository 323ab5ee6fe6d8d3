"""Files that no importer can read: damaged, hostile or of an unknown kind. Nothing is written."""

import struct
from pathlib import Path
from typing import Any

import pytest

from ricordo import ImportFailed, UserMemory, limits
from ricordo.transfer.imports import IMPORTERS, recognise
from tests.transfer import test_importers_chatgpt as chatgpt
from tests.transfer import test_importers_claude as claude
from tests.transfer.conftest import Write, Zip
from tests.transfer.test_importers_lists import CAT, TEA

pytestmark = pytest.mark.requirement("transfer.bad-files")

CONVERSATIONS = [
    {"uuid": "c1", "chat_messages": [{"uuid": "m1", "sender": "human", "text": "Hello " * 99}]}
]
GOOD = chatgpt.conversation([chatgpt.said("user", "Hello")])
TALK = claude.TALK


def refusal(ana: UserMemory, path: Path, format_name: str = "auto") -> str:
    """The message with which a file is refused; nothing of it is stored."""
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path, format=format_name)
    assert ana.revision() == 0
    assert len(ana.threads()) == 0
    assert str(path) in str(failed.value)
    return str(failed.value)


WRONG: dict[str, list[tuple[Any, str]]] = {
    "chatgpt": [
        ({"mapping": {}}, "expected a list, got an object"),
        ([GOOD, 5], "conversation 2: expected an object, got a number"),
        ([GOOD, {**GOOD, "mapping": None}], "conversation 2, 'mapping': expected an object"),
        ([GOOD, {**GOOD, "conversation_id": None, "id": ""}], "conversation 2: no usable"),
        ([{**GOOD, "id": "x" * 300, "conversation_id": None}], "conversation 1: no usable"),
        ([{**GOOD, "current_node": "gone"}], "'current_node' names none of its messages"),
        ([{**GOOD, "current_node": ["c1-m1"]}], "'current_node' names none of its messages"),
        ([{**GOOD, "mapping": {"c1-m1": "text"}}], "message 'c1-m1': expected an object, got text"),
        ([{**GOOD, "mapping": {"c1-m1": {"parent": "c1-m1"}}}], "is its own ancestor"),
    ],
    "claude": [
        ({"chat_messages": []}, "expected a list, got an object"),
        ([TALK, None], "conversation 2: expected an object, got null"),
        ([TALK, {**TALK, "uuid": ""}], "conversation 2: no usable 'uuid'"),
        ([TALK, {**TALK, "uuid": 7}], "conversation 2: no usable 'uuid'"),
        ([{**TALK, "chat_messages": "none"}], "conversation 1, 'chat_messages': expected a list"),
        (
            [claude.conversation([True])],
            "conversation 1, message 1: expected an object, got true or",
        ),
        ([claude.REMEMBERED, 1], "account 2: expected an object, got a number"),
        ({"conversations_memory": 1}, "account 1, 'conversations_memory': expected text"),
        ({"project_memories": {"p1": []}}, "'project_memories': expected text, got a list"),
        ({"memory_files": [{"path": "/a.md"}]}, "'memory_files': expected text, got null"),
    ],
    "mem0": [
        ([TEA, {**CAT, "user_id": "ben-7"}], "memories of 2 users (ana-42, ben-7); choose one"),
        ([{"memory": "x", "user_id": n} for n in range(7)], "(0, 1, 2, 3, 4 and 2 more)"),
        ([TEA, "text"], "memory 2: expected an object, got text"),
        ([TEA, {"id": "2", "metadata": {}}], "memory 2: no text under 'memory', 'text', 'data'"),
        ([TEA, {"memory": ["list"]}], "memory 2, 'memory': expected text, got a list"),
        ({"results": {"id": "1"}}, "'results': expected a list, got an object"),
        ({"answer": [TEA]}, "an object without 'results' or 'memories'"),
        ("text", "expected a list, got text"),
    ],
    "keyvalue": [
        (["a", "b"], "expected an object, got a list"),
        ({"a": "x", "work": {"team": {"lead": "ben"}}}, "'work', 'team': expected text, a number"),
        ({"a": [["nested"]]}, "'a': expected text, a number"),
        ({"a": {"b": [None]}}, "'a', 'b': expected text, a number"),
    ],
}


@pytest.mark.parametrize("format_name", WRONG)
def test_a_wrong_file_says_where(ana: UserMemory, exported: Write, format_name: str) -> None:
    for data, message in WRONG[format_name]:
        assert message in refusal(ana, exported(data), format_name)


def test_text_that_is_no_markdown_is_refused(ana: UserMemory, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    for text, message in (
        (b"", "no Markdown bullets"),
        (b"Just text.\n\n    and more", "no Markdown bullets"),
        (b"```\n- only code\n```", "no Markdown bullets"),
        (b"- caf\xe9", "not text in UTF-8 (byte 5)"),
    ):
        path.write_bytes(text)
        assert message in refusal(ana, path, "markdown")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"mapping": {}}]', "chatgpt"),
        ('\ufeff[{"chat_messages": []}]', "claude"),
        ('{"conversations_memory": "Has a cat"}', "claude"),
        ('{"results": []}', "mem0"),
        ('[{"memory": "Has a cat"}]', "mem0"),
        ('{"memories": ["Has a cat"]}', "keyvalue"),
        ('{"pets": {"cat": "Miso"}}', "keyvalue"),
        ("[a link](x)\n\n* Has a cat", "markdown"),
    ],
)
def test_a_format_is_recognised_by_what_is_in_the_file(
    tmp_path: Path, content: str, expected: str
) -> None:
    path = tmp_path / "some.data"
    path.write_text(content, encoding="utf-8")
    assert recognise(path) == expected


def test_an_unknown_kind_is_told_what_is_allowed(ana: UserMemory, tmp_path: Path) -> None:
    path = tmp_path / "some.data"
    for content in (
        "",
        "<html>",
        "\0text",
        "[]",
        "{}",
        "5",
        '{"a": {"b": {"c": 1}}}',
        '[{"a": 1}]',
    ):
        path.write_text(content, encoding="utf-8")
        assert f"allowed: {', '.join(IMPORTERS)}" in refusal(ana, path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"memory": "cut o', "not valid JSON (Unterminated string starting at: line 1"),
        (b"[" * 200_000, "nested more than 500 deep"),
        (b'{"a": ' * 200_000, "nested more than 500 deep"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not valid JSON (Exceeds the limit"),
        (b'{"a": NaN}', "not valid JSON (NaN is not a JSON number)"),
        (b'{"a": "caf\xe9"}', "not text in UTF-8 (byte 10)"),
        (b"\xff\xfe[\x00]\x00", "not text in UTF-8 (byte 0)"),
    ],
)
def test_what_is_not_json_is_refused(
    ana: UserMemory, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(content)
    for format_name in ("mem0", "chatgpt", "claude", "auto"):
        assert message in refusal(ana, path, format_name)
    told = refusal(ana, path, "keyvalue")
    assert message in told or "expected an object, got a list" in told


@pytest.mark.parametrize("after", [b"", b'\n{"a": 1}'])
def test_a_long_string_without_an_end_is_read_once(
    ana: UserMemory, tmp_path: Path, after: bytes
) -> None:
    path = tmp_path / "export.json"
    lists = b"[" * 300 + b"]" * 300 + b", " + b"[" * 300 + b"]" * 300
    path.write_bytes(b'{"a": [' + lists + b'], "b": "' + b"x" * 4_000_000 + after)
    assert "not valid JSON" in refusal(ana, path)  # from each of its bytes on, that takes hours


def test_a_missing_file_is_refused(ana: UserMemory, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for format_name, read in IMPORTERS.items():
        assert "cannot be read" in refusal(ana, tmp_path / "none.json", format_name)
        with pytest.raises(ImportFailed, match="can(not)? be read"):
            list(read(folder))


def test_a_damaged_archive_is_refused(ana: UserMemory, zipped: Zip) -> None:
    path = zipped({"conversations.json": CONVERSATIONS})
    whole = path.read_bytes()
    data_start = whole.index(b"conversations.json") + len("conversations.json")
    torn = whole[: len(whole) // 2]
    changed = whole[:data_start] + b"\xff" * 8 + whole[data_start + 8 :]
    for format_name in ("chatgpt", "claude", "auto"):
        path.write_bytes(torn)
        assert "not a readable zip archive" in refusal(ana, path, format_name)
        path.write_bytes(changed)
        assert "conversations.json: cannot be unpacked" in refusal(ana, path, format_name)


def test_an_encrypted_archive_or_one_that_lies_about_its_size_is_refused(
    ana: UserMemory, zipped: Zip
) -> None:
    path = zipped({"conversations.json": CONVERSATIONS})
    whole = path.read_bytes()
    encrypted = bytearray(whole)
    for signature, flags_at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[whole.index(signature) + flags_at] |= 1
    path.write_bytes(encrypted)
    assert "cannot be unpacked (File" in refusal(ana, path)
    lying = bytearray(whole)
    declared_at = whole.index(b"PK\x01\x02") + 24
    lying[declared_at : declared_at + 4] = struct.pack("<I", 10)
    path.write_bytes(lying)
    assert "conversations.json: cannot be unpacked" in refusal(ana, path)


def test_an_archive_of_something_else_is_refused(ana: UserMemory, zipped: Zip) -> None:
    for members, message in (
        ({}, "the archive holds no conversations-*.json or conversations.json"),
        ({"word/document.xml": b"<x/>"}, "word/document.xml: not valid JSON"),
        ({"conversations.json/": b""}, "the archive holds no conversations-*.json"),
        ({"conversations.json": []}, "an archive of an unknown kind"),
        ({"conversations.json": {"a": 1}}, "an archive of an unknown kind"),
        ({"conversations.json": b"[1"}, "conversations.json: not valid JSON"),
        ({"conversations.json": b"\xff"}, "conversations.json: not text in UTF-8"),
    ):
        told = refusal(ana, zipped(members))
        assert message in told
        assert f"allowed: {', '.join(IMPORTERS)}" in told


def test_an_archive_that_unpacks_to_too_much_is_refused(
    ana: UserMemory, zipped: Zip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_IMPORT_FILE_BYTES", 10_000)
    part = b"[" + b" " * 6_000 + b"]"
    parts = {f"conversations-00{number}.json": part for number in (0, 1)}
    path = zipped({**parts, "chat.html": b"x" * 50_000})
    assert path.stat().st_size < 10_000
    assert "larger than 10000 bytes" in refusal(ana, path, "chatgpt")


def test_a_file_that_grew_after_it_was_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.md"
    path.write_text("- Has a cat\n" * 100)
    monkeypatch.setattr(limits, "MAX_IMPORT_FILE_BYTES", 1_000)
    with pytest.raises(ImportFailed, match="larger than 1000 bytes"):
        list(IMPORTERS["markdown"](path))
