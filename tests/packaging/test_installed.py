"""The wheel in an environment of its own: imported, typed, run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ricordo
from tests.support.building import plain_environment, run

CONSUMER = '''\
"""A program of somebody else, checked strictly."""

from typing import assert_type

import ricordo
from ricordo import Memory, UserMemory


def remembered(memory: Memory, name: str) -> list[str]:
    user = memory.user(name)
    assert_type(user, UserMemory)
    added = user.add("Prefers tea to coffee", theme="drinks")
    assert_type(added.id, int)
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
@pytest.mark.parametrize("options", [["-W", "error"], ["-O"], ["-OO"], ["-I", "-X", "utf8"]])
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


@pytest.mark.requirement("packaging.wheel")
@pytest.mark.parametrize("command", [["ricordo"], ["python", "-m", "ricordo"]], ids=str)
def test_the_command_works(installed: Path, place: Path, command: list[str]) -> None:
    program = [str(installed / command[0]), *command[1:]]
    environment = plain_environment(HOME=str(place))
    said = run(*program, "--version", cwd=place, env=environment)
    assert said == f"ricordo {ricordo.__version__}\n"
    run(*program, "add", "Prefers tea to coffee", cwd=place, env=environment)
    found = run(*program, "search", "which drinks?", "--json", cwd=place, env=environment)
    assert json.loads(found)["results"][0]["content_snippet"] == "Prefers tea to coffee"
    assert (place / ".ricordo" / "ricordo.db").exists()
    refused = subprocess.run(
        [*program, "serch", "tea"], cwd=place, env=environment, capture_output=True, text=True
    )
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


@pytest.mark.requirement("packaging.typed")
@pytest.mark.timeout(900)  # a strict check of all that is imported, on a machine with other work
def test_types_come_along(installed: Path, place: Path) -> None:
    """mypy, strict, of a program beside an installed package: it knows what everything is."""
    (place / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    (place / "mistaken.py").write_text(MISTAKEN, encoding="utf-8")
    (place / "none.ini").write_text("[mypy]\n", encoding="utf-8")
    checked = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--no-error-summary",
                "--hide-error-context",
            ),
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
