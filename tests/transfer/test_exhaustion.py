"""Files that are small and want much: memory, depth, time. A limit refuses them by its name."""

import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import ImportFailed, Memory, UserMemory, limits
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.transfer import foreign_files
from ricordo.transfer.imports import IMPORTERS
from tests.transfer import test_importers_chatgpt as chatgpt

pytestmark = pytest.mark.requirement("transfer.bounded")

MIB = 1024 * 1024
AT = "2026-01-31T12:00:00Z"
BOMBS: dict[str, bytes] = {
    "empty lists": b"[[" + b"[]," * 30_000 + b"[]]]",
    "empty objects": b"[[" + b"{}," * 30_000 + b"{}]]",
    "numbers": b"[[" + b"1," * 30_000 + b"1]]",
    "empty lists, none around them": b"[" + b"[]," * 30_000 + b"[]]",
    "in an object": b'{"a":[' + b"[]," * 30_000 + b"[]]}",
    "keys": b'{"a":{' + b",".join(b'"%d":1' % one for one in range(8_000)) + b"}}",
    "deep lists": b"[" * 30_000,
    "deep objects": b'{"a":' * 10_000,
    "deep and closed": b"[" * 700 + b"]" * 700,
    "a long text": b'["' + b"a" * 400_000 + b'"]',
    "blanks": b"[" + b" " * 400_000 + b"]",
}


def lines(*rows: dict[str, Any]) -> str:
    head, end = {"kind": "ricordo", "version": 1}, {"kind": "end", "rows": len(rows)}
    return "\n".join(json.dumps(row) for row in (head, *rows, end)) + "\n"


def user_row(revision: int) -> dict[str, Any]:
    times = {"created_at": AT, "updated_at": AT}
    return {"kind": "user", "user_id": "ana", "revision": revision, **times}


