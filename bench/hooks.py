"""python -m bench hooks: how long a coding agent waits for its hooks.

Every figure is of fresh processes, started as an agent starts them: with the process behind the
hooks running, without it (the hook starts it), and with one that does not answer.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import ricordo_hook
from bench.options import Commands, add_json
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.coding_agents import resident
from ricordo.coding_agents.installation import commands
from ricordo.files.disk import locked
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo_bench.figures import Latency, Machine, latency, this_machine
from ricordo_bench.stores import InventedTexts, synthetic

_AGENT: Final = "claude-code"
_SIZE: Final = 2_000
_RUNS: Final = 50
_COLD_RUNS: Final = 10
_LARGE_CHARS: Final = 5_000_000
_PATIENCE_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks(Record):
    """One event, handed to hooks in processes of their own."""

    event: str
    behind: str
    times: Latency
    longest_ms: float
    shown: int
    """How many of them gave the agent something to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksReport(Record):
    """All events, and what they were measured on."""

    machine: Machine
    memories: int
    events: tuple[Hooks, ...]


def register(given: Commands) -> None:
    parser = given.add_parser(
        "hooks", help="hooks of coding agents: with the process behind them, without it, and late"
    )
    parser.add_argument("--size", type=int, default=_SIZE, help=f"memories (default {_SIZE:,})")
    parser.add_argument("--runs", type=int, default=_RUNS, help=f"processes (default {_RUNS})")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name,
        progress_bars(wanted=not given.as_json) as bar,
    ):
        bench = _Bench(Path(name))
        try:
            questions = bench.fill(given.size, given.runs, bar("adding"))
            events = bench.measure(questions, given.runs, bar("running"))
        finally:
            bench.stop()
    report = HooksReport(machine=machine, memories=given.size, events=tuple(events))
    answer(given.as_json, report, _table)


class _Bench:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "shop"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.transcript = folder / "session.jsonl"
        self.command = commands(self.home, with_server=False).hook
        kept = {one: value for one, value in os.environ.items() if not one.startswith("RICORDO_")}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody else compiles everything each time
        self.environment = kept

    def fill(self, size: int, runs: int, progress: Progress) -> Sequence[str]:
        """A project with so many memories, and prompts that nobody gave yet."""
        source = InventedTexts()
        texts = source.texts(size)
        with synthetic(
            str(self.home / "ricordo.db"), home=self.home, upkeep=False, relations_per_memory=0
        ) as memory:
            memory.user("me", project=str(self.project)).add_many(texts)
        progress(size, size)
        return source.queries(runs, texts)

    def measure(self, questions: Sequence[str], runs: int, progress: Progress) -> list[Hooks]:
        self._run("SessionStart", {})
        self._wait_for_resident()
        kinds: dict[str, Callable[[int], tuple[str, dict[str, object]]]] = {
            "SessionStart": lambda number: ("SessionStart", {"session_id": f"start-{number}"}),
            "UserPromptSubmit": lambda number: (
                "UserPromptSubmit",
                {"prompt": questions[number], "session_id": f"prompt-{number}"},
            ),
            "Stop": lambda number: ("Stop", self._said(number)),
            "Stop, 5 MB": lambda number: (
                "Stop",
                {**self._said(number), "last_assistant_message": "x" * _LARGE_CHARS},
            ),
        }
        warm: dict[str, list[tuple[float, bool]]] = {}
        floor = []
        for number in range(runs):
            floor.append(_python_ms(self.environment))
            for kind, made in kinds.items():
                warm.setdefault(kind, []).append(self._run(*made(number)))
            progress(number + 1, runs)
        found = [_measured("nothing (Python alone)", "", [(ms, False) for ms in floor])]
        found += [_measured(kind, "running", times) for kind, times in warm.items()]
        found += self._without(min(runs, _COLD_RUNS), questions)
        found += self._late(min(runs, _COLD_RUNS), questions)
        return found

    def _without(self, runs: int, questions: Sequence[str]) -> list[Hooks]:
        """Each time nobody is there: the hook starts the process, and does not wait for it."""
        times: dict[str, list[tuple[float, bool]]] = {}
        for number in range(runs):
            for event, payload in (
                ("SessionStart", {}),
                ("UserPromptSubmit", {"prompt": questions[number]}),
                ("Stop", self._said(number)),
            ):
                self.stop()
                times.setdefault(event, []).append(self._run(event, payload))
                self._wait_for_resident()
        return [_measured(event, "started by it", each) for event, each in times.items()]

    def _late(self, runs: int, questions: Sequence[str]) -> list[Hooks]:
        """A process that is there and says nothing: the deadline."""
        pid = self._wait_for_resident()
        if not hasattr(signal, "SIGSTOP"):
            return []
        os.kill(pid, signal.SIGSTOP)
        try:
            times = [
                self._run("UserPromptSubmit", {"prompt": questions[number]})
                for number in range(runs)
            ]
        finally:
            os.kill(pid, signal.SIGCONT)
        return [_measured("UserPromptSubmit", "hanging", times)]

    def _said(self, number: int) -> dict[str, object]:
        record = {
            "type": "user",
            "uuid": f"u{time.monotonic_ns()}",
            "sessionId": "bench",
            "cwd": str(self.project),
            "timestamp": "2026-03-02T10:00:00.000Z",
            "message": {"role": "user", "content": f"Number {number} of what is said"},
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return {}

    def _run(self, event: str, given: dict[str, object]) -> tuple[float, bool]:
        payload = {
            "session_id": "bench",
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **given,
        }
        content = json.dumps(payload).encode()
        started = time.perf_counter()
        done = subprocess.run(
            [*self.command, _AGENT, event],
            input=content,
            stdout=subprocess.PIPE,
            env=self.environment,
            cwd=self.project,
            check=True,
        )
        return (time.perf_counter() - started) * 1_000, bool(done.stdout)

    def _wait_for_resident(self) -> int:
        """Wait until it is there, and has opened the store."""
        ends = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < ends:
            found = resident.answers(self.home / "agents")
            if found is not None and found["open"] and not found["waiting"]:
                return int(found["pid"])
            time.sleep(0.05)
        raise TimeoutError("the process behind the hooks did not come up")

    def stop(self) -> None:
        """End the process behind the hooks, and wait until it has: it locks a file until then."""
        folder = self.home / "agents"
        with contextlib.suppress(OSError):
            ricordo_hook.ask(str(folder), {"v": ricordo_hook.VERSION, "do": "stop"}, 5)
        if folder.is_dir():
            with locked(folder / "resident.lock", _PATIENCE_SECONDS):
                pass


def _python_ms(environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], env=environment, check=True)
    return (time.perf_counter() - started) * 1_000


def _measured(event: str, behind: str, times: Sequence[tuple[float, bool]]) -> Hooks:
    took = [ms for ms, _ in times]
    shown = sum(said for _, said in times)
    return Hooks(event=event, behind=behind, times=latency(took), longest_ms=max(took), shown=shown)


def _table(report: HooksReport) -> TableListing:
    rows = [
        [
            one.event,
            one.behind,
            *(f"{ms:.0f}" for ms in (one.times.p50_ms, one.times.p95_ms, one.longest_ms)),
            f"{one.shown} of {one.times.calls}",
        ]
        for one in report.events
    ]
    note = f"{report.memories:,} memories of the project. {report.machine.in_words}"
    return TableListing(
        ["Event", "Process behind it", "p50 ms", "p95 ms", "longest ms", "shown"], rows, note
    )
