"""Commands that a reader starts and leaves running: a service, a worker."""

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence

from tests.support.waiting import wait_until

_LASTING = re.compile(r"^(?:[A-Z_]+=\S+ )*ricordo (?P<name>serve|worker)\b")
_PATIENCE_SECONDS = 120.0


def name_of_lasting(command: str) -> str | None:
    """Which of the commands that do not end by themselves this is; ``None`` for all others."""
    found = _LASTING.match(command)
    return None if found is None else found["name"]


class Lasting:
    """A command that runs until it is stopped."""

    def __init__(self, command: str, before: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it, after what has to be said in the same shell before (its ``export`` lines)."""
        self.command = command
        script = "\n".join([*before, f"exec env {command}"])
        self._process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.said: list[str] = []
        self._log: list[str] = []
        # Read all the time: a pipe that is full would stop the command.
        self._reading = [
            threading.Thread(target=lines.extend, args=(pipe,))
            for lines, pipe in (
                (self.said, self._process.stdout),
                (self._log, self._process.stderr),
            )
        ]
        for thread in self._reading:
            thread.start()

    def first_line(self) -> str:
        """What it says when it has begun."""
        wait_until(lambda: self.said or self._process.poll() is not None, _PATIENCE_SECONDS)
        assert self.said, f"{self.command} ended:\n{''.join(self._log)}"
        return self.said[0]

    def stop(self) -> int:
        """Ask it to end, as Ctrl-C does, and wait until it has; its exit code."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_SECONDS)
        self._process.kill()
        self._process.wait()
        for thread in self._reading:
            thread.join()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        return self._process.returncode


def environment_without(stand_in_folder: str) -> dict[str, str]:
    """This environment with the installed command first: it gets signals, a stand-in does not."""
    path = os.environ["PATH"].split(os.pathsep)
    return {
        **os.environ,
        "PATH": os.pathsep.join(one for one in path if one != stand_in_folder),
        "RICORDO_PORT": "0",  # any free one; whoever names the usual one is sent there
    }
