"""Files that are no sound backup are refused by name, and nothing is restored."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import ricordo
from ricordo import DatabaseTooNew, InvalidBackup, InvalidValue, Memory
from ricordo.testing.clock import ManualClock
from ricordo.wiring import open_memory, restore_backup
from tests.backup.comparing import rows_of

pytestmark = [
    pytest.mark.requirement("backup.verified"),
    pytest.mark.requirement("backup.restore"),
]

PAGE = 4_096


def executed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - PAGE)


def _cut_within_a_page(path: Path) -> None:
    os.truncate(path, path.stat().st_size - PAGE // 2)


def _half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _text(path: Path) -> None:
    path.write_text("Not a backup at all, but long enough to be looked at.\n" * 100)


def _noise(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + random.Random(1).randbytes(40_000))


def _another_database(path: Path) -> None:
    path.unlink()
    executed(path, "CREATE TABLE notes (text TEXT)")


def _a_store(path: Path) -> None:
    path.unlink()
    open_memory(path, run_jobs=False, embedding_provider="none").close()


def _changed_text(path: Path) -> None:
    executed(path, "UPDATE items SET content = 'Prefers coffee' WHERE id = 1")


def _changed_vector(path: Path) -> None:
    executed(path, "UPDATE item_index SET vector = zeroblob(length(vector)) WHERE id = 1")


def _changed_text_index(path: Path) -> None:
    executed(path, "DELETE FROM item_fts_docsize")


def _removed_row(path: Path) -> None:
    executed(path, "DELETE FROM history WHERE revision = 1")


def _added_row(path: Path) -> None:
    executed(path, "INSERT INTO store VALUES ('more', 1, NULL)")


def _removed_table(path: Path) -> None:
    executed(path, "DROP TABLE relations")


def _added_table(path: Path) -> None:
    executed(path, "CREATE TABLE more (text TEXT)")


def _added_trigger(path: Path) -> None:
    executed(
        path,
        "CREATE TRIGGER spy AFTER INSERT ON items BEGIN DELETE FROM history; END",
    )


def _other_schema(path: Path) -> None:
    executed(path, "UPDATE alembic_version SET version_num = '0001'")


def _no_manifest(path: Path) -> None:
    executed(path, "DELETE FROM backup_manifest")


def _edited_manifest(path: Path) -> None:
    executed(path, "UPDATE backup_manifest SET document = replace(document, 'sqlite', 'oracle')")


def _no_text(path: Path) -> None:
    executed(path, "UPDATE items SET content = CAST(x'fffefd' AS TEXT) WHERE id = 1")


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_cut, "damaged"),
        (_cut_within_a_page, "damaged"),
        (_half, "damaged"),
        (_empty, "not a backup"),
        (_text, "not a backup"),
        (_noise, "not a backup"),
        (_another_database, "not a backup that ricordo made"),
        (_a_store, "not a backup that ricordo made"),
        (_changed_text, "was changed since, in items"),
        (_changed_vector, "was changed since, in item_index"),
        (_changed_text_index, "was changed since, in item_fts_docsize"),
        (_removed_row, "was changed since, in history"),
        (_added_row, "was changed since, in store"),
        (_removed_table, "was changed since, in relations"),
        (_added_table, "was changed since, in more"),
        (_added_trigger, "not ricordo's"),
        (_other_schema, "was changed since, in alembic_version"),
        (_no_manifest, "says of itself is damaged"),
        (_edited_manifest, "says of itself is damaged"),
        (_no_text, "damaged"),
    ],
)
def test_what_is_no_sound_backup_is_refused(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    other_url: str,
    backup_path: Path,
    clock: ManualClock,
    spoil: Callable[[Path], None],
    complaint: str,
) -> None:
    memory = open_store(sqlite_url)
    memory.user("ana").add_many(["Prefers tea", *(f"Statement {number}" for number in range(50))])
    memory.backup(backup_path)
    target = open_store(other_url)
    target.user("ben").add("What the store held before")
    before = rows_of(target)
    target.close()
    spoil(backup_path)
    with pytest.raises(InvalidBackup, match=complaint) as refused:
        ricordo.check_backup(backup_path)
    assert str(refused.value).startswith(str(backup_path))
    with pytest.raises(InvalidBackup, match=complaint) as refused:
        restore_backup(backup_path, other_url, clock=clock, replace=True)
    assert str(refused.value).startswith(str(backup_path))
    assert rows_of(open_store(other_url)) == before
    assert not list(Path(backup_path.parent).glob(".*"))
    if not other_url.startswith("postgresql"):
        assert not list(Path(other_url).parent.glob(".*"))


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
    from ricordo.transfer.backup import manifest

    with closing(sqlite3.connect(newer_format)) as file:
        (document,) = file.execute("SELECT document FROM backup_manifest").fetchone()
        changed = document.replace('"format": 1', '"format": 2')
        file.execute(
            "UPDATE backup_manifest SET document = ?, sha256 = ?",
            (changed, manifest._hash(changed)),
        )
        file.commit()
    with pytest.raises(DatabaseTooNew, match="format 2"):
        restore_backup(newer_format, other_url, clock=clock)
    monkeypatch.setattr("ricordo.transfer.backup.checking.CHAIN", ("0001", "0002"))
    with pytest.raises(DatabaseTooNew, match="upgrade the package"):
        restore_backup(backup_path, other_url, clock=clock)
    if not other_url.startswith("postgresql"):
        assert not Path(other_url).exists()


@pytest.mark.parametrize("name", ["nothing.backup", "."])
def test_what_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue, match="there is no file"):
        ricordo.check_backup(tmp_path / name)
    with pytest.raises(InvalidValue, match="there is no file"):
        ricordo.restore_backup(tmp_path / name, tmp_path / "ricordo.db")
    assert not (tmp_path / "ricordo.db").exists()
