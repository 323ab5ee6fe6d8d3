"""ricordo where nothing is that only POSIX has, and files that are open stay where they are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.support.processes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.requirement("platforms.elsewhere")

LIBRARY = """
import sys
from pathlib import Path

import ricordo

folder = Path(sys.argv[1])
with ricordo.open(folder / "one.db", home=folder, embedding_provider="none") as memory:
    ana = memory.user("ana")
    ana.add("Prefers tea to coffee", key="drink")
    ana.add("Prefers mate to coffee", key="drink")
    ana.observe([{"role": "user", "content": "I work as a nurse."}], thread="monday")
    ana.form("monday")
    assert ana.search("mate")[0].content_snippet == "Prefers mate to coffee"
    ana.export(folder / "ana.jsonl")
    memory.user("ben").import_file(folder / "ana.jsonl")
    assert len(memory.user("ben").list()) == len(ana.list()) == 2
    memory.erase_user("ben")
    memory.backup(folder / "backup.db")
    memory.run_jobs()
ricordo.restore_backup(folder / "backup.db", folder / "two.db")
with ricordo.open(folder / "two.db", embedding_provider="none") as memory:
    (drink,) = memory.user("ana").list(key="drink")
    assert drink.content == "Prefers mate to coffee"
left = [path.name for path in folder.rglob(".*")]
assert left == [], left
print("done")
"""


def elsewhere(program: str, *arguments: str, said: str = "", **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.elsewhere", program, *arguments],
        cwd=ROOT,
        env={**os.environ, "RICORDO_EMBEDDING_PROVIDER": "none", **environment},
        input=said,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.smoke
def test_the_library(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(LIBRARY, encoding="utf-8")
    place = tmp_path / "place"
    place.mkdir()
    assert elsewhere(str(program), str(place)) == "done\n"


@pytest.mark.slow
def test_the_command_line_with_its_files(tmp_path: Path) -> None:
    home = str(tmp_path / "home")

    def ricordo(*arguments: str, said: str = "", **environment: str) -> str:
        return elsewhere("ricordo", *arguments, said=said, RICORDO_HOME=home, **environment)

    ricordo("init")
    ricordo("add", "Prefers tea to coffee")
    ricordo("mirror", "sync")
    (mirror,) = Path(home).rglob("MEMORY.md")
    assert "Prefers tea" in mirror.read_text(encoding="utf-8")
    # A code page of Windows: what comes through a pipe is UTF-8 all the same.
    said = "user: My favourite city is Łódź.\n"
    ricordo("observe", "--thread", "monday", "--form", said=said, PYTHONIOENCODING="cp1252")
    listed = json.loads(ricordo("list", "--json", PYTHONIOENCODING="cp1252"))["items"]
    assert any("Łódź" in one["content"] for one in listed)
    ricordo("backup", "make", str(tmp_path / "backup.db"))
    ricordo("doctor")


@pytest.mark.slow
def test_an_encrypted_file_gets_another_key(tmp_path: Path) -> None:
    file = str(tmp_path / "one.db")

    def ricordo(*arguments: str, **keys: str) -> str:
        return elsewhere("ricordo", *arguments, "--db", file, **keys)

    ricordo("add", "Prefers tea to coffee")
    ricordo("database", "encrypt", RICORDO_DATABASE_KEY="first")
    ricordo("database", "rekey", RICORDO_DATABASE_KEY="first", RICORDO_NEW_DATABASE_KEY="second")
    assert "tea" in ricordo("list", RICORDO_DATABASE_KEY="second")
    ricordo("database", "decrypt", RICORDO_DATABASE_KEY="second")
    assert "tea" in ricordo("list")
    assert [path.name for path in tmp_path.iterdir() if "one.db" in path.name] == ["one.db"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_what_goes_on_until_it_is_told_to_end(tmp_path: Path, command: str) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.support.elsewhere", "ricordo", command),
            *("--json", "--db", str(tmp_path / "one.db")),
            *(("--port", "0") if command == "serve" else ()),
        ],
        cwd=ROOT,
        env={**os.environ, "RICORDO_EMBEDDING_PROVIDER": "none"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        if command == "serve":
            with httpx2.Client(base_url=first["listening"], timeout=PATIENCE_SECONDS) as client:
                headers = {"X-Ricordo-User": "ana"}
                added = {"content": "Prefers tea to coffee"}
                client.post("/v1/memories", json=added, headers=headers).raise_for_status()
                found = client.get("/v1/memories", headers=headers).json()["items"]
                assert [one["content"] for one in found] == ["Prefers tea to coffee"]
                assert client.get("/readyz").status_code == 200
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_several_workers_need_fork_and_say_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.support.elsewhere", "ricordo", "serve"),
            *("--workers", "2", "--port", "0", "--db", str(tmp_path / "one.db")),
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "workers" in done.stderr