def thread_row(turn_count: int) -> dict[str, Any]:
    return {
        "kind": "thread",
        "user_id": "ana",
        "thread_id": "t",
        "title": None,
        "turn_count": turn_count,
        "created_at": AT,
        "updated_at": AT,
    }


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """The most memory that Python had at once, since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def refusal(ana: UserMemory, path: Path, format_name: str = "auto") -> str:
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path, format=format_name)
    assert ana.revision() == 0
    assert len(ana.threads()) == 0
    return str(failed.value)


@pytest.mark.parametrize("number", [2_000_000, 10**12])
def test_a_number_in_a_file_makes_nothing_of_its_size(
    ana: UserMemory, tmp_path: Path, peak: Callable[[], int], number: int
) -> None:
    path = tmp_path / "ana.jsonl"
    path.write_text(lines(user_row(number)))
    assert f"history is not the revisions 1 to {number}" in refusal(ana, path)
    turns = min(number, 2**31 - 1)
    path.write_text(lines(user_row(0), thread_row(turns)))
    assert "the turns of thread 't' are not 1 to its turn_count" in refusal(ana, path)
    assert peak() < 16 * MIB


@pytest.mark.parametrize("name", BOMBS)
def test_json_of_many_values_is_refused_before_they_are_made(
    ana: UserMemory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    peak: Callable[[], int],
    name: str,
) -> None:
    monkeypatch.setattr(limits, "MAX_IMPORT_ENTRY_BYTES", 100_000)
    monkeypatch.setattr(foreign_files, "_CHUNK_BYTES", 16_384)
    monkeypatch.setattr(limits, "MAX_IMPORT_ENTRY_VALUES", 5_000)
    monkeypatch.setattr(limits, "MAX_IMPORTED_ENTRIES", 500)
    path = tmp_path / "export.json"
    path.write_bytes(BOMBS[name])
    refusal(ana, path)  # what is imported the first time
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    for format_name in ("auto", "mem0", "chatgpt", "claude", "keyvalue"):
        refusal(ana, path, format_name)
    assert peak() - before < 1.5 * MIB


@pytest.mark.parametrize(
    ("content", "limit"),
    [
        (b'[{"mapping":[' + b"1," * 500_001 + b"1]}]", "entry 1: more than 500000 values"),
        (b'[{"mapping":' + b"[" * 600, "nested more than 500 deep"),
        (b'[{"mapping":"' + b"a" * (33 * MIB), "larger than 33554432 bytes"),
        (b'[{"mapping":1e400}]', "1e400 is larger than a number can be"),
        (b'[{"mapping":' + b"9" * 5_000 + b"}]", "Exceeds the limit"),
    ],
)
def test_a_refusal_says_what_is_allowed(
    ana: UserMemory, tmp_path: Path, content: bytes, limit: str
) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(content)
    assert limit in refusal(ana, path, "chatgpt")


def test_an_archive_may_not_unpack_to_many_times_its_size(
    ana: UserMemory, tmp_path: Path, peak: Callable[[], int]
) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[[" + b"[]," * 1_000_000 + b"[]]]")
    for format_name in ("auto", "chatgpt", "claude"):
        told = refusal(ana, path, format_name)
        assert "more than 100 times its size" in told
    assert peak() < 64 * MIB


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_that_cannot_be_bounded_are_refused(
    ana: UserMemory, tmp_path: Path, peak: Callable[[], int], method: int
) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (20 * MIB) + b"]")
    whole = bytearray(path.read_bytes())
    at = whole.index(b"PK\x01\x02") + 24  # it says that it is small
    whole[at : at + 4] = (2_000).to_bytes(4, "little")
    path.write_bytes(whole)
    tracemalloc.reset_peak()
    assert "packed in a way that is not read; allowed: deflate" in refusal(ana, path)
    assert peak() < 32 * MIB


def test_an_archive_with_a_large_directory_is_refused(
    ana: UserMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_ARCHIVE_DIRECTORY_BYTES", 100_000)
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2_000):
            archive.writestr(f"{number:030}", b"")
    assert "directory is larger than 100000 bytes" in refusal(ana, path)


def conversations(count: int) -> Iterator[bytes]:
    """A long export, piece by piece."""
    yield b"["
    for number in range(count):
        said = [chatgpt.said("user", f"{number} " + "word " * 2_000)]
        entry = chatgpt.conversation(said, name=f"c{number}")
        yield json.dumps(entry).encode() + (b"," if number + 1 < count else b"]")


def test_reading_takes_as_much_memory_as_an_entry_not_as_the_file(
    tmp_path: Path, peak: Callable[[], int]
) -> None:
    path = tmp_path / "conversations.json"
    with path.open("wb") as file:
        file.writelines(conversations(400))
    assert path.stat().st_size > 3.8 * MIB
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert sum(len(piece.threads) for piece in IMPORTERS["chatgpt"](path)) == 400
    assert peak() - before < 2 * MIB


@pytest.mark.slow
@pytest.mark.parametrize("text", [b"- a\n", b"ab\n", b"\n", b"```\n", b"# h\n- b\n"])
def test_markdown_takes_as_much_memory_as_its_text(
    tmp_path: Path, peak: Callable[[], int], text: bytes
) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(b"- Has a cat\n" + text * (MIB // 32 // len(text)))
    list(IMPORTERS["markdown"](path))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    for piece in IMPORTERS["markdown"](path):
        assert len(piece.memories) <= limits.WRITE_BATCH_ITEMS
    assert peak() - before < 2 * MIB


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("MAX_IMPORTED_MEMORIES", 3, "more than 3 memories"),
        ("MAX_IMPORTED_ENTRIES", 3, "more than 3 entries"),
        ("MAX_IMPORT_ENTRY_VALUES", 2, "entry 1: more than 2 values"),
    ],
)
def test_a_file_has_no_more_than_is_allowed(
    ana: UserMemory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: int,
    told: str,
) -> None:
    monkeypatch.setattr(limits, name, value)
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps([{"memory": f"Has {n} cats", "user_id": "ana"} for n in range(4)]))
    assert told in refusal(ana, path, "mem0")


def test_conversations_have_no_more_turns_than_is_allowed(
    ana: UserMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_IMPORTED_TURNS", 3)
    path = tmp_path / "conversations.json"
    path.write_bytes(b"".join(conversations(4)))
    assert "more than 3 turns" in refusal(ana, path, "chatgpt")


@pytest.mark.parametrize(
    ("name", "most", "told"),
    [
        ("MAX_IMPORTED_ROWS", 2, "line 4: more than 2 rows or 536870912 bytes of one user"),
        ("MAX_IMPORTED_ROWS_BYTES", 300, "line 4: more than 1000000 rows or 300 bytes of one user"),
        ("MAX_IMPORT_ENTRY_VALUES", 8, "line 2: more than 8 values"),
        ("MAX_IMPORT_DEPTH", 2, "line 2: nested more than 2 deep"),
    ],
)
def test_a_line_of_our_own_has_the_same_bounds(
    ana: UserMemory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    most: int,
    told: str,
) -> None:
    path = tmp_path / "ana.jsonl"
    path.write_text(lines({**user_row(0), "x": [[[1]]]}, thread_row(0), thread_row(0)))
    if name.startswith("MAX_IMPORTED_ROWS"):
        path.write_text(lines(user_row(0), thread_row(0), thread_row(0)))
    monkeypatch.setattr(limits, name, most)
    assert told in refusal(ana, path, "ricordo")


def test_an_export_of_ours_takes_as_much_memory_as_a_batch_not_as_the_file(
    ana: UserMemory, tmp_path: Path, peak: Callable[[], int]
) -> None:
    turn = {
        "kind": "turn",
        "user_id": "ana",
        "thread_id": "t",
        "message_id": None,
        "at": AT,
        "role": "user",
        "actor": None,
        "tool_calls": None,
        "observed_by": None,
        "ended_at": None,
    }
    said = [
        {**turn, "id": n, "position": n, "content": f"{n} " + "word " * 2_000}
        for n in range(1, 801)
    ]
    path = tmp_path / "ana.jsonl"
    path.write_text(lines(user_row(0), thread_row(801), *said))
    assert path.stat().st_size > 7 * MIB
    said.clear()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert "are not 1 to its turn_count" in refusal(ana, path)
    assert peak() - before < 4 * MIB
    assert [left.name for left in tmp_path.glob(".*draft*")] == []


def test_the_draft_of_a_killed_import_is_removed_by_the_next(
    ana: UserMemory, tmp_path: Path
) -> None:
    backend = ana.database.backend
    assert isinstance(backend, SqliteBackend)
    left = backend.path.with_name(f".{backend.path.name}.0a.ricordo-draft")
    left.write_text("- Has a cat")
    path = tmp_path / "notes.md"
    path.write_text("- Has a dog\n")
    assert ana.import_file(path).added == 1
    assert not left.exists()


def test_an_export_of_many_users_is_not_held_to_be_refused(
    ana: UserMemory, tmp_path: Path, peak: Callable[[], int]
) -> None:
    path = tmp_path / "all.jsonl"
    rows = [{**user_row(0), "user_id": f"u{number}"} for number in range(500)]
    path.write_text(lines(*rows))
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    assert "holds 500 users; one user's import takes a file of one" in refusal(ana, path)
    assert peak() - before < MIB


@pytest.mark.both_databases
def test_what_is_refused_late_leaves_nothing(memory: Memory, tmp_path: Path) -> None:
    """Everything is checked before the first write, however large the file."""
    ana = memory.user("ana")
    good = [{"memory": f"Has {n} cats", "user_id": "ana"} for n in range(1_100)]
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(good)[:-1] + ', {"memory": 5}]')
    assert "memory 1101, 'memory': expected text" in refusal(ana, path)
    path.write_text(json.dumps(good) + "x")
    assert "not valid JSON" in refusal(ana, path)
    path.write_text(json.dumps(good))
    assert ana.import_file(path).added == 1_100
