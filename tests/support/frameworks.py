"""Frameworks that pin what others pin otherwise, each with ricordo in an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

APART = ("autogen", "crewai", "google-adk", "haystack", "llama-index")
"""Extras of pyproject.toml; requirements/frameworks.txt has the versions."""


def python_of(extra: str) -> str:
    """The Python of an environment that has the framework; made where it is missing."""
    here = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", "scripts/setup.sh", "framework", extra],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{here}:{os.environ['PATH']}", "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return str(ROOT / ".cache" / "frameworks" / extra / "bin" / "python")
