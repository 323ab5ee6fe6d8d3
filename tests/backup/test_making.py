"""Making backups: one sound and private file, or none."""

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import ricordo
from ricordo import InvalidValue, Memory, StorageReadOnly
from ricordo.errors import FilesUnavailable
from ricordo.storage.migration import HEAD
from ricordo.transfer import backup
from ricordo.version import __version__


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.requirement("backup.online")
@pytest.mark.requirement("backup.verified")
def test_a_backup_is_one_private_file_that_says_what_is_in_it(
    owned: Memory, backup_path: Path
) -> None:
    owned.user("ana").add("Prefers tea to coffee")
    owned.user("ben").observe([{"role": "user", "content": "Hello"}], thread="t")
    before = os.umask(0)
    try:
        made = owned.backup(backup_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(backup_path.stat().st_mode) == 0o600
    assert (made.path, made.version, made.schema) == (str(backup_path), __version__, HEAD)
    assert made.database == owned.database.backend.name
    assert made.made_at == owned.database.clock()
    assert made.size_bytes == backup_path.stat().st_size
    assert (made.rows["items"], made.rows["turns"], made.rows["users"]) == (1, 1, 2)
    assert "secret.key" in made.left_out[0]
    with closing(sqlite3.connect(backup_path)) as file:  # SQLite alone can read it
        assert file.execute("SELECT content FROM items").fetchall() == [("Prefers tea to coffee",)]
        assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert file.execute("SELECT count(*) FROM item_fts").fetchone() == (1,)
    held = backup_path.read_bytes(), backup_path.stat().st_mtime_ns
    backup_path.chmod(0o400)
    backup_path.parent.chmod(0o500)
    try:
        assert ricordo.check_backup(backup_path) == made
    finally:
        backup_path.parent.chmod(0o700)
    assert (backup_path.read_bytes(), backup_path.stat().st_mtime_ns) == held
    with pytest.raises(StorageReadOnly, match="is a backup"):
        ricordo.open(backup_path, run_jobs=False)
    assert ricordo.check_backup(backup_path) == made
    assert names_in(backup_path.parent) == [backup_path.name]


@pytest.mark.requirement("backup.verified")
def test_a_file_is_replaced_only_when_asked_to(owned: Memory, backup_path: Path) -> None:
    backup_path.write_text("something of mine")
    with pytest.raises(InvalidValue, match="exists already"):
        owned.backup(backup_path)
    assert backup_path.read_text() == "something of mine"
    owned.backup(backup_path, force=True)
    assert ricordo.check_backup(backup_path).rows["items"] == 0
    assert names_in(backup_path.parent) == [backup_path.name]


@pytest.mark.requirement("backup.verified")
def test_a_name_that_is_taken_meanwhile_is_not_replaced(
    owned: Memory, backup_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = backup._sealed

    def taken_first(*given: object) -> object:
        backup_path.write_text("something of mine")
        return sealed(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(backup, "_sealed", taken_first)
    with pytest.raises(InvalidValue, match="exists already"):
        owned.backup(backup_path)
    assert backup_path.read_text() == "something of mine"


@pytest.mark.requirement("backup.verified")
def test_what_is_no_file_is_never_replaced(owned: Memory, backup_path: Path) -> None:
    backup_path.mkdir()
    for force in (False, True):
        with pytest.raises(InvalidValue, match="not an ordinary file"):
            owned.backup(backup_path, force=force)
        with pytest.raises(FilesUnavailable, match="No such file or directory"):
            owned.backup(backup_path / "not" / "there", force=force)
    assert names_in(backup_path.parent) == [backup_path.name]


@pytest.mark.requirement("backup.verified")
def test_what_a_killed_process_left_is_removed_the_next_time(
    owned: Memory, backup_path: Path
) -> None:
    left = backup_path.with_name(f".{backup_path.name}.0123456789abcdef.ricordo-draft")
    left.write_bytes(b"half")
    left.with_name(f"{left.name}-journal").write_bytes(b"half")
    foreign = backup_path.with_name(".other.backup.0123456789abcdef.ricordo-draft")
    foreign.write_bytes(b"another's")
    owned.backup(backup_path)
    assert names_in(backup_path.parent) == sorted([foreign.name, backup_path.name])


@pytest.mark.requirement("backup.verified")
def test_two_backups_of_one_name_do_not_take_each_others_drafts(
    owned: Memory, backup_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = backup._sealed

    def beside_another(*given: object) -> object:
        monkeypatch.setattr(backup, "_sealed", sealed)
        owned.backup(backup_path, force=True)
        return sealed(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(backup, "_sealed", beside_another)
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path, force=True)
    assert ricordo.check_backup(backup_path).rows["items"] == 1


@pytest.mark.requirement("backup.online")
def test_a_damaged_store_gives_no_backup(
    sqlite_url: str, open_store: Callable[..., Memory], backup_path: Path
) -> None:
    memory = open_store(sqlite_url)
    ana = memory.user("ana")
    ana.add_many([f"Statement {number} of a long list" for number in range(500)])
    memory.close()
    with Path(sqlite_url).open("r+b") as file:  # in the middle of some table
        file.seek(Path(sqlite_url).stat().st_size // 2)
        file.write(os.urandom(8_192))
    damaged = open_store(sqlite_url)
    with pytest.raises(ricordo.StorageCorrupt):
        damaged.backup(backup_path)
    assert names_in(backup_path.parent) == []


async def _backed_up(url: str, path: Path) -> ricordo.BackupReport:
    async with await ricordo.open_async(url, run_jobs=False) as memory:
        return await memory.backup(path)


@pytest.mark.requirement("backup.online")
def test_from_an_asynchronous_program(owner_url: str, backup_path: Path) -> None:
    made = asyncio.run(_backed_up(owner_url, backup_path))
    assert ricordo.check_backup(backup_path) == made
