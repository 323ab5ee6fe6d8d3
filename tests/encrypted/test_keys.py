"""What a key does, and what happens without it or with another one."""

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import DatabaseKeyMismatch, InvalidValue, Memory, StorageCorrupt, StorageUnavailable
from ricordo.storage.sqlite.connection import DatabaseKey
from ricordo.wiring import open_memory, read_settings
from tests.encrypted.conftest import KEY
from tests.support import processes

pytestmark = pytest.mark.requirement("security.encryption")
MARKER = "quokkas-and-marmalade"


def opened(path: str | Path, **settings: str) -> Memory:
    return open_memory(path, run_jobs=False, embedding_provider="none", **settings)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_nothing_that_was_said_is_in_any_file(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    memory = open_store(sqlite_url)
    ana = memory.user(MARKER, agent=f"{MARKER}-agent")
    ana.add_many([f"{MARKER} {number} " + "x" * number for number in range(60)])
    ana.observe([{"role": "user", "content": f"I love {MARKER}"}], thread=f"{MARKER}-thread")
    ana.save_checkpoint("t", {"state": MARKER})
    ana.form()
    assert ana.search(MARKER).results
    assert Path(f"{sqlite_url}-wal").stat().st_size > 20_000
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        sqlite3.connect(sqlite_url).execute("SELECT 1 FROM sqlite_schema")
    written = bytes_of(tmp_path)
    for kept in (MARKER.encode(), MARKER.encode("utf-16-le"), b"SQLite format 3", b"CREATE TABLE"):
        assert kept not in written
    memory.close()
    assert MARKER.encode() not in bytes_of(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        'a\'; DROP TABLE "items"; --\0b ключ 🗝',
        *(pytest.param(key, marks=pytest.mark.slow) for key in ("x'00'", "\0", " ", "k" * 10_000)),
    ],
    ids=["odd", "hex", "nul", "space", "long"],
)
def test_any_text_is_a_key(key: str, tmp_path: Path) -> None:
    path = tmp_path / "any.db"
    with opened(path, database_key=key) as memory:
        memory.user("ana").add(MARKER)
    with opened(path, database_key=key) as memory:
        assert [item.content for item in memory.user("ana").list()] == [MARKER]
    with pytest.raises(DatabaseKeyMismatch):
        open_memory(path, database_key=key.removesuffix(key[-1]) or "other")


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("key", "said"),
    [
        (None, r"ricordo\.db: the database is encrypted, and no key is set"),
        ("another", r"ricordo\.db: the database is encrypted with another key"),
    ],
)
def test_another_key_changes_nothing_also_after_a_crash(
    key: str | None,
    said: str,
    sqlite_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What a killed process has acknowledged is still in the log, which others must not touch."""
    acknowledged = processes.killed_writer(sqlite_url, 0, 30)
    before = Path(sqlite_url).stat().st_size
    monkeypatch.delenv("RICORDO_DATABASE_KEY")
    for _ in range(2):
        with pytest.raises(DatabaseKeyMismatch, match=said) as caught:
            open_memory(sqlite_url, **({} if key is None else {"database_key": key}))
        assert KEY not in str(caught.value)
        assert "another'" not in str(caught.value)
    assert Path(sqlite_url).stat().st_size >= before
    assert capfd.readouterr() == ("", "")
    with opened(sqlite_url, database_key=KEY) as memory:
        for line in acknowledged:
            if line[0] == "added":
                assert memory.user("ana").get(int(line[1])).content == f"Statement {line[2]}"
        assert memory.database.backend.check() == []


def test_a_key_for_a_file_that_is_not_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    with opened(path) as memory:
        memory.user("ana").add(MARKER)
    before = path.read_bytes()
    with pytest.raises(DatabaseKeyMismatch, match=r"not encrypted, but a key is set"):
        open_memory(path, database_key="new")
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ["plain.db"]


def test_one_process_opens_a_file_in_one_way(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add(MARKER)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RICORDO_DATABASE_KEY")
        with pytest.raises(DatabaseKeyMismatch, match="this process has it open with a key"):
            open_memory(sqlite_url)
        link = tmp_path / "link.db"
        link.symlink_to(sqlite_url)
        with pytest.raises(DatabaseKeyMismatch, match="this process has it open with a key"):
            open_memory(link)


def test_a_plain_file_with_a_damaged_start_is_not_taken_for_an_encrypted_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "plain.db"
    opened(path).close()
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)
    with pytest.raises(StorageCorrupt, match="not a SQLite database"):
        open_memory(path)


@pytest.mark.chaos
def test_processes_that_make_the_same_new_file_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would begin it with a salt of its own; one of them wins, the others take its."""
    monkeypatch.setenv("RICORDO_DATABASE_KEY", KEY)
    running = [processes.start("open_new", tmp_path / "new.db") for _ in range(4)]
    for process in running:
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, out, errors) == (0, "0\n", "")


def test_the_key_may_stand_in_a_file(sqlite_url: str, tmp_path: Path) -> None:
    with opened(sqlite_url) as memory:
        memory.user("ana").add(MARKER)
    file = tmp_path / "key.txt"
    file.write_text(f"{KEY}\nanything else\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        with pytest.raises(InvalidValue, match="give it or database_key, not both"):
            open_memory(sqlite_url, database_key_file=file)
        patch.delenv("RICORDO_DATABASE_KEY")
        patch.setenv("RICORDO_DATABASE_KEY_FILE", str(file))
        with opened(sqlite_url) as memory:
            assert [item.content for item in memory.user("ana").list()] == [MARKER]
        for content, said in ((b"", "first line is empty"), (b"\xff", "is not a text file")):
            file.write_bytes(content)
            with pytest.raises(InvalidValue, match=said):
                open_memory(sqlite_url)
        file.unlink()
        with pytest.raises(InvalidValue, match="No such file"):
            open_memory(sqlite_url)


def test_a_key_is_not_shown(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(sqlite_url)
    backend = memory.database.backend
    for shown in (memory.settings, DatabaseKey(KEY), backend, vars(backend), backend.location):
        assert "key; " not in repr(shown)
        assert "key; " not in str(shown)
    assert "key; " not in read_settings(os.environ, {}).model_dump_json()


def test_what_is_no_key(tmp_path: Path) -> None:
    for key in ("", "\ud800"):
        with pytest.raises(InvalidValue, match="setting database_key"):
            open_memory(tmp_path / "new.db", database_key=key)
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(InvalidValue, match="is for SQLite files: have the server's disk encrypted"):
        open_memory("postgresql://127.0.0.1:1/nothing", database_key="k")


def test_without_the_driver_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    with pytest.raises(StorageUnavailable, match=r"pip install 'ricordo\[encrypted\]'"):
        open_memory(tmp_path / "new.db", database_key="k")
    assert not (tmp_path / "new.db").exists()
