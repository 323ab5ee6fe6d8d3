"""These tests with version 1 of the library as well; what runs them has version 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ricordo.mcp.library import IS_VERSION_1
from tests.support.building import ROOT, found_uv, run

OLDEST = "mcp==1.30"
NEEDED = ("httpx", "httpx-sse", "httpcore", "h11", "certifi", "pydantic-settings", "python-dotenv")


@pytest.mark.slow
@pytest.mark.skipif(IS_VERSION_1, reason="it would start itself")
@pytest.mark.requirement("mcp.versions")
@pytest.mark.timeout(1_200)  # it fetches the library, and runs the other tests of this folder
def test_version_1_of_the_library_serves_as_well(tmp_path: Path) -> None:
    uv = found_uv()
    first = tmp_path / "first"
    run(uv, "pip", "install", "--no-deps", "--target", str(first), OLDEST, *NEEDED)
    environment = {**os.environ, "PYTHONPATH": str(first)}
    look = "from ricordo.mcp.library import IS_VERSION_1; print(IS_VERSION_1)"
    assert run(sys.executable, "-c", look, env=environment) == "True\n"
    tested = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"),
            *("--tier", "fast", "--basetemp", str(tmp_path / "base"), str(ROOT / "tests" / "mcp")),
        ],
        cwd=ROOT,
        env={name: value for name, value in environment.items() if "XDIST" not in name},
        capture_output=True,
        text=True,
    )
    assert tested.returncode == 0, tested.stdout
