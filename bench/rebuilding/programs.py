"""The other processes: one that searches, and workers that make vectors."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from bench.rebuilding.judging import Search
from bench.rebuilding.searching import told_searches

_ROOT: Final = Path(__file__).parents[2]

Process = subprocess.Popen[str]


class SearchingProcess:
    """Searches in another process while it runs. Use it as a context manager."""

    def __init__(self, url: str, questions: Sequence[str]) -> None:
        self._task = json.dumps({"url": url, "questions": list(questions)})
        self._process: Process | None = None
        self.searches: list[Search] = []
        """What was searched, known after the end."""

    def __enter__(self) -> Self:
        self._process = _start("searching")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{self._task}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()  # it has opened the store
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        told, errors = self._process.communicate("stop\n")
        if self._process.returncode:
            raise RuntimeError(f"the searching process failed: {errors}")
        self.searches = told_searches(told)


@contextlib.contextmanager
def worker(url: str) -> Iterator[Process]:
    """A process that makes vectors until the end of the block, where its input is closed."""
    with _start("worker", url) as process:
        yield process


def kill(process: Process) -> None:
    """End a process in the middle of what it does."""
    process.send_signal(signal.SIGKILL)
    process.wait()


def _start(name: str, *arguments: str) -> Process:
    return subprocess.Popen(
        [sys.executable, "-m", f"bench.rebuilding.{name}", *arguments],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
