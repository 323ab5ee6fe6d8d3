"""What a terminal shows: colours where they are wanted, tables that fit, progress that goes."""

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from ricordo.cli import render
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo
from tests.surfaces.screens import Screen, on_screen

pytestmark = [pytest.mark.requirement("cli.colours"), pytest.mark.requirement("cli.progress")]
ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
GREEN = "\x1b[32mok"


@pytest.fixture(autouse=True)
def at_home(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_URL", sqlite_url)


# -- colours and tables --------------------------------------------------------------------


def test_colours_on_a_terminal_that_wants_them_and_nowhere_else() -> None:
    ricordo("add", f"Prefers tea {'and more tea ' * 15}")
    assert GREEN in on_screen("doctor")[1]
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        for command in ("list", "add x", "bogus"):
            assert COLOUR.search(on_screen(*command.split(), **variables)[1]) is None
    said = on_screen("list", "--json")[1]
    assert ESCAPE not in said
    json.loads(said)


def test_a_pipe_has_whole_lines_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
    long = f"Prefers tea {'and more tea ' * 10}to coffee"
    ricordo("add", long)
    assert ESCAPE not in ricordo("doctor").out
    said = ricordo("list").out
    assert ESCAPE not in said
    heading, row = said.splitlines()
    assert heading.split() == ["ID", "Theme", "Type", "Key", "Updated", "(UTC)", "Memory"]
    assert row.startswith("1 ")
    assert row.endswith(long)
    assert len(on_screen("list")[1].splitlines()) > 4


def test_a_memory_cannot_command_the_terminal() -> None:
    evil = "Plain \x1b[31mred\x1b]0;title\x07 [bold]:smile:[/bold]\nsecond\tline\x9b2J"
    assert ricordo("add", evil, "--theme", "t").code == 0
    for command in ("list", "get 1", "pin 1", "search red", "query red"):
        said = ricordo(*command.split()).out
        assert not set(said) & {"\x1b", "\x07", "\x9b"}
        assert "[31mred" in said
        assert "[bold]:smile:[/bold]" in said
    assert "\x1b[31mred" not in on_screen("list")[1]
    assert ricordo("get", "1", "--json").json["content"] == evil


def test_tables_fit_and_lose_nothing() -> None:
    texts = ["Trinkt gern 緑茶 und コーヒー", "短い", "A🍵B", "Naïve café", f"http://x/{'y' * 120}"]
    ricordo("add", "--batch", "-", "--theme", "飲み物", stdin="\n".join(texts))
    for columns in (200, 100, 80, 40, 20):
        _, said = on_screen("list", COLUMNS=str(columns), NO_COLOR="1")
        assert [line for line in said.split("\n") if cell_len(line) > columns] == []
        seen = set(re.sub(r"\s", "", said))
        assert [text for text in texts if not set(re.sub(r"\s", "", text)) <= seen] == []
    assert "Theme: 飲み物" in on_screen("list", COLUMNS="30", NO_COLOR="1")[1]


def test_no_pager_is_started() -> None:
    ricordo("add", "--batch", "-", stdin="\n".join(f"Fact {n}" for n in range(60)))
    code, said = on_screen("list", "--limit", "60", PAGER="false", MANPAGER="false", LINES="10")
    assert (code, "Fact 0" in said, "Fact 59" in said) == (0, True, True)


# -- progress ------------------------------------------------------------------------------


class _Timer:
    """A timer that goes off when the test says so."""

    started: "list[_Timer]" = []  # noqa: RUF012 - emptied by each test

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        assert seconds == render.SHOWN_AFTER_SECONDS
        self.go_off = function
        self.is_cancelled = False
        self.daemon = False

    def start(self) -> None:
        self.started.append(self)

    def cancel(self) -> None:
        self.is_cancelled = True


@contextlib.contextmanager
def screen(term: str = "xterm-256color") -> Iterator[Screen]:
    made = Screen()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(made):
        patch.setattr(threading, "Timer", _Timer)
        patch.setenv("TERM", term)
        _Timer.started = []
        yield made


def test_a_bar_comes_after_a_second_and_shows_how_far_it_is() -> None:
    with screen() as seen:
        with render.progress_bar("Counting", wanted=True) as move:
            move(1, 4)
            assert seen.said == ""
            (timer,) = _Timer.started
            timer.go_off()
            move(2, 4)
        assert "Counting" in seen.said
        assert "50%" in seen.said
        assert timer.is_cancelled


def test_a_line_says_what_is_being_done_and_is_wiped_off() -> None:
    with screen() as seen:
        with render.working("Looking", wanted=True) as tell:
            _Timer.started[0].go_off()
            tell("Looking elsewhere")
        assert "\x1b[2K" in seen.said.rpartition("Looking elsewhere")[2]
    with screen() as seen:
        with render.working("Working", wanted=True) as tell:
            tell("Working on")  # done at once
        _Timer.started[0].go_off()  # too late
        assert seen.said == ""


@pytest.mark.parametrize(
    ("term", "wanted"), [("xterm-256color", False), ("dumb", True), ("", True)]
)
def test_nothing_is_shown_where_it_is_not_wanted_or_cannot_be_taken_back(
    term: str, wanted: bool
) -> None:
    with screen(term) as seen:
        with render.working("Looking", wanted=wanted) as tell:
            tell("Looking elsewhere")
            assert _Timer.started == []
        assert seen.said == ""


LONG = {
    "add --batch -": "Adding",
    "audit": "Examining memories",
    "compact t": "Summarising",
    "consolidate": "Comparing memories",
    "doctor": "Looking around",
    "embeddings rebuild --yes": "Making vectors",
    "export {}/out.jsonl": "Exporting",
    "form": "Forming memories",
    "import {}/in.jsonl": "Importing",
    "jobs run": "Running jobs",
    "migrate": "Bringing the database up to date",
    "mirror sync": "Syncing files",
    "observe --thread t": "Observing",
    "purge": "Removing for good",
    "reindex": "Rebuilding search terms",
    "summary": "Summing up",
    "upkeep": "Tending memories",
    "erase me --yes": "Erasing",
}


@pytest.mark.parametrize("command", LONG)
def test_every_long_command_tells_what_it_does(
    command: str, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(sqlite_url, run_jobs=False) as memory:
        memory.user("me").add("Prefers tea")
        memory.user("me").observe([{"role": "user", "content": "Hi"}], thread="t")
        memory.user("me").export(tmp_path / "in.jsonl")
    monkeypatch.setenv("RICORDO_FILES", str(tmp_path / "files"))
    if "embeddings" in command:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "local")
    told: list[str] = []
    real = render._display

    def noted(description: str, *, wanted: bool) -> object:
        if wanted:
            told.append(description)
        return real(description, wanted=wanted)

    monkeypatch.setattr(render, "_display", noted)
    arguments = command.format(tmp_path).split()
    ran = ricordo(*arguments, stdin="user: Hello\n")
    assert ran.code == 0, ran.err
    assert LONG[command] in told
    told.clear()
    assert ricordo(*arguments, "--json", stdin="user: Hello\n").code in (0, 3)
    assert told == []
