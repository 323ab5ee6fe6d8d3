"""``doctor`` finds what is wrong, says what to do, and changes nothing."""

import json
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from ricordo.cli import checkup
from ricordo.storage.tables import users
from ricordo.wiring import open_memory
from tests.support.commandline import Ran, ricordo

ALL = [
    "python",
    "sqlite",
    "clock",
    "embedder",
    "model",
    "home",
    "file",
    "disk",
    "search",
    "database",
    "schema",
    "isolation",
    "integrity",
    "consistency",
    "terms",
    "vectors",
    "jobs",
]


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


def examined(*options: object) -> tuple[Ran, dict[str, tuple[str, str, str | None]]]:
    """What doctor says: verdict, message and advice by the name of the check."""
    ran = ricordo("doctor", "--json", *options)
    found = json.loads(ran.out)
    assert found["healthy"] == (ran.code == 0)
    return ran, {
        one["check"]: (one["verdict"], one["message"], one["advice"]) for one in found["findings"]
    }


@pytest.mark.requirement("cli.doctor")
def test_a_healthy_store(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
    ran, found = examined("--db", backend_url)
    assert ran.code == 0
    on_server = backend_url.startswith("postgresql")
    missing = "file" if on_server else "isolation"
    assert list(found) == [check for check in ALL if check != missing]
    assert {verdict for verdict, _, _ in found.values()} == {"ok"}
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
    assert found["integrity"][0] == "fail"
    assert ricordo("doctor").err == "Something needs attention.\n"


@pytest.mark.requirement("cli.doctor")
def test_history_that_disagrees(backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False) as memory:
        memory.user("ana").add("Prefers tea")
        with memory.database.transaction() as connection:
            connection.execute(sa.update(users).values(revision=7))
    ran, found = examined("--db", backend_url)
    assert ran.code == 6
    verdict, message, advice = found["consistency"]
    assert (verdict, "'ana'" in message, advice is not None) == ("fail", True, True)


def _set_schema(file: Path, version: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
    connection.close()


@pytest.mark.requirement("cli.doctor")
def test_a_database_of_a_newer_ricordo(sqlite_url: str) -> None:
    _set_schema(Path(sqlite_url), "9999")
    ran, found = examined("--db", sqlite_url)
    assert (ran.code, found["database"][0]) == (6, "fail")
    for command in ("list", "migrate"):
        assert ricordo(command, "--db", sqlite_url, "--json").error["error"] == "DatabaseTooNew"
    checked = ricordo("migrate", "--check", "--db", sqlite_url)
    assert (checked.code, "hint: pip install --upgrade ricordo" in checked.err) == (6, True)


@pytest.mark.requirement("cli.doctor")
def test_a_database_of_an_older_ricordo(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.storage.migrations.HEAD", "9999")
    ran, found = examined("--db", sqlite_url)
    assert ran.code == 0
    assert (found["schema"][0], found["schema"][2]) == ("warn", "ricordo migrate")
    assert "integrity" not in found
    assert ricordo("migrate", "--check", "--db", sqlite_url).code == 4


@pytest.mark.requirement("cli.doctor")
def test_files_that_others_may_read(own_home: Path) -> None:
    ricordo("add", "Prefers tea")
    own_home.chmod(0o755)
    (own_home / "ricordo.db").chmod(0o644)
    ran, found = examined()
    assert ran.code == 0
    assert found["home"][::2] == ("warn", f"chmod 700 {own_home}")
    assert found["file"][::2] == ("warn", f"chmod 600 {own_home / 'ricordo.db'}")


@pytest.mark.requirement("cli.doctor")
def test_a_folder_that_may_not_be_written(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ricordo("add", "Prefers tea")
    # Whoever runs the tests may be root, to whom everything is allowed.
    monkeypatch.setattr(checkup.os, "access", lambda *_given: False)
    ran, found = examined()
    assert (ran.code, found["home"][0], found["file"][0]) == (6, "fail", "fail")


@pytest.mark.requirement("cli.doctor")
@pytest.mark.parametrize(
    ("free", "verdict", "code"), [(10, "fail", 6), (100, "warn", 0), (1_000, "ok", 0)]
)
def test_the_disk(free: int, verdict: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(0, 0, free * 1024 * 1024))
    ran, found = examined()
    assert (ran.code, found["disk"][0]) == (code, verdict)


@pytest.mark.requirement("cli.doctor")
def test_a_clock_that_was_never_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "system_clock", lambda: datetime(1970, 1, 1, tzinfo=UTC))
    ran, found = examined()
    assert (ran.code, found["clock"][0]) == (6, "fail")


@pytest.mark.requirement("cli.doctor")
def test_an_old_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 30, 0))
    ran, found = examined()
    assert (ran.code, found["sqlite"][0]) == (6, "fail")


@pytest.mark.requirement("cli.doctor")
def test_a_setting_that_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_POOL_SIZE", "0")
    ran, found = examined()
    assert (ran.code, found["database"][0]) == (6, "fail")
    assert "pool_size" in found["database"][1]
