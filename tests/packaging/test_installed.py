"""The wheel in an environment of its own: imported, typed, run; and run by pipx."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ricordo
from tests.support.building import Distribution, found_uv, plain_environment, run

pytestmark = pytest.mark.slow

CONSUMER = '''\
"""A program of somebody else, checked strictly."""

from typing import assert_type

import ricordo
from ricordo import Memory, UserMemory


def remembered(memory: Memory, name: str) -> list[str]:
    user = memory.user(name)
    assert_type(user, UserMemory)
    user.add("Prefers tea to coffee", theme="drinks")
    assert_type(user.get(1).id, int)
    return [hit.content_snippet for hit in user.search("tea", limit=3)]


with ricordo.open(":memory:") as opened:
    print(remembered(opened, "ana"))
'''
MISTAKEN = """\
import ricordo

with ricordo.open(":memory:") as memory:
    memory.user("ana").add(7)
    memory.user("ana").serch("tea")
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that is nobody's checkout."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.mark.requirement("packaging.wheel")
@pytest.mark.parametrize("options", [["-W", "error"], ["-OO"], ["-I", "-X", "utf8"]])
def test_it_is_imported_from_the_wheel(installed: Path, place: Path, options: list[str]) -> None:
    """Without a warning, and without what assertions and docstrings do."""
    program = (
        "import ricordo\n"
        "memory = ricordo.open(':memory:')\n"
        "memory.user('ana').add('Prefers tea to coffee')\n"
        "print(memory.user('ana').search('which drinks?')[0].content_snippet)\n"
        "memory.close()\n"
        "print(ricordo.__file__)\n"
    )
    said = run(
        str(installed / "python"), *options, "-c", program, cwd=place, env=plain_environment()
    )
    found, where = said.splitlines()
    assert found == "Prefers tea to coffee"
    assert Path(where).is_relative_to(installed.parent)


@pytest.mark.requirement("packaging.typed")
@pytest.mark.timeout(900)  # a strict check of all that is imported, on a machine with other work
def test_types_come_along(installed: Path, place: Path) -> None:
    """mypy, strict, of a program beside an installed package: it knows what everything is."""
    (place / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    (place / "mistaken.py").write_text(MISTAKEN, encoding="utf-8")
    (place / "none.ini").write_text("[mypy]\n", encoding="utf-8")
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict"),
            *("--no-error-summary", "--hide-error-context"),
            *("--python-executable", str(installed / "python"), "--config-file", "none.ini"),
            *("--cache-dir", str(place / "cache"), "consumer.py", "mistaken.py"),
        ],
        cwd=place,
        env=plain_environment(),
        capture_output=True,
        text=True,
    )
    assert checked.stderr == ""
    wrong = [line.split(": error: ")[0] for line in checked.stdout.splitlines() if "error" in line]
    assert wrong == ["mistaken.py:4", "mistaken.py:5"], checked.stdout
    assert run(str(installed / "python"), "consumer.py", cwd=place, env=plain_environment()) == (
        "['Prefers tea to coffee']\n"
    )


@pytest.mark.requirement("packaging.pipx")
@pytest.mark.timeout(900)  # it fetches what it needs, however fast that is
@pytest.mark.parametrize("runner", ["pipx", "uvx"])
def test_it_is_run_without_being_installed(
    distribution: Distribution, tmp_path: Path, runner: str
) -> None:
    environment = plain_environment(
        PIPX_HOME=str(tmp_path / "pipx"),
        PIPX_SHARED_LIBS=str(tmp_path / "shared"),
        RICORDO_HOME=str(tmp_path / "home"),
        USE_EMOJI="0",
        UV_TOOL_DIR=str(tmp_path / "uv"),
    )
    python = os.path.realpath(sys.executable)
    spec = str(distribution.wheel)
    commands = {
        "pipx": [sys.executable, "-m", "pipx", "run", "--python", python, "--spec", spec],
        "uvx": [found_uv(), "tool", "run", "--quiet", "--python", python, "--from", spec],
    }
    command = [*commands[runner], "ricordo"]
    said = run(*command, "--version", cwd=tmp_path, env=environment)
    assert said == f"ricordo {ricordo.__version__}\n"
    run(*command, "add", "Prefers tea to coffee", cwd=tmp_path, env=environment)
    found = run(*command, "search", "which drinks?", "--json", cwd=tmp_path, env=environment)
    assert json.loads(found)["results"][0]["content_snippet"] == "Prefers tea to coffee"
