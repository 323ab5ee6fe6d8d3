"""How much processor time it takes to import the package and to ask for help."""

import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

_RUNS = 7


def measure() -> dict[str, float]:
    command = shutil.which("ricordo", path=str(Path(sys.executable).parent))
    assert command is not None, "ricordo is not installed beside this Python"
    bare = _cpu_seconds([sys.executable, "-c", "pass"])
    return {
        "python -c pass, s CPU": bare,
        "import ricordo, s CPU beyond bare Python": _cpu_seconds(
            [sys.executable, "-c", "import ricordo"]
        )
        - bare,
        "ricordo --help, s CPU": _cpu_seconds([command, "--help"]),
    }


def _cpu_seconds(command: list[str]) -> float:
    return statistics.median(_one_run(command) for _ in range(_RUNS))


def _one_run(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
