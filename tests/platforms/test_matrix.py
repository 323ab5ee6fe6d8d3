"""What the matrix of CI runs elsewhere runs here, too; and its file names what it should."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.processes import ROOT

pytestmark = pytest.mark.requirement("platforms.matrix")
WORKFLOW: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github/workflows/platforms.yml").read_text(encoding="utf-8")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_system_and_version_that_is_promised_is_in_the_matrix() -> None:
    matrix = WORKFLOW["jobs"]["use"]["strategy"]["matrix"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == promised
    systems = {"Linux": "ubuntu", "MacOS": "macos", "Microsoft": "windows"}
    named = [one for one in PROJECT["classifiers"] if one.startswith("Operating System")]
    found = {systems[kind] for one in named for kind in systems if kind in one}
    assert {one.removesuffix("-latest") for one in matrix["os"]} == found == set(systems.values())


@pytest.mark.slow
def test_its_command_runs_with_what_it_installs(tmp_path: Path) -> None:
    """Here with the environment of the tests, of which it may use no fixture and no plugin."""
    (command,) = [
        one["run"] for one in WORKFLOW["jobs"]["use"]["steps"] if one.get("name") == "Use"
    ]
    words = [sys.executable, *command.split()[1:]]
    inherited = {name: value for name, value in os.environ.items() if "RICORDO" not in name}
    done = subprocess.run(
        [*words, "-q", f"--basetemp={tmp_path / 'base'}"],
        cwd=ROOT,
        env={**inherited, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout
