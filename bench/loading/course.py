"""One run: fill a store, serve it, let the clients ask, and look what is in it afterwards."""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import httpx2
import psutil
from tests.support.served import COMMAND, ServedStore, served

from bench.loading.requests import Added, Kind, Outcome, Plan
from bench.peers.environments import python_of
from ricordo.transfer.exports import Progress
from ricordo.wiring import open_memory
from ricordo_bench.stores import InventedTexts

_ROOT: Final = Path(__file__).parents[2]
MARK: Final = "Noted under load as"
_QUESTIONS: Final = 1_000
_NEW_TEXTS: Final = 2_000
_PATIENCE_SECONDS: Final = 120.0
_LOOK_EVERY_SECONDS: Final = 0.01
_STORED_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked, of how large a store, and how often the server is killed meanwhile."""

    clients: int
    seconds: float
    add_percent: int
    memories: int
    users: int
    kills: int
    by_words: bool
    workers: int = 1

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the store, beside the usual ones."""
        return {"embedding_provider": "none"} if self.by_words else {}

    @property
    def environment(self) -> dict[str, str]:
        """The same for another process."""
        named = {f"RICORDO_{name.upper()}": value for name, value in self.settings.items()}
        return {**named, "RICORDO_WORKERS": str(self.workers)}


@dataclass(frozen=True, slots=True)
class Outage:
    """A kill, and when the service answered again, both on the monotonic clock."""

    began: float
    ended: float


@dataclass(slots=True)
class Course:
    """What happened in a run."""

    outcome: Outcome
    outages: list[Outage] = field(default_factory=list)
    stored: int = 0
    lost: list[Added] = field(default_factory=list)
    exit_code: int = 0
    doctor: str | None = None
    server_seconds: float = 0.0  # of a core


