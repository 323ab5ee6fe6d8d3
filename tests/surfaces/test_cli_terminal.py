"""What a terminal shows: colours where they are wanted, tables that fit, progress that goes."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from ricordo.cli import progress
from ricordo.errors import StorageError
from ricordo.testing.model_server import ModelServer
from tests.support.commandline import COMMAND, ricordo

ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
GREEN = "\x1b[32mok"


class Terminal:
    """A command with standard output and error on a terminal of its own."""

    def __init__(self, *arguments: str, piped: tuple[str, ...] = (), **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        streams = {
            name: subprocess.PIPE if name in piped else theirs for name in ("stdout", "stderr")
        }
        self.running = subprocess.Popen(
            [COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            env={
                **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
                "TERM": "xterm-256color",
                "COLUMNS": "100",
                **environment,
            },
            **streams,  # type: ignore[call-overload]
        )
        os.close(theirs)
        self.said = ""

    def read_until(self, wanted: str) -> None:
        """Read what is shown until it has the text."""
        while wanted not in self.said:
            assert self._read_some(), f"{wanted!r} never came: {self.said!r}"

    def end(self) -> tuple[int, str]:
        """Read to the end; the exit code, and all that was shown."""
        while self._read_some():
            pass
        os.close(self._ours)
        code = self.running.wait(timeout=60)
        for stream in (self.running.stdout, self.running.stderr):
            if stream is not None:
                stream.close()
        return code, self.said

    def _read_some(self) -> bool:
        try:
            some = os.read(self._ours, 65_536)
        except OSError:  # how a terminal says that its other end was closed
            return False
        self.said += some.decode(errors="replace")
        return bool(some)


def shown(*arguments: str, **environment: str) -> str:
    return Terminal(*arguments, piped=(), **environment).end()[1]


# -- colours -------------------------------------------------------------------------------------


@pytest.mark.requirement("cli.colours")
def test_colours_on_a_terminal_and_nowhere_else() -> None:
    ricordo("add", "Prefers tea")
    assert GREEN in shown("doctor")
    assert ESCAPE not in ricordo("doctor").out


@pytest.mark.requirement("cli.colours")
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("command", [["doctor"], ["list"], ["add", "Has a cat"], ["bogus"]])
def test_a_terminal_without_colours(command: list[str], variables: dict[str, str]) -> None:
    assert COLOUR.search(shown(*command, **variables)) is None


@pytest.mark.requirement("cli.colours")
@pytest.mark.parametrize("command", [["doctor"], ["list"], ["version"]])
def test_json_has_no_colours_even_on_a_terminal(command: list[str]) -> None:
    said = shown(*command, "--json")
    assert ESCAPE not in said
    json.loads(said)


@pytest.mark.requirement("cli.colours")
def test_a_pipe_has_none_whatever_else_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
    ricordo("add", f"Prefers tea {'and more tea ' * 15}")
    for command in ("doctor", "list"):
        said = ricordo(command).out
        assert ESCAPE not in said
    assert len(ricordo("list").out.splitlines()) == 2  # each row on one line


@pytest.mark.requirement("cli.colours")
def test_no_pager_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n}" for n in range(200)))
    code, said = Terminal(
        "list", "--limit", "400", PAGER="false", MANPAGER="false", LINES="10"
    ).end()
    assert code == 0
    assert "Fact 0" in said
    assert "Fact 199" in said


# -- tables --------------------------------------------------------------------------------------


@pytest.mark.requirement("cli.colours")
@pytest.mark.parametrize("columns", [200, 100, 80, 40, 20])
def test_tables_fit_and_lose_nothing(columns: int) -> None:
    texts = ["Trinkt gern 緑茶 und コーヒー", "短い", "A🍵B", "Naïve café", f"http://x/{'y' * 120}"]
    ricordo("add", "--batch", "-", "--theme", "飲み物", stdin="\n".join(texts))
    said = shown("list", COLUMNS=str(columns), NO_COLOR="1")
    lines = [line.rstrip("\r") for line in said.split("\n")]
    assert [line for line in lines if cell_len(line) > columns] == []
    seen = re.sub(r"\s", "", said)
    missing = [text for text in texts if not set(re.sub(r"\s", "", text)) <= set(seen)]
    assert missing == []


@pytest.mark.requirement("cli.colours")
def test_a_narrow_terminal_names_each_value() -> None:
    ricordo("add", "Prefers tea", "--theme", "drinks")
    said = shown("list", COLUMNS="30", NO_COLOR="1")
    assert "Theme: drinks" in said
    assert "Memory: Prefers tea" in said


# -- progress ------------------------------------------------------------------------------------


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model that answers when the test lets it."""
    with ModelServer() as server:
        monkeypatch.setenv("RICORDO_MODEL_PROVIDER", "custom_http")
        monkeypatch.setenv("RICORDO_MODEL_NAME", server.model)
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", server.base_url)
        server.answer_with(lambda _asked: {"hour": 9, "destination": "coast"})
        yield server


