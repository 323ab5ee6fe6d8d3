"""How long it takes to import the package, and to ask for help."""

import statistics
import subprocess
import sys
import time
from typing import Final

from ricordo.bench.figures import Figure, judged

_RUNS: Final = 7
_IMPORT_FLOOR_SECONDS: Final = 0.15
_HELP_FLOOR_SECONDS: Final = 0.3
_HELP: Final = "from ricordo.cli.main import main; main(['--help'])"


def starting_figures() -> list[Figure]:
    """Processor time, which other work on the machine does not change, of fresh processes."""
    bare = _seconds("pass")
    imported = max(_seconds("import ricordo") - bare, 0.0)
    return [
        judged("ricordo --help", _seconds(_HELP), "s", floor=_HELP_FLOOR_SECONDS),
        judged("import ricordo, beyond bare Python", imported, "s", floor=_IMPORT_FLOOR_SECONDS),
        judged("bare Python", bare, "s"),
    ]


def _seconds(code: str) -> float:
    return statistics.median(_one_run(code) for _ in range(_RUNS))


def _one_run(code: str) -> float:
    before = _now()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - this Python, our code
    return _now() - before


def _now() -> float:
    if sys.platform == "win32":  # where nobody counts what children spend
        return time.perf_counter()
    import resource

    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
