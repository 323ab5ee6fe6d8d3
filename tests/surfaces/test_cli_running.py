"""The command as a process: streams, signals, pipes, start-up.

What needs a process of its own runs the installed command; the rest calls its ``main``.
"""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ricordo.memory import Memory
from ricordo.version import __version__
from tests.support.commandline import COMMAND, ricordo

HEAVY = ("sqlalchemy", "alembic", "pydantic", "psycopg", "rich", "ricordo.wiring")


def process(*arguments: str, **settings: Any) -> "subprocess.CompletedProcess[str]":
    """Run the installed command to its end."""
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60, **settings
    )


def to_closed_pipe(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run the installed command when nobody reads what it says any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [COMMAND, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)


def on_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run the installed command with standard output and error on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    ) as running:
        os.close(theirs)
        said = _read_to_end(ours)
        code = running.wait(timeout=60)
    os.close(ours)
    return code, said


def _read_to_end(terminal: int) -> str:
    said = b""
    with contextlib.suppress(OSError):  # how a terminal says that its other end was closed
        while some := os.read(terminal, 65_536):
            said += some
    return said.decode()


def _last_of_batch(tmp_path: Path) -> tuple["subprocess.Popen[str]", int]:
    """A command that waits for the next line of a batch, and where to write that line."""
    pipe = tmp_path / "batch"
    os.mkfifo(pipe)
    running = subprocess.Popen(
        [COMMAND, "add", "--batch", str(pipe)], stderr=subprocess.PIPE, text=True
    )
    # Opening waits until the command has opened the other end, so that it is surely under way.
    return running, os.open(pipe, os.O_WRONLY)


# -- start-up ------------------------------------------------------------------------------


@pytest.mark.requirement("cli.commands")
def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from ricordo.cli.main import main\n"
        "main(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.requirement("cli.commands")
def test_without_a_command_there_is_help() -> None:
    assert ricordo() == ricordo("--help") == ricordo("-h")
    assert ricordo("jobs", "-h") == ricordo("jobs", "--help")
    assert ricordo().out.startswith("Usage: ricordo")


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


@pytest.mark.requirement("cli.commands")
def test_the_shell_can_complete() -> None:
    def offered(words: str) -> list[str]:
        count = len(words.split(" ")) - 1
        ran = process(
            env={
                **os.environ,
                "_RICORDO_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(count),
            }
        )
        return ran.stdout.split()

    assert offered("ricordo the") == ["themes", "theme"]
    assert offered("ricordo list --type pr") == ["preference", "procedure"]
    assert offered("ricordo list --sort last") == ["last_accessed_at", "last_verified_at"]
    assert offered("ricordo import --format ric") == ["ricordo"]


# -- streams -------------------------------------------------------------------------------


@pytest.mark.requirement("cli.errors")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["list"], ["list", "--json"], ["export"], ["get", "1"], ["doctor"]]
)
def test_a_closed_pipe_is_no_reason_to_complain(arguments: list[str]) -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n} {'x' * 90}" for n in range(1_000)))
    ran = to_closed_pipe([*arguments, *(["--limit", "1000"] if arguments[0] == "list" else [])])
    assert (ran.returncode, ran.stderr) == (1, "")