@pytest.mark.requirement("cli.progress")
def test_what_takes_long_shows_so_and_takes_it_back(model: ModelServer) -> None:
    may_answer = threading.Event()
    model.before_answer = lambda: _wait(may_answer)
    terminal = Terminal("model", "test")
    terminal.read_until("Asking the model")  # it waits for the model, and says so meanwhile
    may_answer.set()
    code, said = terminal.end()
    assert (code, "json_schema" in said) == (0, True)
    assert "\x1b[2K" in said  # the line is wiped


@pytest.mark.requirement("cli.progress")
def test_nothing_of_it_where_nobody_looks(model: ModelServer) -> None:
    may_answer = threading.Event()
    asked = threading.Event()

    def hold() -> None:
        asked.set()
        _wait(may_answer)

    model.before_answer = hold
    # Longer than it takes for a bar to come is not waited for: there is nothing that could come.
    for arguments, piped in ((["--json"], ()), ([], ("stderr",)), ([], ("stdout", "stderr"))):
        may_answer.clear()
        terminal = Terminal("model", "test", *arguments, piped=piped)
        assert asked.wait(60)
        may_answer.set()
        code, said = terminal.end()
        assert (code, "Asking" in said) == (0, False)


def _wait(event: threading.Event) -> None:
    assert event.wait(60)


class _Screen:
    """Standard error of a terminal, for what runs in this process."""

    def __init__(self) -> None:
        self.said = ""

    def write(self, text: str) -> int:
        self.said += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


class _Timer:
    """A timer that goes off when the test says so."""

    started: "list[_Timer]" = []  # noqa: RUF012 - emptied by each test

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        assert seconds == progress.SHOWN_AFTER_SECONDS
        self.go_off = function
        self.is_cancelled = False
        self.daemon = False

    def start(self) -> None:
        self.started.append(self)

    def cancel(self) -> None:
        self.is_cancelled = True


@contextlib.contextmanager
def screen(term: str = "xterm-256color") -> Iterator[_Screen]:
    made = _Screen()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(made):
        patch.setattr(threading, "Timer", _Timer)
        patch.setenv("TERM", term)
        _Timer.started = []
        yield made


@pytest.mark.requirement("cli.progress")
def test_a_bar_comes_after_a_second_and_shows_how_far_it_is() -> None:
    with screen() as seen:
        with progress.progress_bar("Counting", wanted=True) as move:
            move(1, 4)
            assert seen.said == ""
            (timer,) = _Timer.started
            timer.go_off()
            move(2, 4)
        assert "Counting" in seen.said
        assert "50%" in seen.said
        assert timer.is_cancelled


@pytest.mark.requirement("cli.progress")
def test_what_is_done_at_once_shows_nothing() -> None:
    with screen() as seen:
        with progress.working("Working", wanted=True) as tell:
            tell("Working on")
        assert seen.said == ""
        _Timer.started[0].go_off()  # too late
        assert seen.said == ""


