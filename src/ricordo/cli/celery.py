"""Background work by Celery: ``celery worker``, ``celery beat`` and ``celery status``."""

import logging
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo import limits
from ricordo.cli.exit_codes import STORAGE_ERROR
from ricordo.cli.options import AsJson, Place, completing, words
from ricordo.cli.progress import working
from ricordo.cli.render import Listing, answer
from ricordo.model import checks
from ricordo.model.vocabulary import Lane

if TYPE_CHECKING:
    from ricordo.workers.looking import BrokerStatus

_ONE_LINE_PER_TASK: Final = ("celery.worker.strategy", "celery.app.trace", "celery.beat")


class Pool(StrEnum):
    """What a worker runs its jobs in."""

    PREFORK = "prefork"
    THREADS = "threads"
    SOLO = "solo"


Concurrency = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help=f"How many jobs to run at once (1 to {limits.MAX_JOB_THREADS};"
        " default: as many as cores).",
    ),
]
OfLane = Annotated[
    str | None,
    typer.Option(
        "--lane",
        metavar="LANE",
        help=f"Only jobs of this lane: {words(Lane)}.",
        autocompletion=completing(Lane),
    ),
]
OfPool = Annotated[
    str,
    typer.Option(
        metavar="POOL",
        help=f"What to run jobs in: {words(Pool)}.",
        autocompletion=completing(Pool),
    ),
]
Beat = Annotated[
    bool,
    typer.Option("--beat", help="Send the sweeps, too; then no `celery beat` is needed."),
]


def worker(
    *,
    concurrency: Concurrency = None,
    lane: OfLane = None,
    pool: OfPool = Pool.PREFORK.value,
    beat: Beat = False,
    place: Place,
) -> None:
    """Run the jobs that the broker tells of, until stopped.

    Needs RICORDO_BROKER_URL. One process somewhere must send the sweeps: a worker with --beat, or
    `ricordo celery beat`.
    """
    chosen = checks.choice("pool", pool, Pool)
    served = None if lane is None else checks.choice("lane", lane, Lane)
    count = checks.optional_integer("concurrency", concurrency, 1, limits.MAX_JOB_THREADS)
    _broker(place)
    from ricordo.jobs.broker import QUEUES
    from ricordo.workers.celery_app import app
    from ricordo.workers.clock import tick_inside

    if beat:
        tick_inside(app)
    queues = QUEUES.values() if served is None else [QUEUES[served]]
    _quieten()
    app.worker_main(
        [
            *("--quiet", "worker", "--loglevel", "INFO"),
            *("--hostname", f"ricordo-{os.getpid()}@%h"),  # any number of them on one machine
            *("--pool", chosen.value, "--queues", ",".join(queues)),
            *(() if count is None else ("--concurrency", str(count))),
            *("--without-gossip", "--without-mingle"),  # workers need not know of each other
        ]
    )


def beat(*, place: Place) -> None:
    """Send the sweeps, which wake workers for what is due, until stopped.

    Needs RICORDO_BROKER_URL. One is enough for all workers, more do no harm.
    """
    _broker(place)
    from ricordo.workers.celery_app import app

    _quieten()
    app.start(["--quiet", "beat", "--loglevel", "INFO"])


def status(*, as_json: AsJson = False) -> None:
    """Show whether the broker answers, what waits there, and which workers listen.

    The exit code is 0 when the broker answers, and 6 otherwise.
    """
    url = _broker(Place())
    from ricordo.workers.looking import look_at

    with working("Asking the broker", wanted=not as_json):
        found = look_at(url)
    answer(as_json, found, _table)
    if not found.reachable:
        raise typer.Exit(STORAGE_ERROR)


def _broker(place: Place) -> str:
    """The address of the broker. What was given on the command line goes into the environment,
    from which Celery's processes read it."""
    from ricordo.wiring import ENVIRONMENT_PREFIX, read_settings
    from ricordo.workers.configuration import broker_of

    for name, value in place.settings().items():
        os.environ[f"{ENVIRONMENT_PREFIX}{name.upper()}"] = str(value)
    return broker_of(read_settings(os.environ, {}))


def _quieten() -> None:
    """Celery writes lines for every task; jobs that fail are told of by ricordo itself."""
    for name in _ONE_LINE_PER_TASK:
        logging.getLogger(name).setLevel(logging.WARNING)


def _table(found: "BrokerStatus") -> Listing:
    rows = [["broker", found.broker, found.problem or "answers"]]
    rows += [["queue", name, f"{length} waiting"] for name, length in found.queues.items()]
    rows += [["worker", name, "answers"] for name in found.workers]
    note = None if found.workers or not found.reachable else "No worker answers."
    return Listing(["What", "Name", "State"], rows, note)