@pytest.mark.requirement("cli.errors")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [COMMAND, "users", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert json.loads(ran.stderr)["error"] == "OSError"


@pytest.mark.requirement("cli.json")
def test_json_is_utf8_and_people_get_an_answer_in_any_encoding() -> None:
    ricordo("add", "Trinkt Grüntee 🍵")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for_programs = subprocess.run(
        [COMMAND, "get", "1", "--json"], capture_output=True, env=ascii_only, check=True
    )
    assert json.loads(for_programs.stdout.decode("utf-8"))["content"] == "Trinkt Grüntee 🍵"
    for_people = process("get", "1", env=ascii_only)
    assert (for_people.returncode, "Trinkt Gr?ntee ?" in for_people.stdout) == (0, True)


@pytest.mark.requirement("cli.commands")
def test_colours_are_for_terminals_that_want_them() -> None:
    ricordo("add", "Prefers tea")
    green = "\x1b[32mok"
    assert green in on_terminal("doctor")[1]
    assert green not in on_terminal("doctor", NO_COLOR="1")[1]
    assert "\x1b" not in ricordo("doctor").out


@pytest.mark.requirement("cli.commands")
def test_a_memory_cannot_command_the_terminal() -> None:
    evil = "Plain \x1b[31mred\x1b]0;title\x07 [bold]:smile:[/bold]\nsecond\tline\x9b2J"
    assert ricordo("add", evil, "--theme", "t").code == 0
    for arguments in (["list"], ["get", "1"], ["pin", "1"]):
        said = ricordo(*arguments).out
        assert not set(said) & {"\x1b", "\x07", "\x9b"}
        assert "[31mred" in said
        assert "[bold]:smile:[/bold]" in said
    assert "\x1b[31mred" not in on_terminal("list")[1]
    assert ricordo("get", "1", "--json").json["content"] == evil


@pytest.mark.requirement("cli.commands")
def test_a_pipe_gets_one_whole_line_for_each_memory() -> None:
    long = "Says " + "very " * 30 + "much"
    ricordo("add", long)
    heading, row = ricordo("list").out.splitlines()
    assert heading.split() == ["ID", "Theme", "Type", "Key", "Updated", "(UTC)", "Memory"]
    assert row.startswith("1 ")
    assert row.endswith(long)
    assert len(on_terminal("list")[1].splitlines()) > 4


@pytest.mark.requirement("cli.commands")
def test_an_import_on_a_terminal_and_without(tmp_path: Path) -> None:
    ricordo("add", "Prefers tea")
    backup = tmp_path / "backup.jsonl"
    ricordo("export", backup)
    code, said = on_terminal("import", str(backup), "-u", "ben")
    assert (code, "restored" in said) == (0, True)
    assert ricordo("import", backup, "-u", "cem").err == ""
    assert "Importing" not in on_terminal("import", str(backup), "-u", "dan", "--json")[1]


# -- signals -------------------------------------------------------------------------------


@pytest.mark.requirement("cli.exit-codes")
def test_an_interrupt_ends_without_a_traceback(tmp_path: Path) -> None:
    running, pipe = _last_of_batch(tmp_path)
    with running:
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    os.close(pipe)
    assert (running.returncode, said) == (130, "")
    assert ricordo("users", "--json").json == []


@pytest.mark.requirement("cli.errors")
def test_a_kill_before_the_end_of_a_batch_leaves_nothing_behind(tmp_path: Path) -> None:
    running, pipe = _last_of_batch(tmp_path)
    with running:
        os.write(pipe, b"One\nTwo\n")
        running.kill()
        running.communicate(timeout=60)
    os.close(pipe)
    assert running.returncode == -signal.SIGKILL
    assert ricordo("list", "--json").json["items"] == []


@pytest.mark.requirement("cli.errors")
def test_a_kill_while_a_batch_is_written_leaves_whole_batches(tmp_path: Path) -> None:
    running, pipe = _last_of_batch(tmp_path)
    with running:
        with os.fdopen(pipe, "w") as batch:
            batch.writelines(f"Fact {number}\n" for number in range(5_000))
        running.kill()  # somewhere between reading the last line and having written all
        running.communicate(timeout=60)
    assert ricordo("doctor").code == 0
    assert ricordo("changes", "--json").json["revision"] % 1_000 == 0


# -- the unexpected ------------------------------------------------------------------------


def _break(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise KeyError("gone")

    monkeypatch.setattr(Memory, "users", broken)


@pytest.mark.requirement("cli.errors")
def test_a_fault_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch)
    ran = ricordo("users")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: unexpected KeyError: 'gone'; please report\nhint: ")
    ran = ricordo("users", "--json")
    assert (ran.code, ran.error["error"]) == (1, "KeyError")


@pytest.mark.requirement("cli.errors")
def test_a_developer_gets_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch)
    monkeypatch.setenv("RICORDO_DEBUG", "1")
    with pytest.raises(KeyError, match="gone"):
        ricordo("users")


def test_a_command_that_ends_the_process_at_once_leaves_nothing_behind(tmp_path: Path) -> None:
    """Also what Python would have done at its end is done: a throw-away store is removed."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for line, code in ((["list"], 0), (["get", "7"], 3)):
        ran = subprocess.run(
            [COMMAND, *line, "--db", ":memory:", "--json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
        assert json.loads(ran.stdout or ran.stderr)
        assert list(tmp_path.iterdir()) == []


def test_what_a_command_said_before_it_failed_is_not_lost(tmp_path: Path) -> None:
    """The first key is shown once; whatever fails after that, it must have been seen."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = subprocess.run(
            [COMMAND, "serve", "--db", str(tmp_path / "m.db"), "--port", port],
            env={**os.environ, "RICORDO_REQUIRE_KEYS": "true"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 2, ran.stderr
    assert "cannot listen" in ran.stderr
    assert "rk_" in ran.stdout