@pytest.mark.requirement("cli.progress")
def test_a_line_says_what_is_being_done() -> None:
    with screen() as seen:
        with progress.working("Looking", wanted=True) as tell:
            _Timer.started[0].go_off()
            tell("Looking elsewhere")
        assert "Looking elsewhere" in seen.said
        assert "\x1b[2K" in seen.said.rpartition("Looking elsewhere")[2]  # the line is wiped off


@pytest.mark.requirement("cli.progress")
def test_whoever_asks_for_json_on_a_terminal_sees_nothing_of_it() -> None:
    with screen() as seen:
        with progress.working("Looking", wanted=False) as tell:
            tell("Looking elsewhere")
            assert _Timer.started == []
        assert seen.said == ""


@pytest.mark.requirement("cli.progress")
@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_take_back_shows_nothing(term: str) -> None:
    with screen(term) as seen:
        with progress.working("Looking", wanted=True), progress.working("Looking", wanted=False):
            assert _Timer.started == []
        assert seen.said == ""


LONG = {
    "add": "Adding",
    "audit": "Looking memories over",
    "compact": "Compacting",
    "consolidate": "Comparing memories",
    "doctor": "Looking around",
    "embeddings": "Making vectors",
    "erase": "Erasing",
    "export": "Exporting",
    "form": "Forming memories",
    "import": "Importing",
    "jobs": "Running jobs",
    "migrate": "Bringing the database up to date",
    "mirror": "Syncing files",
    "observe": "Observing",
    "purge": "Removing for good",
    "reindex": "Making search terms",
    "summary": "Summing up",
    "upkeep": "Tending memories",
}
CALLS = {
    "add": ("add", "--batch", "-"),
    "embeddings": ("embeddings", "rebuild", "--yes"),
    "compact": ("compact", "t"),
    "erase": ("erase", "me", "--yes"),
    "export": ("export", "{}/out.jsonl"),
    "import": ("import", "{}/in.jsonl"),
    "jobs": ("jobs", "run"),
    "mirror": ("mirror", "sync"),
    "observe": ("observe", "--thread", "t"),
}


@pytest.mark.requirement("cli.progress")
@pytest.mark.parametrize("command", sorted(LONG))
def test_every_long_command_tells_what_it_does(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ricordo("add", "Prefers tea")
    ricordo("observe", "--thread", "t", stdin="user: Hi\n")
    (tmp_path / "in.jsonl").write_text(ricordo("export").out)
    if command == "embeddings":
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "local")
    told: list[str] = []
    real = progress._display

    def noted(description: str, *, wanted: bool) -> object:
        if wanted:
            told.append(description)
        return real(description, wanted=wanted)

    monkeypatch.setattr(progress, "_display", noted)
    arguments = [part.format(tmp_path) for part in CALLS.get(command, (command,))]
    ran = ricordo(*arguments, stdin="user: Hello\n")
    assert ran.code == 0, ran.err
    assert LONG[command] in told
    told.clear()
    assert ricordo(*arguments, "--json", stdin="user: Hello\n").code in (0, 3)
    assert told == []


@pytest.mark.requirement("cli.progress")
@pytest.mark.parametrize("failing", [StorageError("closed meanwhile"), ValueError("closed")])
def test_what_breaks_because_of_an_interruption_is_one(
    failing: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_given: object, **_named: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise failing

    monkeypatch.setattr("ricordo.memory.Memory.users", stopped)
    ran = ricordo("users")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


@pytest.mark.requirement("cli.progress")
@pytest.mark.parametrize(
    "arguments", [["export"], ["list", "--limit", "400"], ["list", "--limit", "400", "--json"]]
)
@pytest.mark.parametrize("mode", [[], ["-u"]])
def test_nobody_reads_the_answer_any_more(arguments: list[str], mode: list[str]) -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n} {'x' * 3_000}" for n in range(400)))
    program = (
        "import sys; from ricordo.cli.main import main;"
        " code = main(sys.argv[1:]); sys.stderr.write(f'returned {code}'); sys.exit(code)"
    )
    with subprocess.Popen(
        [sys.executable, *mode, "-c", program, *arguments],
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
