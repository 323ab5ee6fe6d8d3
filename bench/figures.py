"""python -m bench figures: starting, adding and reading, on both databases."""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import ricordo
from bench.options import Commands, add_json
from ricordo.cli.bench import figure_table
from ricordo.cli.render import answer
from ricordo_bench.figures import (
    Better,
    Figure,
    FigureReport,
    judged,
    percentile,
    this_machine,
    times_ms,
)
from ricordo_bench.speed import WITHOUT_EMBEDDING, starting_figures, writing_figures

_SINGLE = 2_000
_BULK = 10_000
_READS = 300


def register(commands: Commands) -> None:
    parser = commands.add_parser("figures", help="starting, adding and reading (the default)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    from tests.support import postgres  # needs a driver that an environment of peers has not

    machine = this_machine()
    figures = starting_figures()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR", ".")) as name:
        folder = Path(name).absolute()
        figures += writing_figures(folder, _SINGLE, at_full_size=True)
        figures += _store_figures("SQLite", str(folder / "ricordo.db"))
    with postgres.server(), postgres.database("ricordo_bench") as url:
        figures += _store_figures("PostgreSQL", url)
    report = FigureReport(machine=machine, figures=tuple(figures))
    answer(given.as_json, report, figure_table)


def _store_figures(name: str, url: str) -> list[Figure]:
    """Adding without embedding, and reading without searching."""
    with ricordo.open(url, run_jobs=False, **WITHOUT_EMBEDDING) as memory:
        ana = memory.user("ana")
        ana.add("The first one loads everything")
        single = 1_000 / fmean(times_ms(ana.add, map(_text, range(_SINGLE))))
        started = time.perf_counter()
        ana.add_many([_text(_SINGLE + number) for number in range(_BULK)])
        bulk = _BULK / (time.perf_counter() - started)
        return [
            judged(f"{name}: add, single", single, "/s", better=Better.HIGHER),
            judged(f"{name}: add_many", bulk, "/s", better=Better.HIGHER),
            _median(f"{name}: get, p50", lambda number: ana.get(number + 1)),
            _median(f"{name}: list 50 of {_SINGLE + _BULK:,}, p50", lambda _: ana.list()),
            _median(
                f"{name}: list with a filter and a text, p50",
                lambda number: ana.list(contains=f"number {number}", importance_min=2),
            ),
        ]


def _text(number: int) -> str:
    return f"Fact number {number} about something that somebody said"


def _median(name: str, work: Callable[[int], object]) -> Figure:
    return judged(name, percentile(times_ms(work, range(_READS)), 50), "ms")
