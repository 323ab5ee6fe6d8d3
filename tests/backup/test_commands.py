"""The commands: what they say to people and to programs, and how they fail."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo

pytestmark = pytest.mark.requirement("backup.verified")


@pytest.fixture
def filled(owner_url: str) -> str:
    with open_memory(owner_url, run_jobs=False, embedding_provider="none") as memory:
        memory.user("ana").add("Prefers tea")
        memory.user("ana").observe([{"role": "user", "content": "Hello"}], thread="t")
    return owner_url


def test_for_people(filled: str, backup_path: Path, tmp_path: Path) -> None:
    made = ricordo("backup", "make", backup_path, "--db", filled)
    assert (made.code, made.err) == (0, "")
    first, second = made.out.splitlines()
    assert re.fullmatch(
        rf"Backed up: {re.escape(str(backup_path))}, \d+\.\d kB, users 1, memories 1, turns 1; made"
        r" \d{4}-\d\d-\d\d \d\d:\d\d UTC by ricordo \S+ from (sqlite|postgresql)\.",
        first,
    )
    assert second.startswith("Not in it: what opens users' own API keys: secret.key")
    checked = ricordo("backup", "check", backup_path)
    assert checked.out == made.out.replace("Backed up:", "Sound:", 1)
    new = tmp_path / "new.db"
    restored = ricordo("backup", "restore", backup_path, "--db", new)
    assert restored.out.startswith("Restored users 1, memories 1, turns 1, as of ")
    assert f" to {new}.\n" in restored.out
    again = ricordo("backup", "restore", backup_path, "--db", new, "--replace")
    assert f" to {new} in place of what it held.\n" in again.out


def test_for_programs_and_mistakes(filled: str, backup_path: Path, tmp_path: Path) -> None:
    backup_path.write_text("mine")
    exists = ricordo("backup", "make", backup_path, "--db", filled, "--json")
    assert (exists.code, exists.error["error"]) == (2, "InvalidValue")
    assert backup_path.read_text() == "mine"
    made = ricordo("backup", "make", backup_path, "--db", filled, "--force", "--json").json
    assert (made["path"], made["rows"]["items"]) == (str(backup_path), 1)
    assert ricordo("backup", "check", backup_path, "--json").json == made
    refused = ricordo("backup", "restore", backup_path, "--db", filled, "--json")
    assert (refused.code, refused.error["error"]) == (4, "StoreNotEmpty")
    assert "--replace" in refused.error["fix"]
    restored = ricordo("backup", "restore", backup_path, "--db", filled, "--replace", "--json").json
    assert (restored["rows"], restored["replaced"]) == (made["rows"], True)
    foreign = tmp_path / "foreign"
    foreign.write_text("not a backup")
    refused = ricordo("backup", "check", foreign, "--json")
    assert (refused.code, refused.error["error"]) == (2, "InvalidBackup")
    nothing = ricordo("backup", "make", tmp_path / "a.backup", "--db", tmp_path / "x.db", "--json")
    assert (nothing.code, nothing.error["error"]) == (6, "StorageUnavailable")
    assert not (tmp_path / "x.db").exists()


def test_the_applications_role_is_told_who_can(
    postgres_url: str, backup_path: Path, open_store: Callable[..., Memory]
) -> None:
    open_store(postgres_url).user("ana").add("Prefers tea")
    refused = ricordo("backup", "make", backup_path, "--db", postgres_url, "--json")
    assert (refused.code, refused.error["error"]) == (5, "AccessDenied")
    assert "owns the tables" in refused.error["message"]
    assert "of-the-tests" not in refused.err
    assert not list(backup_path.parent.iterdir())
