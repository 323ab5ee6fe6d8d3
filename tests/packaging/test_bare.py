"""The package alone, with none of its extras, fetched as somebody does who installs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.building import Distribution, found_uv, plain_environment, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.requirement("packaging.bare"),
    pytest.mark.timeout(900),  # it fetches what it needs, however fast that is
]


@pytest.fixture(scope="module")
def bare(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has what the wheel requires, and nothing else."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    uv = found_uv()
    run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
    python = str(folder / "bin" / "python")
    run(uv, "pip", "install", "--quiet", "--python", python, str(distribution.wheel))
    return folder / "bin"


def test_memories_are_added_formed_and_found(bare: Path, tmp_path: Path) -> None:
    environment = plain_environment(RICORDO_HOME=str(tmp_path))

    def ricordo(*arguments: str) -> str:
        return run(str(bare / "ricordo"), *arguments, cwd=tmp_path, env=environment)

    ricordo("add", "Prefers tea to coffee")
    said = tmp_path / "monday.txt"
    said.write_text("user: I play chess\n", encoding="utf-8")
    ricordo("observe", str(said), "--thread", "monday")
    ricordo("form", "monday")
    for question, answer in (
        ("tea or coffee?", "Prefers tea to coffee"),
        ("who plays chess?", "chess"),
    ):
        found = json.loads(ricordo("search", question, "--json"))["results"]
        assert any(answer in one["content_snippet"] for one in found), found
    ricordo("doctor")


@pytest.mark.parametrize(("command", "extra"), [("serve", "server"), ("mcp", "mcp")])
def test_what_is_missing_is_named_in_a_line(
    bare: Path, tmp_path: Path, command: str, extra: str
) -> None:
    environment = plain_environment(RICORDO_HOME=str(tmp_path))
    ran = subprocess.run(
        [str(bare / "ricordo"), command], env=environment, capture_output=True, text=True
    )
    install = f"pip install 'ricordo[{extra}]'"
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        f"error: ricordo {command} needs the {extra} extra: {install}",
        f"hint: {install}",
    ]
    assert list(tmp_path.iterdir()) == []  # nothing was made
