"""Watches a service from a process of its own: python -m bench.soaking.watching URL PID

Nothing that the clients do holds it up. It looks until standard input is closed, and then writes
what it saw to standard output.
"""

import http.client
import json
import os
import select
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Self

_PATIENCE_SECONDS: Final = 120.0
_SAMPLE_EVERY_SECONDS: Final = 0.05


@dataclass(slots=True)
class Watched:
    """What was seen of the process, several times a second."""

    health_seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)


class Watch:
    """The process that watches, for as long as the block runs; then ``watched`` is there."""

    def __init__(self, url: str, pid: int) -> None:
        command = [sys.executable, "-m", "bench.soaking.watching", url, str(pid)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.watched = Watched()

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and take what it saw."""
        told, _errors = self._process.communicate(timeout=_PATIENCE_SECONDS)
        self.watched = Watched(**json.loads(told))


def _ask(address: str) -> float:
    """How long a sign of life takes, on a connection of its own as a balancer would have it."""
    began = time.monotonic()
    connection = http.client.HTTPConnection(address, timeout=_PATIENCE_SECONDS)
    connection.request("GET", "/healthz")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"/healthz was answered with {answer.status}")
    return time.monotonic() - began


def main() -> None:
    """Look until standard input is closed."""
    address, process = sys.argv[1].removeprefix("http://"), Path("/proc") / sys.argv[2]
    watched = Watched()
    while True:
        watched.health_seconds.append(_ask(address))
        if process.exists():  # on a system that has it
            pages = int((process / "statm").read_text().split()[1])
            watched.megabytes.append(pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000)
            watched.descriptors.append(len(list((process / "fd").iterdir())))
        if select.select([sys.stdin], [], [], _SAMPLE_EVERY_SECONDS)[0]:
            break
    sys.stdout.write(json.dumps(asdict(watched)))


if __name__ == "__main__":
    main()
