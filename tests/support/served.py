"""The real command ``ricordo serve`` as a process of its own, which can be killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("ricordo"))
_KEPT_LINES = 200
_PATIENCE_SECONDS = 120.0


class ServedStore:
    """A store that is served on a loopback port, always the same one: stopped, killed, started."""

    def __init__(self, db: str, *, port: int = 0, **environment: str) -> None:
        """``environment`` are settings beside those of a plain service without rate limits."""
        self._environment = {
            **os.environ,
            "RICORDO_URL": db,
            "RICORDO_RATE_LIMIT_PER_MINUTE": "0",
            **environment,
        }
        self._process: subprocess.Popen[str] | None = None
        self._reading: threading.Thread | None = None
        self._log: deque[str] = deque(maxlen=_KEPT_LINES)
        self._port = port
        self.url = ""

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(
            [COMMAND, "serve", "--json", "--port", str(self._port)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        # Read all the time: a pipe that is full would stop the service.
        self._reading = threading.Thread(target=self._log.extend, args=(self._process.stderr,))
        self._reading.start()
        first = self._process.stdout.readline()
        assert first, f"the service did not start:\n{self.log}"
        self.url = json.loads(first)["listening"]
        self._port = int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        """End it at once, if it runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to end, and wait for it; its exit code."""
        return self._end(signal.SIGTERM)

    def ask_to_stop(self) -> None:
        """Ask it to end, and do not wait for it; :meth:`ended` does."""
        self._send(signal.SIGTERM)

    def ended(self) -> int:
        """Wait until it has ended as it was asked to; its exit code.

        Another signal would end it at once while it closes its store.
        """
        process, reading = self._process, self._reading
        assert process is not None
        assert reading is not None
        try:
            process.wait(_PATIENCE_SECONDS)
        finally:
            process.kill()
            process.wait()
            reading.join()
            for pipe in (process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()
        return process.returncode

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """The last lines of its log."""
        return "".join(self._log)

    def _end(self, number: signal.Signals) -> int:
        self._send(number)
        return self.ended()

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)  # nothing where it has ended


@contextlib.contextmanager
def served(db: str, *, port: int = 0, **environment: str) -> Iterator[ServedStore]:
    """A running service; where the block does not stop it, it is killed."""
    store = ServedStore(db, port=port, **environment)
    store.start()
    try:
        yield store
    finally:
        store.kill()
