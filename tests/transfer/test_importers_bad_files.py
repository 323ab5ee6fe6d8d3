"""Files that no importer can read: damaged, hostile or of an unknown kind. Nothing is written."""

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import ImportFailed, Memory, UserMemory, limits
from ricordo.transfer.importers import IMPORTERS, recognise

CONVERSATIONS = json.dumps(
    [{"uuid": "c1", "chat_messages": [{"uuid": "m1", "sender": "human", "text": "Hello " * 99}]}]
)


@pytest.fixture
def ana(open_store: Callable[..., Memory], sqlite_url: str) -> UserMemory:
    return open_store(sqlite_url).user("ana")


def archive_of(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def refusal(ana: UserMemory, path: Path, format_name: str = "auto") -> str:
    """The message with which a file is refused; nothing of it is stored."""
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path, format=format_name)
    assert ana.revision() == 0
    assert len(ana.threads()) == 0
    assert str(path) in str(failed.value)
    return str(failed.value)


@pytest.mark.requirement("transfer.bad-files")
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


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize(
    "content", ["", "Just text.", "[]", "{}", "5", "null", '{"a": {"b": {"c": 1}}}', '[{"a": 1}]']
)
def test_an_unknown_kind_is_told_what_is_allowed(
    ana: UserMemory, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "some.data"
    path.write_text(content, encoding="utf-8")
    assert "allowed: mem0, chatgpt, claude, keyvalue, markdown" in refusal(ana, path)


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize("format_name", ["mem0", "chatgpt", "claude", "keyvalue"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"memory": "cut o', "not valid JSON (Unterminated string starting at: line 1"),
        (b"[" * 200_000, "not valid JSON (maximum recursion depth exceeded"),
        (b'{"a": ' * 200_000, "not valid JSON (maximum recursion depth exceeded"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not valid JSON (Exceeds the limit"),
        (b'{"a": NaN}', "not valid JSON (NaN is not a JSON number)"),
        (b'{"a": "caf\xe9"}', "not text in UTF-8 (byte 10)"),
        (b"\xff\xfe[\x00]\x00", "not text in UTF-8 (byte 0)"),
    ],
)
def test_what_is_not_json_is_refused(
    ana: UserMemory, tmp_path: Path, format_name: str, content: bytes, message: str
) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(content)
    assert message in refusal(ana, path, format_name)
    assert message in refusal(ana, path)


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize("format_name", IMPORTERS)
def test_a_missing_file_is_refused(ana: UserMemory, tmp_path: Path, format_name: str) -> None:
    path = tmp_path / "none.json"
    assert "cannot be read" in refusal(ana, path, format_name)
    with pytest.raises(ImportFailed, match="cannot be read"):
        IMPORTERS[format_name](path)
    with pytest.raises(ImportFailed, match="cannot be read"):
        IMPORTERS[format_name](tmp_path)


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize("format_name", ["chatgpt", "claude", "auto"])
def test_a_damaged_archive_is_refused(ana: UserMemory, tmp_path: Path, format_name: str) -> None:
    path = archive_of(tmp_path / "export.zip", {"conversations.json": CONVERSATIONS})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "not a readable zip archive" in refusal(ana, path, format_name)
    data_start = whole.index(b"conversations.json") + len("conversations.json")
    path.write_bytes(whole[:data_start] + b"\xff" * 8 + whole[data_start + 8 :])
    assert "conversations.json: cannot be unpacked" in refusal(ana, path, format_name)


@pytest.mark.requirement("transfer.bad-files")
def test_an_encrypted_archive_is_refused(ana: UserMemory, tmp_path: Path) -> None:
    path = archive_of(tmp_path / "export.zip", {"conversations.json": CONVERSATIONS})
    raw = bytearray(path.read_bytes())
    for signature, flags_at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(signature) + flags_at] |= 1
    path.write_bytes(bytes(raw))
    assert "cannot be unpacked (File" in refusal(ana, path)


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "the archive holds no conversations-*.json or conversations.json"),
        ({"word/document.xml": "<x/>"}, "the archive holds no conversations-*.json"),
        ({"conversations.json/": ""}, "the archive holds no conversations-*.json"),
        ({"conversations.json": "[]"}, "an archive of an unknown kind"),
        ({"conversations.json": '{"a": 1}'}, "an archive of an unknown kind"),
        ({"conversations.json": "[1"}, "conversations.json: not valid JSON"),
        ({"conversations.json": b"\xff"}, "conversations.json: not text in UTF-8"),
    ],
)
def test_an_archive_of_something_else_is_refused(
    ana: UserMemory, tmp_path: Path, members: dict[str, str | bytes], message: str
) -> None:
    path = archive_of(tmp_path / "export.zip", members)
    told = refusal(ana, path)
    assert message in told
    assert "allowed: mem0, chatgpt, claude, keyvalue, markdown" in told


@pytest.mark.requirement("transfer.bad-files")
def test_an_archive_that_unpacks_to_too_much_is_refused(
    ana: UserMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_IMPORT_FILE_BYTES", 10_000)
    padding = " " * 6_000
    parts = {f"conversations-00{number}.json": f"[{padding}]" for number in (0, 1)}
    path = archive_of(tmp_path / "export.zip", {**parts, "chat.html": "x" * 50_000})
    assert path.stat().st_size < 10_000
    assert "larger than 10000 bytes" in refusal(ana, path, "chatgpt")


@pytest.mark.requirement("transfer.bad-files")
def test_an_archive_that_lies_about_its_size_is_refused(ana: UserMemory, tmp_path: Path) -> None:
    path = archive_of(tmp_path / "export.zip", {"conversations.json": CONVERSATIONS})
    raw = bytearray(path.read_bytes())
    declared_at = raw.index(b"PK\x01\x02") + 24
    raw[declared_at : declared_at + 4] = struct.pack("<I", 10)
    path.write_bytes(bytes(raw))
    assert "conversations.json: cannot be unpacked" in refusal(ana, path)


@pytest.mark.requirement("transfer.bad-files")
def test_a_file_that_grew_after_it_was_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.md"
    path.write_text("- Has a cat\n" * 100)
    monkeypatch.setattr(limits, "MAX_IMPORT_FILE_BYTES", 1_000)
    with pytest.raises(ImportFailed, match="larger than 1000 bytes"):
        IMPORTERS["markdown"](path)
