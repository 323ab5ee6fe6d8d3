"""The wheel run without being installed, its dependencies fetched from the registry."""

import json
import os
import sys
from pathlib import Path

import pytest

import ricordo
from tests.support.building import Distribution, plain_environment, run


@pytest.mark.requirement("packaging.pipx")
@pytest.mark.timeout(900)  # it fetches what it needs, however fast that is
def test_pipx_runs_it(distribution: Distribution, tmp_path: Path) -> None:
    environment = plain_environment(
        PIPX_HOME=str(tmp_path / "pipx"),
        PIPX_SHARED_LIBS=str(tmp_path / "shared"),
        RICORDO_HOME=str(tmp_path / "home"),
        USE_EMOJI="0",
    )
    command = [
        *(sys.executable, "-m", "pipx", "run", "--python", os.path.realpath(sys.executable)),
        *("--spec", str(distribution.wheel), "ricordo"),
    ]
    said = run(*command, "--version", cwd=tmp_path, env=environment)
    assert said == f"ricordo {ricordo.__version__}\n"
    run(*command, "add", "Prefers tea to coffee", cwd=tmp_path, env=environment)
    found = run(*command, "search", "which drinks?", "--json", cwd=tmp_path, env=environment)
    assert json.loads(found)["results"][0]["content_snippet"] == "Prefers tea to coffee"
