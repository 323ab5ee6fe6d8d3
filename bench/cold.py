"""python -m bench cold: how long a command takes from nothing, as somebody at a shell waits for it.

Every figure is of fresh processes: Python starts, loads what it needs, opens the file, answers.
"""

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.options import Commands, add_json
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo_bench.figures import Latency, Machine, latency, this_machine
from ricordo_bench.stores import InventedTexts, synthetic

_COMMAND = str(Path(sys.executable).with_name("ricordo"))
_USER = "me"
_SIZE = 10_000
_RUNS = 20
_AT_ONCE = 5_000
_SERVED = ", with a service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cold(Record):
    """One command, run in processes of its own."""

    command: str
    cpu_ms: float
    """The median of what the process computed, its own and the system's."""
    least_cpu_ms: float
    least_ms: float
    times: Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdReport(Record):
    """All commands, and what they were measured on."""

    machine: Machine
    memories: int
    commands: tuple[Cold, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "cold", help="whole processes: search, add, context and --help from nothing"
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
        home = Path(name)
        questions = _fill(home, given.size, given.runs, bar("adding"))
        measured = _measure(home, questions, given.runs, bar("running"))
    report = ColdReport(machine=machine, memories=given.size, commands=tuple(measured))
    answer(given.as_json, report, _table)


def _fill(home: Path, size: int, count: int, progress: Progress) -> Sequence[str]:
    """A store with so many memories, and questions that nobody asked yet.

    Its vectors are invented under the name of the shipped model, which embeds the questions.
    """
    source = InventedTexts()
    texts = source.texts(size)
    # Without relations: each new memory would be compared with all others.
    with synthetic(
        str(home / "ricordo.db"), home=home, upkeep=False, relations_per_memory=0
    ) as memory:
        user = memory.user(_USER)
        for start in range(0, size, _AT_ONCE):
            user.add_many(texts[start : start + _AT_ONCE])
            progress(min(start + _AT_ONCE, size), size)
    return source.queries(count, texts)


def _measure(home: Path, questions: Sequence[str], runs: int, progress: Progress) -> list[Cold]:
    """Each command by turns, so that a busy moment is not one command's alone; those that open the
    store once more while a service has it open."""
    spent: dict[str, list[tuple[float, float]]] = {}
    _run_ms(home, "search", questions[0])  # compiles what was not, and checks the model's files
    for served in ("", _SERVED):
        with _service(home) if served else contextlib.nullcontext():
            for number, question in enumerate(questions):
                commands = [
                    ("search", question),
                    ("add", f"Noted as number {number}{served}: {question}"),
                    ("context", question),
                    ("--help",),
                ]
                for arguments in commands[:-1] if served else commands:
                    kind = f"ricordo {arguments[0]}{served}"
                    spent.setdefault(kind, []).append(_run_ms(home, *arguments))
                progress(number + 1 + bool(served) * runs, 2 * runs)
    return [
        Cold(
            command=kind,
            cpu_ms=median(cpu for _, cpu in times),
            least_cpu_ms=min(cpu for _, cpu in times),
            least_ms=min(wall for wall, _ in times),
            times=latency([wall for wall, _ in times]),
        )
        for kind, times in spent.items()
    ]


@contextlib.contextmanager
def _service(home: Path) -> Iterator[None]:
    """The service on that store, which has answered once."""
    with subprocess.Popen(
        [_COMMAND, "serve", "--port", "0", "--json"],
        env=_environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as service:
        assert service.stdout is not None
        service.stdout.readline()
        _run_ms(home, "search", "is it there")
        yield
        service.terminate()


def _environment(home: Path) -> dict[str, str]:
    environment = {name: one for name, one in os.environ.items() if not name.startswith("RICORDO_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody else compiles everything each time
    return {**environment, "RICORDO_HOME": str(home)}


def _run_ms(home: Path, *arguments: str) -> tuple[float, float]:
    """How long it took, and how much of that was computing."""
    started, computed = time.perf_counter(), _children_cpu()
    subprocess.run(
        [_COMMAND, *arguments],
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return (time.perf_counter() - started) * 1_000, (_children_cpu() - computed) * 1_000


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _shown(one: Cold) -> tuple[float, ...]:
    return one.cpu_ms, one.least_cpu_ms, one.least_ms, one.times.p50_ms, one.times.p95_ms


def _table(report: ColdReport) -> TableListing:
    rows = [[one.command, *(f"{ms:.0f}" for ms in _shown(one))] for one in report.commands]
    note = f"{report.memories:,} memories. {report.machine.in_words}"
    return TableListing(
        ["Command", "CPU ms", "least CPU", "least ms", "p50 ms", "p95 ms"], rows, note
    )
