"""What files of containers say, run as plain processes: paths of the image stand for a folder."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.brokers import free_port
from tests.support.own_postgres import OwnServer, own_server
from tests.support.postgres import tools
from tests.support.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROGRAMS = "/opt/ricordo/bin"
TESTED = {  # beside what the files say
    "RICORDO_HOST": "127.0.0.1",
    "RICORDO_EMBEDDING_PROVIDER": "none",
    "RICORDO_FORMATION_DELAY_SECONDS": "0",
    "RICORDO_JOB_POLL_SECONDS": "0.2",
    "RICORDO_UPKEEP": "0",
}


@dataclass(frozen=True)
class Instruction:
    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """A list as JSON, or the words of a command."""
        is_list = self.value.startswith("[")
        return list(json.loads(self.value)) if is_list else shlex.split(self.value)


def instructions(text: str, **arguments: str) -> list[Instruction]:
    """A Dockerfile's instructions; ``arguments`` stand for those of its ARG."""
    plain = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    read: list[Instruction] = []
    for line in re.sub(r"\\\n\s*", " ", plain).splitlines():
        if line.strip():
            name, value = line.strip().split(None, 1)
            if name == "ARG":
                given, default = value.split("=", 1)
                arguments.setdefault(given, default)
            for given, said in arguments.items():
                value = value.replace(f"${{{given}}}", said)
            read.append(Instruction(name, value))
    return read


@dataclass
class Image:
    """What the last stage of a Dockerfile makes."""

    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    health: list[str] = field(default_factory=list)
    user: str = "0"

    @classmethod
    def of(cls, read: Sequence[Instruction]) -> "Image":
        last = max(place for place, one in enumerate(read) if one.name == "FROM")
        image = cls()
        for one in read[last:]:
            if one.name == "ENTRYPOINT":
                image.entrypoint = one.words
            elif one.name == "CMD":
                image.command = one.words
            elif one.name == "ENV":
                image.environment |= dict(word.split("=", 1) for word in one.words)
            elif one.name == "HEALTHCHECK":
                image.health = list(json.loads(one.value[one.value.index("[") :]))
            elif one.name == "USER":
                image.user = one.value
        return image


def image() -> Image:
    return Image.of(instructions((DEPLOY / "Dockerfile").read_text(encoding="utf-8")))


class Host:
    """Where containers run: their folders in one of ours, their programs those of the tests."""

    def __init__(self, folder: Path, database: OwnServer, programs: Path | None = None) -> None:
        self.database = database
        self.port = free_port()
        self._places = {PROGRAMS: str(programs or Path(sys.executable).parent)}
        for place in ("/run/secrets", "/var/lib/ricordo", "/tmp"):
            (folder / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
            self._places[place] = str(folder / place.lstrip("/"))
        self._running: list[subprocess.Popen[bytes]] = []
        self._log = (folder / "log").open("ab")
        self.log = folder / "log"

    def inside(self, path: str) -> Path:
        return Path(self._translated(path))

    def _translated(self, text: str) -> str:
        """In one pass, because ours may lie in one of theirs."""
        places = "|".join(map(re.escape, self._places))
        found = re.compile(rf"(?<![\w/.])(?:{places})(?![\w.])")
        return found.sub(lambda place: self._places[place[0]], text)

    def _environment(self, said: Mapping[str, str]) -> dict[str, str]:
        passed = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("COV", "PYTHONPATH"))
        }
        path = f"{tools()}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {name: self._translated(value) for name, value in said.items()}
        found = f"{own.get('PATH', '')}:{path}"
        at = {"PGHOST": str(self.database.folder), "PGPORT": str(self.database.port)}
        return {**passed, **at, **own, "PATH": found, **TESTED, "RICORDO_PORT": str(self.port)}

    def start(self, command: Sequence[str], said: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        environment = self._environment(said)
        process = subprocess.Popen(
            [self._translated(word) for word in command],
            env=environment,
            cwd=self._places["/var/lib/ricordo"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self._running.append(process)
        return process

    def run(self, command: Sequence[str], said: Mapping[str, str]) -> int:
        """Run it to its end; its exit code."""
        return self.start(command, said).wait(PATIENCE_SECONDS)

    def output(self, command: Sequence[str], said: Mapping[str, str]) -> str:
        """Run it to its end, as `exec` does in a container; what it prints."""
        words = [self._translated(word) for word in command]
        environment = self._environment(said)
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def until_healthy(
        self,
        process: "subprocess.Popen[bytes]",
        test: Sequence[str],
        said: Mapping[str, str],
    ) -> None:
        """Run the health check until it succeeds."""

        def listens() -> bool:
            assert process.poll() is None, self.told
            with contextlib.suppress(OSError), socket.create_connection(self.address, 1):
                return True
            return False

        wait_until(listens)  # before that it fails, and takes its time
        wait_until(lambda: self.run(test, said) == 0)

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def told(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-4000:]

    def stop(self, process: "subprocess.Popen[bytes]") -> int:
        """SIGTERM, as for a container that is to end; its exit code."""
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()
        self._log.close()


@contextlib.contextmanager
def host(folder: Path, programs: Path | None = None) -> Iterator[Host]:
    """A host with a database server that asks for passwords, as deployments do."""
    with own_server(free_port()) as database:
        one = Host(folder, database, programs)
        try:
            made = subprocess.run(
                ["sh", str(DEPLOY / "secrets.sh"), str(one.inside("/run/secrets"))],
                capture_output=True,
                text=True,
            )
            assert made.returncode == 0, made.stderr
            for name in ("owner_url", "app_url"):
                secret = one.inside(f"/run/secrets/{name}")
                address = secret.read_text(encoding="utf-8")
                secret.write_text(address.replace("@database/", f"@127.0.0.1:{database.port}/"))
            yield one
        finally:
            one.close()
