"""Backups of encrypted stores are encrypted, with the same key."""

from pathlib import Path

import pytest

import ricordo
from ricordo import DatabaseKeyMismatch

pytestmark = [pytest.mark.requirement("backup.online"), pytest.mark.smoke]

KEY = "correct horse battery staple"


def test_there_and_back_with_the_key(tmp_path: Path, backup_path: Path) -> None:
    secret = {"database_key": KEY, "run_jobs": False, "embedding_provider": "none"}
    with ricordo.open(tmp_path / "first.db", **secret) as memory:
        memory.user("ana").add("Prefers tea to coffee")
        made = memory.backup(backup_path)
    held = backup_path.read_bytes()
    assert not held.startswith(b"SQLite format 3")
    assert b"Prefers tea" not in held
    assert ricordo.check_backup(backup_path, database_key=KEY) == made
    for wrong in ({}, {"database_key": "another"}):
        with pytest.raises(DatabaseKeyMismatch):
            ricordo.check_backup(backup_path, **wrong)
        with pytest.raises(DatabaseKeyMismatch):
            ricordo.restore_backup(backup_path, tmp_path / "second.db", **wrong)
    ricordo.restore_backup(backup_path, tmp_path / "second.db", database_key=KEY)
    assert b"Prefers tea" not in (tmp_path / "second.db").read_bytes()
    with ricordo.open(tmp_path / "second.db", **secret) as memory:
        assert [item.content for item in memory.user("ana").list()] == ["Prefers tea to coffee"]
        memory.user("ana").add("Has a cat")
    ricordo.restore_backup(backup_path, tmp_path / "second.db", replace=True, database_key=KEY)
    with ricordo.open(tmp_path / "second.db", **secret) as memory:
        assert len(memory.user("ana").list().items) == 1
