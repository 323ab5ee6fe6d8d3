"""python -m bench figures: starting, adding and reading, on both databases."""

import argparse
import os
import tempfile
from pathlib import Path

from bench import writing
from bench.options import Commands, add_json
from ricordo.bench.figures import FigureReport, this_machine
from ricordo.bench.speed import starting_figures, writing_figures
from ricordo.cli.bench import figure_table
from ricordo.cli.render import answer

_SINGLE = 2_000


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
        figures += writing.store_figures("SQLite", str(folder / "ricordo.db"))
    with postgres.server(), postgres.database("ricordo_bench") as url:
        figures += writing.store_figures("PostgreSQL", url)
    report = FigureReport(machine=machine, figures=tuple(figures))
    answer(given.as_json, report, figure_table)
