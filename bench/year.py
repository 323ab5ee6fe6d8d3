"""python -m bench year: a simulated year of many users, with upkeep and without."""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.options import Commands, add_json
from bench.yearly.simulation import Course, Simulation
from bench.yearly.store_size import StoreSize, most_tokens_of_a_user_day
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer, say
from ricordo.memory import Memory
from ricordo.model.record import Record
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.transfer.exports import Progress, no_progress
from ricordo.wiring import open_memory
from ricordo_bench.figures import Machine, this_machine

_USERS = 200
_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class YearReport(Record):
    """What was measured.

    ``growth_first`` and ``growth_last`` are the rows that came in the first and last quarter of the
    time, ``job_ms`` what the jobs of a user and day take of a processor. ``problems`` is empty
    where nothing was forgotten that must stay and everything forgotten could be restored until it
    was purged.
    """

    machine: Machine
    users: int
    days: int
    statements: int
    searches: int
    months: tuple[StoreSize, ...]
    without: StoreSize
    duplicates: int
    duplicates_without: int
    growth_first: int
    growth_last: int
    forgotten: int
    purged: int
    restored: int
    most_jobs: int
    most_tokens: int
    jobs_a_day: float
    job_ms: float
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    course: Course
    duplicates: int
    most_tokens: int
    forgotten: int
    purged: int


def register(commands: Commands) -> None:
    parser = commands.add_parser("year", help="a simulated year, with upkeep and without")
    parser.add_argument("--users", type=int, default=_USERS, help=f"how many (default {_USERS})")
    parser.add_argument("--days", type=int, default=_DAYS, help=f"how many (default {_DAYS})")
    parser.add_argument("--url", help="an empty database for the run with upkeep; default: SQLite")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    with progress_bars(wanted=not given.as_json) as bar:
        report = simulate(
            given.users, given.days, given.url, bar("with upkeep"), bar("without upkeep")
        )
    answer(given.as_json, report, _table)
    if not given.as_json:
        for line in _lines(report):
            say(line)
    for problem in report.problems:
        say(problem)
    if report.problems:
        sys.exit(1)


def simulate(
    users: int,
    days: int,
    url: str | None = None,
    progress: Progress = no_progress,
    progress_without: Progress = no_progress,
) -> YearReport:
    """The same days of the same users twice: with upkeep and without."""
    machine = this_machine()
    with tempfile.TemporaryDirectory(prefix="ricordo-year-") as folder:
        upkept = _run(url or str(Path(folder) / "with.db"), users, days, True, progress)
        left = _run(str(Path(folder) / "without.db"), users, days, False, progress_without)
    course, rows = upkept.course, upkept.course.rows
    quarter = max(1, days // 4)
    return YearReport(
        machine=machine,
        users=users,
        days=days,
        statements=course.statements,
        searches=course.searches,
        months=tuple(course.months),
        without=left.course.months[-1],
        duplicates=upkept.duplicates,
        duplicates_without=left.duplicates,
        growth_first=rows[quarter - 1],
        growth_last=rows[-1] - rows[-1 - quarter],
        forgotten=upkept.forgotten,
        purged=upkept.purged,
        restored=course.restored,
        most_jobs=course.most_jobs,
        most_tokens=upkept.most_tokens,
        jobs_a_day=course.jobs / (users * days),
        job_ms=course.job_seconds * 1_000 / (users * days),
        problems=tuple(course.problems + left.course.problems),
    )


def _run(url: str, users: int, days: int, upkeep: bool, progress: Progress) -> _Run:
    clock = ManualClock()
    embedder = WordEmbedder()
    with open_memory(
        url,
        clock=clock,
        embedder=embedder,
        run_jobs=False,
        synchronous="NORMAL",
        upkeep=upkeep,
    ) as memory:
        simulation = Simulation(memory, clock, users)
        course = simulation.run(days, progress)
        ledgers = simulation.ledgers.values()
        return _Run(
            course,
            _duplicates(memory, simulation),
            most_tokens_of_a_user_day(memory),
            sum(ledger.forgotten for ledger in ledgers),
            sum(ledger.purged for ledger in ledgers),
        )


def _duplicates(memory: Memory, simulation: Simulation) -> int:
    """Pairs of memories that an audit finds to say the same, of all users."""
    return sum(memory.user(name).audit().duplicates.count for name in simulation.streams)


def _table(report: YearReport) -> TableListing:
    rows = [
        [
            f"day {one.day}" if one is not report.without else f"day {one.day}, without upkeep",
            f"{one.active:,}",
            f"{one.superseded:,}",
            f"{one.deleted:,}",
            f"{one.rows:,}",
            f"{one.megabytes:.1f}",
        ]
        for one in (*report.months, report.without)
    ]
    headings = ["", "Active", "Superseded", "Forgotten", "Rows", "MB"]
    return TableListing(headings, rows, report.machine.in_words)


def _lines(report: YearReport) -> list[str]:
    fewer = report.duplicates_without / max(1, report.duplicates)
    return [
        f"{report.users:,} users, {report.days:,} days: {report.statements:,} statements,"
        f" {report.searches:,} searches",
        f"duplicates: {report.duplicates:,} with upkeep, {report.duplicates_without:,} without:"
        f" fewer by a factor of {fewer:.1f}",
        f"rows that came in the first quarter: {report.growth_first:,},"
        f" in the last: {report.growth_last:,}",
        f"forgotten {report.forgotten:,}, purged {report.purged:,},"
        f" restored to see whether they can be {report.restored:,}",
        f"a user and day: {report.jobs_a_day:.2f} jobs, at most {report.most_jobs};"
        f" at most {report.most_tokens:,} tokens of a model; {report.job_ms:.1f} ms of work",
    ]
