"""Workers that tests start, kill and stop, and what is in the queues of their broker."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from kombu import Connection

from ricordo.jobs.broker import Messenger, celery_configuration
from tests.support.brokers import Broker
from tests.support.commandline import COMMAND
from tests.support.waiting import PATIENCE_SECONDS

OURS = (COMMAND, "celery")
READY = "ricordo runs jobs from"
CELERYS = (sys.executable, "-m", "celery", "-A", "ricordo.workers.celery_app")


class Crew:
    """Processes on one store and one broker, each with a log of its own."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **settings}
        self._commands: list[tuple[str, ...]] = []
        self._running: list[subprocess.Popen[bytes]] = []
        self._logs: list[Path] = []

    def start(self, *command: str) -> int:
        """Start a process; its number."""
        self._commands.append(command)
        self._running.append(self._started(command))
        return len(self._running) - 1

    def kill(self, number: int) -> None:
        """Kill a process without warning. Its pool learns of it by itself."""
        self._running[number].kill()
        self._running[number].wait()

    def start_again(self, number: int) -> None:
        self._running[number] = self._started(self._commands[number])

    def kill_child(self, number: int, chance: random.Random) -> None:
        """Kill one process of a worker's pool, if there is any at the moment."""
        children = self.children(number)
        if children:
            with contextlib.suppress(ProcessLookupError):  # it may just have ended
                os.kill(chance.choice(children), signal.SIGKILL)

    def children(self, number: int) -> list[int]:
        pid = str(self._running[number].pid)
        found = subprocess.run(["pgrep", "-P", pid], capture_output=True, text=True)
        return sorted(int(line) for line in found.stdout.split())

    def stop(self, number: int) -> int:
        """Tell a process to end; its exit code."""
        self._running[number].terminate()
        return self._running[number].wait(PATIENCE_SECONDS)

    def is_ready(self, number: int) -> bool:
        assert self._running[number].poll() is None, self.log()
        return READY in self._logs[number].read_text(encoding="utf-8")

    def log(self) -> str:
        return "\n".join(log.read_text(encoding="utf-8") for log in self._logs)

    def litter(self) -> list[str]:
        """What the processes have left in the folder they work in."""
        return sorted(path.name for path in self._folder.iterdir() if path not in self._logs)

    def end(self) -> None:
        """Leave nothing behind, whatever has happened."""
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _started(self, command: tuple[str, ...]) -> "subprocess.Popen[bytes]":
        self._logs.append(self._folder / f"process-{len(self._logs)}.log")
        with self._logs[-1].open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


@contextlib.contextmanager
def crew(folder: Path, url: str, broker_url: str, **settings: object) -> Iterator[Crew]:
    """Processes on a store, quick in everything that is not the matter of a test."""
    quick = {
        "url": url,
        "broker_url": broker_url,
        "embedding_provider": "none",
        "formation_delay_seconds": 0,
        "job_poll_seconds": 0.2,
        "synchronous": "NORMAL",
        **settings,
    }
    folder.mkdir()
    hired = Crew(folder, {f"RICORDO_{name.upper()}": str(value) for name, value in quick.items()})
    try:
        yield hired
    finally:
        hired.end()


def waiting(broker: Broker) -> int:
    """How many messages wait."""
    messenger = Messenger(broker.url)
    try:
        return sum(messenger.lengths().values())
    finally:
        messenger.close()


def emptied(broker: Broker) -> None:
    """Lose all messages that wait; on Redis, everything."""
    with Connection(broker.url) as connection:
        channel = connection.default_channel
        if broker.url.startswith("redis"):
            channel.client.flushall()
            return
        for queue in celery_configuration(broker.url)["task_queues"]:
            queue(channel).declare()
            channel.queue_purge(queue.name)
