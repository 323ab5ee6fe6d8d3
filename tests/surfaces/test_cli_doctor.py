"""``doctor`` finds what is wrong, says what to do, and changes nothing."""

import json
import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from ricordo.cli.examining import machine
from ricordo.storage.tables import users
from ricordo.wiring import open_memory
from tests.support.commandline import Ran, ricordo

ALL = [
    "version",
    "python",
    "sqlite",
    "clock",
    "settings",
    "embedder",
    "model",
    "home",
    "file",
    "log",
    "disk",
    "search",
    "database",
    "schema",
    "isolation",
    "encryption",
    "integrity",
    "consistency",
    "times",
    "terms",
    "vectors",
    "jobs",
    "workers",
    "service",
    "mirror",
]
ONLY_OF = {"sqlite": ("file", "log", "encryption"), "postgresql": ("isolation",)}


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


def examined(*options: object) -> tuple[Ran, dict[str, tuple[str, str, str | None]]]:
    """What doctor says: state, what was found and advice by the name of the check."""
    ran = ricordo("doctor", "--json", *options)
    found = json.loads(ran.out)
    assert any(one["state"] == "problem" for one in found) == (ran.code == 6)
    assert all(one["advice"] for one in found if one["state"] != "ok")
    return ran, {one["check"]: (one["state"], one["found"], one["advice"]) for one in found}


@pytest.mark.requirement("cli.doctor")
def test_a_healthy_store(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
    ran, found = examined("--db", backend_url)
    assert ran.code == 0
    on_server = backend_url.startswith("postgresql")
    missing = ONLY_OF["sqlite" if on_server else "postgresql"]
    assert list(found) == [check for check in ALL if check not in missing]
    assert {state for state, _, _ in found.values()} == {"ok"}
    for_people = ricordo("doctor", "--db", backend_url)
    assert (for_people.code, for_people.err) == (0, "All is well.\n")
    assert "memories and history agree" in for_people.out


@pytest.mark.requirement("cli.doctor")
def test_nothing_is_made_by_looking(own_home: Path) -> None:
    ran, found = examined()
    assert ran.code == 0
    assert "is made by the first: ricordo add" in found["database"][1]
    assert not own_home.exists()


@pytest.mark.requirement("cli.doctor")
def test_a_damaged_file(own_home: Path) -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n} {'x' * 500}" for n in range(500)))
    file = own_home / "ricordo.db"
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 8_192] = b"\xaa" * 8_192
    file.write_bytes(content)
    ran, found = examined()
    assert ran.code == 6
    assert found["integrity"][0] == "problem"
    assert ricordo("doctor").err == "Something needs attention.\n"


@pytest.mark.requirement("cli.doctor")
def test_history_that_disagrees(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
        with memory.database.transaction() as connection:
            connection.execute(sa.update(users).values(revision=7))
    ran, found = examined("--db", backend_url)
    assert ran.code == 6
    state, message, advice = found["consistency"]
    assert (state, "'ana'" in message, advice is not None) == ("problem", True, True)


def _set_schema(file: Path, version: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
    connection.close()


@pytest.mark.requirement("cli.doctor")
def test_a_database_of_a_newer_ricordo(sqlite_url: str) -> None:
    _set_schema(Path(sqlite_url), "9999")
    ran, found = examined("--db", sqlite_url)
    assert (ran.code, found["database"][::2]) == (6, ("problem", "pip install --upgrade ricordo"))
    for command in ("list", "migrate"):
        assert ricordo(command, "--db", sqlite_url, "--json").error["error"] == "DatabaseTooNew"
    checked = ricordo("migrate", "--check", "--db", sqlite_url)
    assert (checked.code, "hint: pip install --upgrade ricordo" in checked.err) == (6, True)


@pytest.mark.requirement("cli.doctor")
def test_a_database_of_an_older_ricordo(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.storage.migrations.HEAD", "9999")
    ran, found = examined("--db", sqlite_url)
    assert ran.code == 0
    assert (found["schema"][0], found["schema"][2]) == ("warning", "ricordo migrate")
    assert "integrity" not in found
    assert ricordo("migrate", "--check", "--db", sqlite_url).code == 4


@pytest.mark.requirement("cli.doctor")
def test_files_that_others_may_read(own_home: Path) -> None:
    ricordo("add", "Prefers tea")
    own_home.chmod(0o755)
    (own_home / "ricordo.db").chmod(0o644)
    ran, found = examined()
    assert ran.code == 0
    assert found["home"][::2] == ("warning", f"chmod 700 {own_home}")
    assert found["file"][::2] == ("warning", f"chmod 600 {own_home / 'ricordo.db'}")


@pytest.mark.requirement("cli.doctor")
def test_a_folder_that_may_not_be_written(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ricordo("add", "Prefers tea")
    # Whoever runs the tests may be root, to whom everything is allowed.
    monkeypatch.setattr(os, "access", lambda *_given: False)
    ran, found = examined()
    assert (ran.code, found["home"][0], found["file"][0]) == (6, "problem", "problem")


@pytest.mark.requirement("cli.doctor")
@pytest.mark.parametrize(
    ("free", "state", "code"), [(10, "problem", 6), (100, "warning", 0), (1_000, "ok", 0)]
)
def test_the_disk(free: int, state: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(0, 0, free * 1024 * 1024))
    ran, found = examined()
    assert (ran.code, found["disk"][0]) == (code, state)


@pytest.mark.requirement("cli.doctor")
def test_a_clock_that_was_never_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "system_clock", lambda: datetime(1970, 1, 1, tzinfo=UTC))
    ran, found = examined()
    assert (ran.code, found["clock"][0]) == (6, "problem")


@pytest.mark.requirement("cli.doctor")
def test_an_old_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 30, 0))
    ran, found = examined()
    assert (ran.code, found["sqlite"][0]) == (6, "problem")


@pytest.mark.requirement("cli.doctor")
def test_a_setting_that_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_POOL_SIZE", "0")
    ran, found = examined()
    assert (ran.code, found["settings"][0]) == (6, "problem")
    assert "pool_size" in found["settings"][1]
    assert "RICORDO_POOL_SIZE (it takes 1 to 200)" in str(found["settings"][2])
