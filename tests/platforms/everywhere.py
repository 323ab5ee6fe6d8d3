"""What ricordo does on every system, with nothing but an installed ricordo and pytest.

python -m pytest -c tests/platforms/everywhere.ini tests/platforms/everywhere.py
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ricordo

PATIENCE_SECONDS = 120
COMMAND = [sys.executable, "-m", "ricordo"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = (
        tmp_path / "Zoë's home"
    )  # with a space, a quote and a letter of no code page in the name
    monkeypatch.setenv("RICORDO_HOME", str(place))
    monkeypatch.setenv("RICORDO_EMBEDDING_DEADLINE_SECONDS", "60")
    monkeypatch.setenv("RICORDO_RERANK_MS", "60000")
    return place


def run(*arguments: str, said: str = "") -> str:
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=said.encode(),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout.decode("utf-8")


def test_the_library(home: Path, tmp_path: Path) -> None:
    with ricordo.open() as memory:
        ana = memory.user("ana")
        ana.add("Prefers tea to coffee", theme="drinks")
        ana.add("Lives in Łódź", key="home")
        assert ana.search("what can I offer her to drink?")[0].content_snippet.startswith("Prefers")
        ana.observe([{"role": "user", "content": "I work as a nurse."}], thread="monday")
        ana.form("monday")
        assert len(ana.list()) == 3
        ana.export(tmp_path / "ana.jsonl")
        memory.user("ben").import_file(tmp_path / "ana.jsonl")
        assert len(memory.user("ben").list()) == 3
        memory.backup(tmp_path / "backup.db")
        memory.erase_user("ben")
    ricordo.restore_backup(tmp_path / "backup.db", tmp_path / "two.db")
    with ricordo.open(tmp_path / "two.db") as memory:
        assert len(memory.user("ben").list()) == 3
    drafts = [path.name for path in tmp_path.rglob("*ricordo-*")]
    assert drafts == []


def test_processes_that_write_at_once(home: Path) -> None:
    program = (
        "import ricordo, sys\n"
        "with ricordo.open(embedding_provider='none') as memory:\n"
        "    for number in range(20):\n"
        "        memory.user('ana').add(f'{sys.argv[1]} says {number}')\n"
    )
    several = [subprocess.Popen([sys.executable, "-c", program, str(one)]) for one in range(3)]
    assert [one.wait(PATIENCE_SECONDS) for one in several] == [0, 0, 0]
    with ricordo.open(embedding_provider="none") as memory:
        assert len(memory.user("ana").list(limit=100)) == 60


def test_the_command_line(home: Path, tmp_path: Path) -> None:
    run("init")
    run("add", "Prefers tea to coffee")
    run("mirror", "sync")
    (mirror,) = home.rglob("MEMORY.md")
    text = mirror.read_text(encoding="utf-8")
    assert "Prefers tea to coffee" in text
    mirror.write_text(text.replace("tea", "mate"), encoding="utf-8")
    stamp = mirror.stat().st_mtime - 60  # not edited just now
    os.utime(mirror, (stamp, stamp))
    run("mirror", "sync")
    said = "user: My favourite city is Łódź.\n"
    run("observe", "--thread", "monday", "--form", said=said)
    kept = [one["content"] for one in json.loads(run("list", "--json"))["items"]]
    assert any("mate" in one for one in kept), kept
    assert any("Łódź" in one for one in kept), kept
    run("backup", "make", str(tmp_path / "backup.db"))
    run("doctor")


@pytest.fixture
def service(home: Path) -> Iterator[str]:
    options: dict[str, Any] = {}
    if sys.platform == "win32":  # else Ctrl-Break would reach this process, too
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    process = subprocess.Popen(
        [*COMMAND, "serve", "--json", "--port", "0"], stdout=subprocess.PIPE, **options
    )
    try:
        assert process.stdout is not None
        yield str(json.loads(process.stdout.readline())["listening"])
        if sys.platform == "win32":
            process.terminate()
        else:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_service(service: str) -> None:
    def ask(path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Ricordo-User": "ana", "Content-Type": "application/json"}
        request = urllib.request.Request(service + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.loads(answer.read())

    ask("/v1/memories", {"content": "Prefers tea to coffee"})
    found = ask("/v1/memories/search", {"query": "what can I offer her to drink?"})["results"]
    assert found[0]["content_snippet"] == "Prefers tea to coffee"
    assert ask("/readyz")
    taken = service.rsplit(":", 1)[1]
    refused = subprocess.run([*COMMAND, "serve", "--port", taken], capture_output=True)
    assert refused.returncode != 0, "a second service took the port of the first"


def test_hooks_of_coding_agents(home: Path) -> None:
    hook = shutil.which("ricordo-hook", path=str(Path(sys.executable).parent)) or "ricordo-hook"
    event = json.dumps({"session_id": "one", "cwd": str(home.parent), "prompt": "Hello"})
    done = subprocess.run([hook, "claude-code", "Stop"], input=event.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
