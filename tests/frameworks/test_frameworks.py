"""Every adapter with the newest version of its framework, in an environment that has only both."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.frameworks import APART, ROOT, python_of

HERE = Path(__file__).parent
QUIET = {
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
}


@pytest.mark.slow
@pytest.mark.requirement("integrations.frameworks")
@pytest.mark.requirement("integrations.wrong-object")
@pytest.mark.parametrize("extra", APART)
def test_the_adapter_with_its_framework(extra: str, tmp_path: Path) -> None:
    tests = HERE / f"{extra.replace('-', '_')}.py"
    done = subprocess.run(
        [
            *(python_of(extra), "-m", "pytest", "-q", "-c", str(HERE / "pytest.ini")),
            *("--rootdir", str(ROOT), "--confcutdir", str(HERE), str(tests)),
        ],
        cwd=ROOT,
        env={**os.environ, **QUIET, "HOME": str(tmp_path)},  # CrewAI writes there
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("integrations.frameworks")
def test_every_framework_is_there() -> None:
    asked = (ROOT / "requirements" / "frameworks.in").read_text(encoding="utf-8").splitlines()
    assert len(APART) == len([line for line in asked if not line.startswith("#")])
    for extra in APART:
        assert (HERE / f"{extra.replace('-', '_')}.py").is_file()
