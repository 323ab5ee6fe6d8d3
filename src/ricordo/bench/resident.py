"""How much memory a process takes that has a large store open and searches it.

It is measured in a process of its own, ``python -m ricordo.bench.resident``, which does nothing
else: opens the store with the shipped embedder, searches, and says how large it is.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ricordo.bench.figures import Figure, judged
from ricordo.bench.ground import Ground

_FLOOR_MB: Final = 400.0
_SEARCHES: Final = 20
_STATUS: Final = Path("/proc/self/status")
_BYTES_PER_MB: Final = 1_000_000


def resident_figures(ground: Ground) -> list[Figure]:
    """The figure; none where the system does not say how large a process is."""
    (searches,) = ground.large.searches
    megabytes = resident_mb(ground.large.url, searches.user, searches.queries)
    if megabytes is None:
        return []
    return [
        judged(
            f"resident with {ground.sizes.large:,} memories open",
            megabytes,
            "MB",
            floor=_FLOOR_MB,
            at_full_size=ground.sizes.are_full,
        )
    ]


def resident_mb(url: str, user: str, queries: Sequence[str]) -> float | None:
    """How large a process is that has a store open and searched it; None: not known."""
    task = {"url": url, "user": user, "queries": queries[:_SEARCHES]}
    done = subprocess.run(
        [sys.executable, "-m", "ricordo.bench.resident"],
        input=json.dumps(task),
        capture_output=True,
        check=True,
        text=True,
    )
    found: float | None = json.loads(done.stdout)
    return found


def main() -> None:
    """Search as told on standard input; the size in megabytes on standard output."""
    from ricordo.providers.local_embedder import LocalEmbedder
    from ricordo.wiring import open_memory

    task = json.load(sys.stdin)
    with open_memory(task["url"], run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(task["user"])
        for query in task["queries"]:
            user.search(query)
        size = _resident_mb()
    sys.stdout.write(json.dumps(size))


def _resident_mb() -> float | None:
    """What is in memory now; where only that is known, the most that ever was."""
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1_024 / _BYTES_PER_MB
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _BYTES_PER_MB
    return None


if __name__ == "__main__":
    main()
