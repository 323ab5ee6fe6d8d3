"""Files that are no sound backup are refused by name, and nothing is restored."""

import itertools
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import ricordo
from ricordo import DatabaseTooNew, InvalidBackup, InvalidValue, Memory
from ricordo.testing import ManualClock
from ricordo.wiring import restore_backup
from tests.backup.comparing import rows_of

pytestmark = [
    pytest.mark.requirement("backup.verified"),
    pytest.mark.requirement("backup.restore"),
]

PAGE = 4_096


NOISE = b"SQLite format 3\0" + random.Random(1).randbytes(40_000)
CHANGES: dict[str, str] = {
    "UPDATE items SET content = 'Prefers coffee' WHERE id = 1": "was changed since, in items",
    "UPDATE item_index SET vector = zeroblob(length(vector))": "was changed since, in item_index",
    "DELETE FROM item_fts_docsize": "was changed since, in item_fts_docsize",
    "DELETE FROM history WHERE revision = 1": "was changed since, in history",
    "INSERT INTO store VALUES ('more', 1, NULL)": "was changed since, in store",
    "DROP TABLE relations": "was changed since, in relations",
    "CREATE TABLE more (text TEXT)": "was changed since, in more",
    "CREATE TRIGGER spy AFTER INSERT ON items BEGIN DELETE FROM history; END": "not ricordo's",
    "UPDATE alembic_version SET version_num = '0001'": "was changed since, in alembic_version",
    "DELETE FROM backup_manifest": "its manifest is damaged",
    "UPDATE backup_manifest SET document = replace(document, 'sqlite', 'oracle')": (
        "its manifest is damaged"
    ),
    "UPDATE items SET content = CAST(x'fffefd' AS TEXT) WHERE id = 1": "damaged",
}
CUTS: tuple[tuple[Callable[[int], int], str], ...] = (
    (lambda size: size - PAGE, "damaged"),
    (lambda size: size - PAGE // 2, "damaged"),
    (lambda size: size // 2, "damaged"),
    (lambda _size: 0, "not a backup"),
)
OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"Not a backup at all, but long enough to be looked at.\n" * 100, "not a backup"),
    (NOISE, "not a backup"),
)


def executed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute(statement)
        file.commit()


def spoilt(whole: Path, store: str, folder: Path) -> Iterator[tuple[Path, str]]:
    """Files that are no sound backup, and what is said of each."""
    count = itertools.count()

    def copied(source: str | Path) -> Path:
        return Path(shutil.copy(source, folder / f"{next(count)}.backup"))

    for statement, complaint in CHANGES.items():
        executed(path := copied(whole), statement)
        yield path, complaint
    for length, complaint in CUTS:
        path = copied(whole)
        os.truncate(path, length(path.stat().st_size))
        yield path, complaint
    for content, complaint in OTHERS:
        (path := copied(whole)).write_bytes(content)
        yield path, complaint
    executed(path := folder / "other.db", "CREATE TABLE notes (text TEXT)")
    yield path, "not a backup that ricordo made"
    yield copied(store), "not a backup that ricordo made"


@pytest.mark.smoke
def test_what_is_no_sound_backup_is_refused(
    sqlite_url: str,
    sqlite_template: Path,
    open_store: Callable[..., Memory],
    other_url: str,
    backup_path: Path,
    clock: ManualClock,
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add_many(["Prefers tea", *(f"Statement {number}" for number in range(20))])
    memory.backup(backup_path)
    target = open_store(other_url)
    target.user("ben").add("What the store held before")
    before = rows_of(target)
    target.close()
    for path, complaint in spoilt(backup_path, str(sqlite_template), backup_path.parent):
        with pytest.raises(InvalidBackup, match=complaint) as refused:
            ricordo.check_backup(path)
        assert str(refused.value).startswith(str(path))
        with pytest.raises(InvalidBackup, match=complaint) as refused:
            restore_backup(path, other_url, clock=clock, replace=True)
        assert str(refused.value).startswith(str(path))
    assert rows_of(open_store(other_url)) == before
    assert not list(backup_path.parent.glob(".*"))
    if not other_url.startswith("postgresql"):
        assert not list(Path(other_url).parent.glob(".*"))


@pytest.mark.fuzz
def test_any_single_changed_byte_is_found_or_harmless(
    sqlite_url: str, open_store: Callable[..., Memory], backup_path: Path, tmp_path: Path
) -> None:
    """Whatever byte is flipped: the file is refused, or what it holds is exactly what it held."""
    memory = open_store(sqlite_url)
    memory.user("ana").add_many([f"Statement {number}" for number in range(20)])
    made = memory.backup(backup_path)
    whole = backup_path.read_bytes()
    damaged = tmp_path / "damaged.backup"
    chance = random.Random(7)
    refused = 0
    for _ in range(150):
        place = chance.randrange(len(whole))
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert ricordo.check_backup(damaged).rows == made.rows
        except (InvalidBackup, ricordo.StorageError):
            refused += 1
    assert refused > 0


def test_a_backup_of_a_newer_ricordo_is_refused(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    other_url: str,
    backup_path: Path,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add("Prefers tea")
    memory.backup(backup_path)
    newer_format = backup_path.with_name("newer.backup")
    shutil.copy(backup_path, newer_format)
    from ricordo.transfer import backup

    with closing(sqlite3.connect(newer_format)) as file:
        (document,) = file.execute("SELECT document FROM backup_manifest").fetchone()
        changed = document.replace('"format": 1', '"format": 2')
        file.execute(
            "UPDATE backup_manifest SET document = ?, sha256 = ?",
            (changed, backup._hash(changed)),
        )
        file.commit()
    with pytest.raises(DatabaseTooNew, match="format 2"):
        restore_backup(newer_format, other_url, clock=clock)
    monkeypatch.setattr("ricordo.transfer.backup.CHAIN", ("0001", "0002"))
    with pytest.raises(DatabaseTooNew, match="upgrade the package"):
        restore_backup(backup_path, other_url, clock=clock)
    if not other_url.startswith("postgresql"):
        assert not Path(other_url).exists()


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    for name in ("nothing.backup", "."):
        with pytest.raises(InvalidValue, match="there is no file"):
            ricordo.check_backup(tmp_path / name)
        with pytest.raises(InvalidValue, match="there is no file"):
            ricordo.restore_backup(tmp_path / name, tmp_path / "ricordo.db")
    assert not (tmp_path / "ricordo.db").exists()
