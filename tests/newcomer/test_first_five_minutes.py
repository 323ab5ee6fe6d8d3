"""A newcomer with the source in a folder, and the README: from `make serve` on, without surprise.

What is done is taken from the README itself. Four things differ from a bare machine. The packages
that `make serve` would fetch are where the tests have theirs, so that pip finds most of them there
already. The port is a free one, not 8377, the home folder one of the test's own, and a search may
take its time.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.docs.markdown import ROOT, Block, blocks
from tests.docs.reading import assert_shown, read_console
from tests.support.building import Distribution, built, new_venv, plain_environment
from tests.support.waiting import PATIENCE_SECONDS, wait_until

README = ROOT / "README.md"
DONE = "-- done --"
USUAL_PORT = re.compile(r"(?<=localhost:|127.0.0.1:)8377")
SETTING_UP_SECONDS = 600.0
ACKNOWLEDGED_BEFORE_THE_KILL = 20
MISTAKES = {  # what is typed, and what must be in the two lines that come back
    "ricordo serch tea": ("No such command 'serch'. Did you mean 'search'", "ricordo --help"),
    "ricordo add 'Likes tea' --them drinks": ("unknown argument 'them'", "ricordo add --help"),
    "ricordo get 999": ("no memory 999", "ricordo list"),
    "ricordo forget one": ("id: 'one' is not a whole number", "ricordo forget --help"),
    "ricordo add '  '": ("content", "ricordo add --help"),
    "ricordo import no-such-file": ("no-such-file: cannot be read", "fix what is named"),
    "ricordo serve --port PORT": ("port PORT: Address already in use", "RICORDO_PORT"),
}
WRONG_CALLS = {  # what is sent, and what the answer must say
    """curl -s localhost:8377/v1/memories -H 'X-Ricordo-User: ana' --json '{"content": '""": (
        "the body is not JSON"
    ),
    """curl -s localhost:8377/v1/memories --json '{"content": "Likes tea"}'""": (
        "the request names no user: send X-Ricordo-User"
    ),
    """curl -s localhost:8377/v1/memories -H 'X-Ricordo-User: ana' --json '{"text": "Tea"}'""": (
        "unknown argument 'text'; allowed: "
    ),
    "curl -s localhost:8377/v1/memories/999 -H 'X-Ricordo-User: ana'": "no memory 999",
}


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    return built(tmp_path_factory)


@pytest.mark.slow
@pytest.mark.requirement("docs.newcomer")
@pytest.mark.timeout(900)
def test_the_first_five_minutes(distribution: Distribution, tmp_path: Path) -> None:
    with newcomer(distribution, tmp_path) as ana:
        ana.serves()
        ana.looks_at_the_page()
        ana.follows_the_readme()
        ana.makes_mistakes()
        remembered = ana.adds_until_it_is_killed()
        ana.serves()
        ana.misses_nothing_of(remembered)


@contextlib.contextmanager
def newcomer(distribution: Distribution, folder: Path) -> Iterator["Newcomer"]:
    source = distribution.unpack(folder)
    new_venv(source / ".venv")
    made = Newcomer(source, folder / "home")
    try:
        yield made
    finally:
        made.kill()


def fenced(language: str, under: str, until: str) -> list[Block]:
    """The blocks of the README between two headings."""
    lines = README.read_text(encoding="utf-8").splitlines()
    first, last = lines.index(under), lines.index(until)
    return [one for one in blocks(README) if first < one.line <= last and one.language == language]


class Newcomer:
    """Somebody at two terminals in the folder of the source."""

    def __init__(self, source: Path, home: Path) -> None:
        self._source = source
        self._environment = plain_environment(
            RICORDO_HOME=str(home), RICORDO_PORT="0", PYTHON=sys.executable, PYTHONUNBUFFERED="1"
        )
        self._service: subprocess.Popen[str] | None = None
        self._reading: threading.Thread | None = None
        self._said: list[str] = []
        self._url = ""

    def serves(self) -> None:
        """The first of the two commands, as the README has it."""
        (both,) = fenced("sh", "## Two commands", "## The first five minutes")
        command = both.first_line
        assert command.split()[:2] == ["make", "serve"]
        self._said = []
        self._service = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._source,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._service.stdout is not None
        self._reading = threading.Thread(target=self._said.extend, args=(self._service.stdout,))
        self._reading.start()
        wait_until(self._is_serving, SETTING_UP_SECONDS)
        (line,) = [one for one in self._said if one.startswith("Serving ")]
        assert line.endswith(" (open it in a browser; Ctrl-C stops it).\n")
        self._url = re.findall(r" at (http://127\.0\.0\.1:\d+) ", line)[0]

    def _is_serving(self) -> bool:
        assert self._service is not None
        assert self._service.poll() is None, "".join(self._said)
        return any(one.startswith("Serving ") for one in self._said)

    def looks_at_the_page(self) -> None:
        """The addresses that the README has links to, and the health of the service."""
        linked = re.findall(r"<http://127\.0\.0\.1:8377(/?\w*)>", README.read_text("utf-8"))
        assert linked == ["", "/docs"]
        with httpx2.Client(base_url=self._url, follow_redirects=True) as browser:
            for path in (*linked, "/readyz"):
                assert browser.get(path or "/").status_code == 200, path
            assert "<title>" in browser.get("/").text

    def follows_the_readme(self) -> None:
        under, until = "## The first five minutes", "### In front of any chat model"
        for block in fenced("console", under, until):
            told = list(read_console(block))
            script = "".join(f"{command}\necho '{DONE}'\n" for command, _ in told)
            shown = self._types(f"exec 2>&1\n{script}").stdout.split(f"{DONE}\n")
            for (command, expected), actual in zip(told, shown, strict=False):
                assert_shown(f"README.md, line {block.line}: {command}", expected, actual)
            assert len(shown) == len(told) + 1
        codes = [one.text for one in fenced("python", under, until)]
        program = f"print('{DONE}')\n".join(codes)
        printed = self._types(f"python - <<'THE-END'\n{program}\nTHE-END\n")
        assert printed.returncode == 0, printed.stderr
        said = [one.text for one in fenced("output", under, until)]
        for expected, actual in zip(said, printed.stdout.split(f"{DONE}\n"), strict=True):
            assert_shown("README.md, Python", expected, actual)

    def makes_mistakes(self) -> None:
        """Each gets one line that says what is wrong, and one with a way out."""
        port = self._url.rpartition(":")[2]
        for command, (wrong, way_out) in MISTAKES.items():
            done = self._types(command.replace("PORT", port))
            lines = done.stderr.splitlines()
            assert done.returncode != 0, command
            assert len(lines) == 2, done.stderr
            assert lines[0].startswith("error: "), done.stderr
            assert wrong.replace("PORT", port) in lines[0], done.stderr
            assert lines[1].startswith("hint: "), done.stderr
            assert way_out in lines[1], done.stderr
        for command, expected in WRONG_CALLS.items():
            answer = self._types(command).stdout
            assert f'"detail":"{expected}' in answer, answer

    def adds_until_it_is_killed(self) -> list[int]:
        """Add memories without a pause, while the service is killed; those it acknowledged."""
        acknowledged: list[int] = []

        def add() -> None:
            with httpx2.Client(base_url=self._url, headers={"X-Ricordo-User": "ana"}) as client:
                for number in range(100_000):
                    added = client.post("/v1/memories", json={"content": f"Counted to {number}"})
                    acknowledged.append(added.json()["id"])

        def add_until_it_fails() -> None:
            with contextlib.suppress(httpx2.TransportError):
                add()

        adding = threading.Thread(target=add_until_it_fails)
        adding.start()
        wait_until(lambda: len(acknowledged) >= ACKNOWLEDGED_BEFORE_THE_KILL)
        self.kill()
        adding.join()
        return acknowledged

    def misses_nothing_of(self, remembered: list[int]) -> None:
        assert len(remembered) >= ACKNOWLEDGED_BEFORE_THE_KILL
        headers = {"X-Ricordo-User": "ana"}
        with httpx2.Client(base_url=self._url, headers=headers, timeout=PATIENCE_SECONDS) as client:
            for number, memory in enumerate(remembered):
                found = client.get(f"/v1/memories/{memory}").json()
                assert found["content"] == f"Counted to {number}"
        checked = self._types("ricordo doctor")
        assert checked.returncode == 0, checked.stdout

    def kill(self) -> None:
        """What kill -9 does, to everything that the command has started."""
        if self._service is None or self._reading is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._service.pid, signal.SIGKILL)
        self._service.wait()
        self._reading.join()
        assert self._service.stdout is not None
        self._service.stdout.close()
        self._service = None

    def _types(self, script: str) -> "subprocess.CompletedProcess[str]":
        """Into the other terminal, after what the README says makes the command known there."""
        (activation,) = set(re.findall(r"`(\. \S+/activate)`", README.read_text(encoding="utf-8")))
        usual = USUAL_PORT.sub(self._url.rpartition(":")[2], script)
        return subprocess.run(
            ["bash", "-c", f"{activation}\n{usual}"],
            cwd=self._source,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