def fill(url: str, load: Load, progress: Progress) -> Plan:
    """Store what is searched; the plan of who will ask what, for a service that is not up yet."""
    source = InventedTexts(seed=load.users)
    users = [f"load-{number}" for number in range(load.users)]
    each = -(-load.memories // load.users)
    texts: list[str] = []
    # Each new memory would be compared with all others, which is measured elsewhere.
    with open_memory(url, run_jobs=False, relations_per_memory=0, **load.settings) as memory:
        for number, user in enumerate(users, start=1):
            texts = source.texts(each)
            for start in range(0, each, _STORED_AT_ONCE):
                memory.user(user).add_many(texts[start : start + _STORED_AT_ONCE])
            memory.run_jobs()
            progress(number, load.users)
    return Plan(
        url="",
        clients=load.clients,
        add_percent=load.add_percent,
        users=users,
        questions=source.queries(_QUESTIONS, texts),
        texts=source.texts(_NEW_TEXTS),
        mark=MARK,
    )


def run_course(url: str, load: Load, plan: Plan) -> Course:
    """Serve a filled store under load, with so many kills; what came of it."""
    outages = []
    with served(url, **load.environment) as service:
        _search_once(service.url, plan)
        before = _cpu_seconds(service.pid)
        with _clients(service.url, plan) as clients:
            if load.kills:
                outages = list(_kill_again_and_again(service, load))
            else:
                clients.wait(load.seconds)
            outcome = clients.outcome()
        used = _cpu_seconds(service.pid) - before  # where it was killed, of the last process
        exit_code = service.stop()
    course = Course(outcome, outages, exit_code=exit_code, server_seconds=used)
    course.stored, course.lost = _look_for(url, plan.users, outcome.added)
    course.doctor = _doctor(url, load)
    return course


def run_bound(url: str, load: Load, plan: Plan) -> Course:
    """The same load on the least server that could answer it, with the texts of a filled store."""
    return _run_other([sys.executable, "-m", "bench.loading.bound", url], load, plan)


def run_peer(url: str, load: Load, plan: Plan) -> Course:
    """The same load on a chromadb server, with the texts of a filled store."""
    with tempfile.TemporaryDirectory(prefix="ricordo-peer-") as folder:
        texts = Path(folder) / "texts.json"
        texts.write_text(json.dumps(_texts(url, plan)), encoding="utf-8")
        command = [python_of("stores"), "-m", "bench.loading.chroma", folder, str(texts)]
        return _run_other(command, load, plan)


def _texts(url: str, plan: Plan) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with open_memory(url, run_jobs=False, embedding_provider="none") as memory:
        for user in plan.users:
            cursor = None
            while True:
                page = memory.user(user).list(limit=1_000, cursor=cursor)
                found.setdefault(user, []).extend(item.content for item in page)
                cursor = page.next_cursor
                if cursor is None:
                    break
    return found


def _run_other(command: Sequence[str], load: Load, plan: Plan) -> Course:
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])}
    with subprocess.Popen(
        command, cwd=_ROOT, env=paths, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{command[2]} did not start; its own words are above")
            address = json.loads(line)["listening"]
            _search_once(address, plan)
            before = _cpu_seconds(process.pid)
            with _clients(address, plan) as clients:
                clients.wait(load.seconds)
                outcome = clients.outcome()
            return Course(outcome, server_seconds=_cpu_seconds(process.pid) - before)
        finally:
            process.kill()


def _cpu_seconds(pid: int) -> float:
    """Of a process and the workers that it has."""
    process = psutil.Process(pid)
    used = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(one.user + one.system for one in used)


def _search_once(url: str, plan: Plan) -> None:
    """What is read into memory once, of every user, is not part of a search."""
    for user in plan.users:
        httpx2.post(
            f"{url}{Kind.SEARCH.path}",
            json={"query": plan.questions[0]},
            headers={"X-Ricordo-User": user},
            timeout=_PATIENCE_SECONDS,
        ).raise_for_status()


class _Clients:
    """The process of the clients."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def wait(self, seconds: float) -> None:
        """Let them ask for so long, unless they end before their time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def outcome(self) -> Outcome:
        """End them, and take what they noted.

        Raises:
            RuntimeError: they have failed.
        """
        told, errors = self._process.communicate(timeout=_PATIENCE_SECONDS)
        if self._process.returncode:
            raise RuntimeError(f"the clients failed:\n{errors}")
        return Outcome.read(told)


@contextlib.contextmanager
def _clients(url: str, plan: Plan) -> Iterator[_Clients]:
    command = [sys.executable, "-m", "bench.loading.clients"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=_ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    with process:
        try:
            assert process.stdin is not None
            process.stdin.write(replace(plan, url=url).line())
            process.stdin.flush()
            yield _Clients(process)
        finally:
            process.kill()  # nothing where they have ended


def _kill_again_and_again(service: ServedStore, load: Load) -> Iterator[Outage]:
    """Kill the server at moments that differ from time to time, each time after it is back."""
    chance = random.Random(20260101)
    apart = load.seconds / (load.kills + 1)
    pause = threading.Event()
    for _ in range(load.kills):
        pause.wait(apart * chance.uniform(0.5, 1.5))
        began = time.monotonic()
        service.kill()
        service.start()
        _wait_until_ready(service.url)
        yield Outage(began, time.monotonic())
    pause.wait(apart)


def _wait_until_ready(url: str) -> None:
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends_at:
        with contextlib.suppress(httpx2.TransportError):
            if httpx2.get(f"{url}/readyz", timeout=_PATIENCE_SECONDS).is_success:
                return
        threading.Event().wait(_LOOK_EVERY_SECONDS)
    raise RuntimeError("the service did not come back")


def _look_for(url: str, users: Sequence[str], added: Sequence[Added]) -> tuple[int, list[Added]]:
    """How many memories of the clients are stored, and which are not, of those that should."""
    found: dict[tuple[str, int], str] = {}
    with open_memory(url, run_jobs=False, embedding_provider="none") as memory:
        for user in users:
            cursor = None
            while True:
                page = memory.user(user).list(limit=1_000, cursor=cursor, status="any")
                found.update({(user, item.id): item.content for item in page})
                cursor = page.next_cursor
                if cursor is None:
                    break
    stored = sum(MARK in content for content in found.values())
    return stored, [one for one in added if found.get((one.user, one.id)) != one.content]


def _doctor(url: str, load: Load) -> str | None:
    """What ``ricordo doctor`` finds wrong, or None."""
    done = subprocess.run(
        [COMMAND, "doctor", "--json"],
        env={**os.environ, "RICORDO_URL": url, **load.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()
