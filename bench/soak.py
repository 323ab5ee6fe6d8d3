"""python -m bench soak: requests made up, hostile connections and clients that work, all at once.

The exit code is 1 where the service answered with 5xx or not at all, refused a client that works,
lost something that it acknowledged, or obeyed a trailer. How long a sign of life took, and how much
memory and how many descriptors the process had, is printed.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bench.load import POSTGRESQL, SQLITE, new_store
from bench.options import Commands, add_json
from bench.soaking.course import Course, Soak, run_course
from ricordo.cli.render import TableListing, answer, say
from ricordo.model.record import Record
from ricordo_bench.figures import Machine, percentile, this_machine

_SHOWN_PROBLEMS = 10
_DATABASES = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakReport(Record):
    """What a run came to. Statuses are counted, 0 where no answer came."""

    machine: Machine
    database: str
    seconds: float
    requests: int
    statuses: dict[str, int]
    work: int
    work_statuses: dict[str, int]
    attacks: int
    server_errors: int
    health_checks: int
    health_p99_ms: float
    health_worst_ms: float
    megabytes_at_start: float
    megabytes_at_most: float
    megabytes_at_end: float
    descriptors_at_most: int
    acknowledged: int
    lost: int
    problems: tuple[str, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("soak", help="the service under attack while clients work")
    parser.add_argument("--requests", type=int, default=20_000, help="made up (default 20,000)")
    parser.add_argument("--clients", type=int, default=20, help="that work (default 20)")
    parser.add_argument("--hostile", type=int, default=50, help="connections (default 50)")
    parser.add_argument("--database", choices=sorted(_DATABASES), default="sqlite")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    soak = Soak(requests=given.requests, clients=given.clients, hostile=given.hostile)
    machine = this_machine()
    database = _DATABASES[given.database]
    with new_store(database) as url:
        report = judged(machine, database, run_course(url, soak))
    answer(given.as_json, report, _table)
    for problem in report.problems:
        say(problem)
    if report.problems:
        sys.exit(1)


def judged(machine: Machine, database: str, course: Course) -> SoakReport:
    """What a run comes to."""
    health = [seconds * 1_000 for seconds in course.watched.health_seconds]
    megabytes = course.watched.megabytes or [0.0]
    both = course.generated + course.worked
    return SoakReport(
        machine=machine,
        database=database,
        seconds=course.seconds,
        requests=course.generated.total(),
        statuses={str(status): count for status, count in sorted(course.generated.items())},
        work=course.worked.total(),
        work_statuses={str(status): count for status, count in sorted(course.worked.items())},
        attacks=course.attacks,
        server_errors=sum(count for status, count in both.items() if status >= 500),
        health_checks=len(health),
        health_p99_ms=percentile(health, 99),
        health_worst_ms=max(health),
        megabytes_at_start=megabytes[0],
        megabytes_at_most=max(megabytes),
        megabytes_at_end=megabytes[-1],
        descriptors_at_most=max(course.watched.descriptors, default=0),
        acknowledged=len(course.added),
        lost=len(course.lost),
        problems=tuple(_problems(course)),
    )


def _problems(course: Course) -> Iterator[str]:
    """What went otherwise than it must, in one line each."""
    yield from course.faults[:_SHOWN_PROBLEMS]
    for user, number, _ in course.lost[:_SHOWN_PROBLEMS]:
        yield f"lost: memory {number} of {user}"
    if course.trailed:
        yield f"{course.trailed} memories of a user whom only trailers name"
    if course.exit_code != 0:
        yield f"the service ended with exit code {course.exit_code}"
    if course.doctor is not None:
        yield f"ricordo doctor is not content: {course.doctor}"


def _table(report: SoakReport) -> TableListing:
    rows = [
        ["requests made up", f"{report.requests:,}"],
        ["answered with", _counts(report.statuses)],
        ["requests of clients that work", f"{report.work:,}"],
        ["answered with", _counts(report.work_statuses)],
        ["hostile connections, one after the other", f"{report.attacks:,}"],
        ["answers of 5xx", f"{report.server_errors:,}"],
        ["/healthz: checks", f"{report.health_checks:,}"],
        ["/healthz: p99", f"{report.health_p99_ms:.0f} ms"],
        ["/healthz: worst", f"{report.health_worst_ms:.0f} ms"],
        ["resident memory at the start", f"{report.megabytes_at_start:.0f} MB"],
        ["resident memory at most", f"{report.megabytes_at_most:.0f} MB"],
        ["resident memory at the end", f"{report.megabytes_at_end:.0f} MB"],
        ["descriptors at most", f"{report.descriptors_at_most:,}"],
        ["additions acknowledged", f"{report.acknowledged:,}"],
        ["additions lost", f"{report.lost:,}"],
    ]
    title = f"{report.database}, {report.seconds:.0f} s"
    return TableListing([title, ""], rows, report.machine.in_words)


def _counts(statuses: dict[str, int]) -> str:
    return ", ".join(f"{status}: {count:,}" for status, count in statuses.items())
