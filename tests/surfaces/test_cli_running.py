"""The installed command as a process: start-up, streams, terminals, signals, workers."""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo.version import __version__
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, ricordo
from tests.support.endpoints import FaultyModel
from tests.support.waiting import PATIENCE_SECONDS, wait_until

HEAVY = ("sqlalchemy", "alembic", "pydantic", "psycopg", "rich", "ricordo.wiring")


@pytest.fixture(autouse=True)
def at_home(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_URL", sqlite_url)


def process(*arguments: str, **settings: Any) -> "subprocess.CompletedProcess[str]":
    """Run the installed command to its end."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.run(
        [COMMAND, *arguments], text=True, check=False, timeout=PATIENCE_SECONDS, **streams
    )


# -- start-up ------------------------------------------------------------------------------


@pytest.mark.requirement("cli.commands")
@pytest.mark.requirement("cli.completion")
def test_help_and_completion_load_nothing_heavy(sqlite_url: str) -> None:
    with open_memory(sqlite_url, run_jobs=False) as memory:
        memory.user("me").add("Prefers tea", theme="drinks")
    script = (
        "import os, sys\n"
        "from ricordo.cli.main import main\n"
        "main(['--help'])\n"
        "os.environ['_RICORDO_COMPLETE'] = 'complete_bash'\n"
        "assert main([]) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    asked = {"COMP_WORDS": "ricordo\nlist\n--theme\nd", "COMP_CWORD": "3"}
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **asked},
    )
    assert ran.stdout.splitlines()[-2:] == ["drinks", "[]"]


@pytest.mark.slow
@pytest.mark.requirement("cli.commands")
def test_the_installed_command_remembers_across_processes() -> None:
    assert process("--version").stdout == f"ricordo {__version__}\n"
    added = process("add", "-", "--theme", "drinks", input="Prefers tea\n")
    assert (added.returncode, added.stdout, added.stderr) == (0, "Remembered as 1.\n", "")
    found = process("list", "--json")
    assert [item["content"] for item in json.loads(found.stdout)["items"]] == ["Prefers tea"]
    missing = process("get", "2")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert missing.stderr.startswith("error: no memory 2\nhint: ")


@pytest.mark.slow
def test_a_command_that_ends_the_process_at_once_leaves_nothing_behind(tmp_path: Path) -> None:
    """Also what Python would have done at its end is done: a throw-away store is removed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    for line, code in ((["list"], 0), (["get", "7"], 3)):
        ran = process(
            *line, "--db", ":memory:", "--json", env={**os.environ, "TMPDIR": str(folder)}
        )
        assert ran.returncode == code, ran.stderr
        assert json.loads(ran.stdout or ran.stderr)
        assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.requirement("http.serve")
@pytest.mark.parametrize("as_json", [False, True])
def test_the_first_key_is_in_no_log(tmp_path: Path, as_json: bool) -> None:
    """It is seen once, on a terminal or in a private file, whatever fails after that."""
    database, home = str(tmp_path / "m.db"), tmp_path / "home"
    environment = {**os.environ, "RICORDO_REQUIRE_KEYS": "true", "RICORDO_HOME": str(home)}
    form = ["--json"] if as_json else []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = process("serve", "--db", database, "--port", port, *form, env=environment)
    assert ran.returncode == 2, ran.stderr
    assert "cannot listen" in ran.stderr
    assert "rk_" not in ran.stdout + ran.stderr
    (path,) = home.glob("first-key-*")
    assert str(path) in ran.stdout
    assert path.stat().st_mode & 0o777 == 0o600
    with open_memory(database, run_jobs=False) as memory:
        assert memory.authenticate(path.read_text().strip()).name == "first"


@pytest.mark.slow
def test_on_a_terminal_the_first_key_is_shown(tmp_path: Path) -> None:
    environment = {**os.environ, "RICORDO_REQUIRE_KEYS": "true", "RICORDO_HOME": str(tmp_path)}
    ours, theirs = os.openpty()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = ("--db", str(tmp_path / "m.db"), "--port", port)
        ran = process("serve", *given, stdout=theirs, env=environment)
    os.close(theirs)
    said = os.read(ours, 65_536).decode()
    os.close(ours)
    assert ran.returncode == 2, ran.stderr
    assert "rk_" in said
    assert not list(tmp_path.glob("first-key-*"))


def test_a_first_key_that_cannot_be_kept_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RICORDO_REQUIRE_KEYS", "true")
    monkeypatch.setenv("RICORDO_HOME", str(tmp_path / "file"))
    ran = ricordo("serve", "--db", str(tmp_path / "m.db"), "--port", "0")
    assert ran.code != 0 and "file" in ran.err
    with open_memory(str(tmp_path / "m.db"), run_jobs=False) as memory:
        assert not memory.has_keys()


# -- streams -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.requirement("cli.errors")
@pytest.mark.parametrize("command", ["export", "list --limit 400", "list --limit 400 --json"])
@pytest.mark.parametrize("mode", [[], ["-u"]])
def test_nobody_reads_the_answer_any_more(command: str, mode: list[str]) -> None:
    # More than a pipe takes in, also where a table shows only the beginning of each memory.
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n} {'x' * 3_000}" for n in range(400)))
    program = (
        "import sys; from ricordo.cli.main import main;"
        " code = main(sys.argv[1:]); sys.stderr.write(f'returned {code}'); sys.exit(code)"
    )
    with subprocess.Popen(
        [sys.executable, *mode, "-c", program, *command.split()],
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(1)
        running.stdout.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (1, b"returned 1")


@pytest.mark.slow
@pytest.mark.requirement("cli.errors")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ran = process("users", "--json", stdout=full)
    assert ran.returncode == 1
    assert json.loads(ran.stderr)["error"] == "OSError"


@pytest.mark.slow
@pytest.mark.requirement("cli.json")
def test_json_is_utf8_and_people_get_an_answer_in_any_encoding() -> None:
    ricordo("add", "Trinkt Grüntee 🍵")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for_programs = process("get", "1", "--json", env=ascii_only, encoding="utf-8")
    assert json.loads(for_programs.stdout)["content"] == "Trinkt Grüntee 🍵"
    for_people = process("get", "1", env=ascii_only)
    assert (for_people.returncode, "Trinkt Gr?ntee ?" in for_people.stdout) == (0, True)


# -- terminals -----------------------------------------------------------------------------


@contextlib.contextmanager
def terminal(*arguments: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """The command with all its streams on a terminal, and our end of that."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as running:
        os.close(theirs)
        yield running, ours
    os.close(ours)


def _read(ours: int, until: str | None = None) -> str:
    """What is shown until it has this text, or to the end."""
    said = b""
    with contextlib.suppress(OSError):  # how a terminal says that its other end was closed
        while until is None or until.encode() not in said:
            said += os.read(ours, 65_536)
    assert until is None or until in said.decode(), said
    return said.decode()


@pytest.mark.slow
@pytest.mark.requirement("cli.erase")
@pytest.mark.requirement("cli.colours")
def test_a_person_at_a_real_terminal() -> None:
    ricordo("add", "Prefers tea", "-u", "ana")
    with terminal("doctor") as (_, ours):
        assert "\x1b[32mok" in _read(ours)
    with terminal("erase", "ana") as (running, ours):
        _read(ours, "Type ana to go on: ")
        os.write(ours, b"ana\n")
        assert "Erased user 'ana'" in _read(ours)
    assert (running.returncode, ricordo("users", "--json").json) == (0, [])


@pytest.mark.slow
@pytest.mark.requirement("cli.progress")
def test_what_takes_long_shows_so_and_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer = threading.Event()
    with FaultyModel() as model:
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", model.model)
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", model.base_url)
        model.answer_with(lambda _asked: {"hour": 9, "destination": "coast"})
        model.before_answer = lambda: _wait(may_answer)
        with terminal("model", "test") as (running, ours):
            _read(ours, "Asking the model")  # it waits for the model, and says so meanwhile
            may_answer.set()
            said = _read(ours)
    assert (running.returncode, "json_schema" in said) == (0, True)
    assert "\x1b[2K" in said  # the line is wiped


def _wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE_SECONDS)


# -- signals -------------------------------------------------------------------------------


def _last_of_batch(tmp_path: Path) -> tuple["subprocess.Popen[str]", int]:
    """A command that waits for the next line of a batch, and where to write that line."""
    pipe = tmp_path / "batch"
    os.mkfifo(pipe)
    running = subprocess.Popen(
        [COMMAND, "add", "--batch", str(pipe)], stderr=subprocess.PIPE, text=True
    )
    # Opening waits until the command has opened the other end, so that it is surely under way.
    return running, os.open(pipe, os.O_WRONLY)


@pytest.mark.chaos
@pytest.mark.requirement("cli.exit-codes")
def test_an_interrupt_ends_without_a_traceback(tmp_path: Path) -> None:
    running, pipe = _last_of_batch(tmp_path)
    with running:
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=PATIENCE_SECONDS)
    os.close(pipe)
    assert (running.returncode, said) == (130, "")
    assert ricordo("users", "--json").json == []


@pytest.mark.chaos
@pytest.mark.requirement("cli.errors")
def test_a_kill_before_the_end_of_a_batch_leaves_nothing_behind(tmp_path: Path) -> None:
    running, pipe = _last_of_batch(tmp_path)
    with running:
        os.write(pipe, b"One\nTwo\n")
        running.kill()
        running.communicate(timeout=PATIENCE_SECONDS)
    os.close(pipe)
    assert running.returncode == -signal.SIGKILL
    assert ricordo("list", "--json").json["items"] == []


@pytest.mark.chaos
@pytest.mark.requirement("cli.errors")
def test_a_kill_while_a_batch_is_written_leaves_whole_batches(tmp_path: Path) -> None:
    running, pipe = _last_of_batch(tmp_path)
    with running:
        with os.fdopen(pipe, "w") as batch:
            batch.writelines(f"Fact {number}\n" for number in range(5_000))
        running.kill()  # somewhere between reading the last line and having written all
        running.communicate(timeout=PATIENCE_SECONDS)
    assert ricordo("doctor").code == 0
    assert ricordo("changes", "--json").json["revision"] % 1_000 == 0


# -- workers -------------------------------------------------------------------------------


def _worker(url: str, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [COMMAND, "worker", "--db", url, "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RICORDO_JOB_POLL_SECONDS": "0.05"},
    )


@pytest.mark.slow
@pytest.mark.requirement("jobs.worker")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_does_the_work_of_others_and_ends_cleanly(
    backend_url: str, number: signal.Signals
) -> None:
    with (
        _worker(backend_url, "--threads", "2") as worker,
        open_memory(backend_url, run_jobs=False, formation_delay_seconds=0) as memory,
    ):
        assert worker.stdout is not None
        assert json.loads(worker.stdout.readline())["threads"] == 2
        ana = memory.user("ana")
        ana.observe([{"role": "user", "content": "I love jazz music."}], thread="talk")
        wait_until(ana.list)
        worker.send_signal(number)
        out, err = worker.communicate(timeout=PATIENCE_SECONDS)
        assert worker.returncode == 0, err
        assert json.loads(out) == {"stopped": memory.database.backend.location}
        assert not memory.jobs(state="running")
