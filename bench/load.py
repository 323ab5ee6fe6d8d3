"""python -m bench load: the service under the load of many clients, on both databases.

Searches and additions come mixed from clients that ask again as soon as they are answered. With
``--kill`` the server is killed and started again meanwhile. Afterwards everything that was
acknowledged has to be in the store. The exit code is 1 where something was lost, or went wrong for
any other reason than a kill.
"""

import argparse
import contextlib
import importlib.util
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from bench.loading.course import Course, Load, fill, run_bound, run_course, run_peer
from bench.loading.requests import Asked, Kind
from bench.options import Commands, add_json
from bench.peers import environments
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer, say
from ricordo.model.record import Record
from ricordo.wiring import open_memory
from ricordo_bench.figures import Machine, percentile, this_machine

SQLITE: Final = "SQLite"
BOUND: Final = "bound"
PEER: Final = "chromadb"
POSTGRESQL: Final = "PostgreSQL"
_DATABASES: Final = {"sqlite": [SQLITE], "postgresql": [POSTGRESQL], "both": [SQLITE, POSTGRESQL]}
_KILLS: Final = 5
_SHOWN_PROBLEMS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(Record):
    """Of the requests of one kind that were answered, in milliseconds."""

    requests: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseLoad(Record):
    """What one database did.

    ``errors`` are refusals and missing answers, but for those of requests that were under way while
    the server was down: these are ``cut_off``. ``back_after_seconds`` is from each kill until the
    service was ready again. ``server_ms`` of a core is what a request cost the server;
    ``clients_core`` is how much of a core the clients took themselves.
    """

    database: str
    requests_per_second: float
    server_ms: float
    server_cores: float
    search: Times
    add: Times
    errors: int
    cut_off: int
    acknowledged: int
    stored: int
    lost: int
    back_after_seconds: tuple[float, ...]
    clients_core: float
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport(Record):
    """The same load on each database."""

    machine: Machine
    clients: int
    seconds: float
    memories: int
    users: int
    add_percent: int
    bound: DatabaseLoad | None
    peer: DatabaseLoad | None = None
    databases: tuple[DatabaseLoad, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("load", help="the service under load, on both databases")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default 60)")
    parser.add_argument("--clients", type=int, default=50, help="how many at once (default 50)")
    parser.add_argument("--add-percent", type=int, default=20, help="of the requests (default 20)")
    parser.add_argument("--memories", type=int, default=10_000, help="before (default 10,000)")
    parser.add_argument("--users", type=int, default=20, help="whose they are (default 20)")
    parser.add_argument("--words", action="store_true", help="search by words, without vectors")
    parser.add_argument("--database", choices=sorted(_DATABASES), default="both")
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")
    parser.add_argument("--runs", type=int, default=1, help="how often; medians are shown")
    parser.add_argument("--peer", choices=["chroma"], help="also a server that one would build")
    parser.add_argument("--kill", action="store_true", help="kill the server meanwhile")
    parser.add_argument("--kills", type=int, default=_KILLS, help="how often (default 5)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    if importlib.util.find_spec("locust") is None:
        sys.exit("the load comes from locust, which is not installed: pip install locust")
    load = Load(
        clients=given.clients,
        seconds=given.seconds,
        add_percent=given.add_percent,
        memories=given.memories,
        users=given.users,
        kills=given.kills if given.kill else 0,
        by_words=given.words,
        workers=given.workers,
    )
    if given.peer:
        environments.install(["stores"], say)
    names = _DATABASES[given.database]
    reports = [
        measure(load, names, with_peer=bool(given.peer), shows_progress=not given.as_json)
        for _ in range(given.runs)
    ]
    report = middle(reports)
    answer(given.as_json, report, _table)
    for one in report.databases:
        for problem in one.problems:
            say(f"{one.database}: {problem}")
    if any(one.problems for one in report.databases):
        sys.exit(1)


def middle(reports: Sequence[LoadReport]) -> LoadReport:
    """Medians of the rates and times of several runs; sums of what must not happen."""

    def of(some: Sequence[DatabaseLoad]) -> DatabaseLoad:
        def times(kind: str) -> Times:
            each: list[Times] = [getattr(one, kind) for one in some]
            return Times(
                requests=sum(one.requests for one in each),
                p50_ms=median(one.p50_ms for one in each),
                p95_ms=median(one.p95_ms for one in each),
                p99_ms=median(one.p99_ms for one in each),
            )

        return DatabaseLoad(
            database=some[0].database,
            requests_per_second=median(one.requests_per_second for one in some),
            server_ms=median(one.server_ms for one in some),
            server_cores=median(one.server_cores for one in some),
            search=times("search"),
            add=times("add"),
            errors=sum(one.errors for one in some),
            cut_off=sum(one.cut_off for one in some),
            acknowledged=sum(one.acknowledged for one in some),
            stored=sum(one.stored for one in some),
            lost=sum(one.lost for one in some),
            back_after_seconds=tuple(s for one in some for s in one.back_after_seconds),
            clients_core=median(one.clients_core for one in some),
            problems=tuple(problem for one in some for problem in one.problems),
        )

    if len(reports) == 1:
        return reports[0]
    bounds = [one.bound for one in reports if one.bound is not None]
    peers = [one.peer for one in reports if one.peer is not None]
    return replace(
        reports[0],
        bound=of(bounds) if bounds else None,
        peer=of(peers) if peers else None,
        databases=tuple(map(of, zip(*(one.databases for one in reports), strict=True))),
    )


def measure(
    load: Load, databases: Sequence[str], *, shows_progress: bool, with_peer: bool = False
) -> LoadReport:
    """Put the same load on each database, one after the other."""
    machine = this_machine()
    found, bound, peer = [], None, None
    with progress_bars(wanted=shows_progress) as bar:
        for name in databases:
            with new_store(name) as url:
                plan = fill(url, load, bar(f"{name}: storing memories"))
                if bound is None and not load.kills and not load.by_words:
                    bar(f"{BOUND}: under load")(0, 1)
                    bound = judged(BOUND, run_bound(url, load, plan))
                    if with_peer:
                        bar(f"{PEER}: under load")(0, 1)
                        peer = judged(PEER, run_peer(url, load, plan))
                bar(f"{name}: under load")(0, 1)
                found.append(judged(name, run_course(url, load, plan)))
    return LoadReport(
        machine=machine,
        clients=load.clients,
        seconds=load.seconds,
        memories=load.memories,
        users=load.users,
        add_percent=load.add_percent,
        bound=bound,
        peer=peer,
        databases=tuple(found),
    )


@contextlib.contextmanager
def new_store(database: str) -> Iterator[str]:
    """An empty store; on PostgreSQL as the role of an application, which the service requires."""
    if database == SQLITE:
        with tempfile.TemporaryDirectory(prefix="ricordo-load-") as folder:
            yield str(Path(folder) / "ricordo.db")
        return
    from tests.support import postgres  # needs a driver that an environment of peers has not

    with postgres.server(), postgres.database("ricordo_load") as owner_url:
        open_memory(owner_url, run_jobs=False).close()
        yield postgres.let_app_in(owner_url)


def judged(database: str, course: Course) -> DatabaseLoad:
    """What a run comes to."""
    failed = [one for one in course.outcome.asked if one.problem is not None]
    cut_off = [one for one in failed if one.status == 0 and _met_an_outage(one, course)]
    errors = [one for one in failed if one not in cut_off]
    return DatabaseLoad(
        database=database,
        requests_per_second=(len(course.outcome.asked) - len(failed)) / course.outcome.seconds,
        server_ms=course.server_seconds * 1_000 / max(1, len(course.outcome.asked)),
        server_cores=course.server_seconds / course.outcome.seconds,
        search=_times(course, Kind.SEARCH),
        add=_times(course, Kind.ADD),
        errors=len(errors),
        cut_off=len(cut_off),
        acknowledged=len(course.outcome.added),
        stored=course.stored,
        lost=len(course.lost),
        back_after_seconds=tuple(outage.ended - outage.began for outage in course.outages),
        clients_core=course.outcome.cpu_seconds / course.outcome.seconds,
        problems=tuple(_problems(course, errors, len(cut_off))),
    )


def _met_an_outage(one: Asked, course: Course) -> bool:
    """Outages are in order, and of many kills there are many."""
    first = bisect_left(course.outages, one.started, key=lambda outage: outage.ended)
    return first < len(course.outages) and course.outages[first].began <= one.ended


def _problems(course: Course, errors: Sequence[Asked], cut_off: int) -> Iterator[str]:
    """What went otherwise than it must, in one line each."""
    for one in errors[:_SHOWN_PROBLEMS]:
        yield f"{one.kind} was answered with {one.status}: {one.problem}"
    for added in course.lost[:_SHOWN_PROBLEMS]:
        yield f"lost: memory {added.id} of {added.user}"
    acknowledged = len(course.outcome.added)
    if not acknowledged <= course.stored <= acknowledged + cut_off:
        yield f"{acknowledged} were acknowledged, but {course.stored} are stored"
    if course.exit_code != 0:
        yield f"the service ended with exit code {course.exit_code}"
    if course.doctor is not None:
        yield f"ricordo doctor is not content: {course.doctor}"


def _times(course: Course, kind: Kind) -> Times:
    taken = [
        (one.ended - one.started) * 1_000
        for one in course.outcome.asked
        if one.kind is kind and one.problem is None
    ]
    if not taken:
        return Times(requests=0, p50_ms=0.0, p95_ms=0.0, p99_ms=0.0)
    return Times(
        requests=len(taken),
        p50_ms=percentile(taken, 50),
        p95_ms=percentile(taken, 95),
        p99_ms=percentile(taken, 99),
    )


def _table(report: LoadReport) -> TableListing:
    beside = [one for one in (report.bound, report.peer) if one is not None]
    shown = [*beside, *report.databases]
    names = [one.database for one in shown]
    not_looked = [""] * len(beside)
    rows = [
        ["requests per second", *(f"{one.requests_per_second:.0f}" for one in shown)],
        ["server: of a core per request", *(f"{one.server_ms:.1f} ms" for one in shown)],
        ["server: cores", *(f"{one.server_cores:.2f}" for one in shown)],
        *_time_rows("search", [one.search for one in shown]),
        *_time_rows("add", [one.add for one in shown]),
        ["errors", *(f"{one.errors:,}" for one in shown)],
        ["additions acknowledged", *(f"{one.acknowledged:,}" for one in shown)],
        ["additions stored", *not_looked, *(f"{one.stored:,}" for one in report.databases)],
        ["additions lost", *not_looked, *(f"{one.lost:,}" for one in report.databases)],
    ]
    if report.bound:
        share = report.bound.server_ms
        rows.insert(
            2, ["server: times the bound", *(f"{one.server_ms / share:.1f}" for one in shown)]
        )
    if any(one.back_after_seconds for one in report.databases):
        rows += [
            ["kills", *(str(len(one.back_after_seconds)) for one in shown)],
            ["requests cut off by them", *(f"{one.cut_off:,}" for one in report.databases)],
            [
                "ready again after, at most",
                *(f"{max(one.back_after_seconds):.1f} s" for one in report.databases),
            ],
        ]
    rows.append(["cores that the clients took", *(f"{one.clients_core:.2f}" for one in shown)])
    title = f"{report.clients} clients, {report.seconds:g} s, {report.memories:,} memories"
    return TableListing([title, *names], rows, report.machine.in_words)


def _time_rows(kind: str, times: Sequence[Times]) -> list[list[str]]:
    return [
        [f"{kind}: requests", *(f"{one.requests:,}" for one in times)],
        [f"{kind}: p50", *(f"{one.p50_ms:.0f} ms" for one in times)],
        [f"{kind}: p95", *(f"{one.p95_ms:.0f} ms" for one in times)],
        [f"{kind}: p99", *(f"{one.p99_ms:.0f} ms" for one in times)],
    ]
