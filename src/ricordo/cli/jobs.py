"""Background work: ``jobs``, ``upkeep``, ``consolidate``, ``events``, ``worker``, ``celery``."""

import logging
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.errors import MODEL_ERROR, STORAGE_ERROR
from ricordo.cli.json_answers import JobCancelled, JobRetried, Reindexed, WorkEnded, Working
from ricordo.cli.render import Shown, TableListing, answer, progress_bar, working
from ricordo.cli.store import AsJson, Place, Store, completing, open_store, words
from ricordo.model import checks
from ricordo.model.vocabulary import Lane
from ricordo.operations import maintenance
from ricordo.operations import store as describe

if TYPE_CHECKING:
    from ricordo.model.reports import ConsolidationReport, RoundReport
    from ricordo.workers.configuration import BrokerStatus


def retry_job(*, given: Given = options_of(describe.retry_job), store: Store) -> None:
    """Try a dead job again."""
    with open_store(store) as memory:
        memory.retry_job(**given)
    done = JobRetried(retried=given["id"])
    answer(store.as_json, done, lambda _: f"Job {given['id']} is queued again.")


def cancel_job(*, given: Given = options_of(describe.cancel_job), store: Store) -> None:
    """Cancel a job that waits or is dead."""
    with open_store(store) as memory:
        memory.cancel_job(**given)
    done = JobCancelled(cancelled=given["id"])
    answer(store.as_json, done, lambda _: f"Job {given['id']} is cancelled.")


def _round_text(report: "RoundReport") -> Shown:
    queued = f" Queued: {', '.join(report.queued)}." if report.queued else ""
    return (
        f"Forgotten: {report.forgotten}. Rows trimmed: {report.trimmed}."
        f" Relations cut: {report.unrelated}. Vectors asked for: {report.vectors_asked}.{queued}"
    )


def _consolidation_table(report: "ConsolidationReport") -> Shown:
    note = _consolidation_note(report)
    if not report.decisions:
        return f"Nothing to consolidate.{'' if note is None else f' {note}'}"
    rows = [
        [
            one.action,
            str(one.kept),
            "" if one.replaced is None else str(one.replaced),
            f"{one.similarity:.2f}",
            one.reason,
        ]
        for one in report.decisions
    ]
    return TableListing(["Decision", "Stays", "Gives way", "Similarity", "Why"], rows, note)


def _consolidation_note(report: "ConsolidationReport") -> str | None:
    said = ["Nothing was changed."] if report.dry_run else []
    if report.waiting:
        said.append(f"{report.waiting} pairs wait for another day.")
    if report.waits is not None:
        said.append(report.waits)
    return " ".join(said) or None


def test_model(*, given: Given = options_of(describe.test_model), store: Store) -> None:
    """Ask the language model something small: what it can do, or what is wrong.

    The exit code is 0 when it answers well.
    """
    with open_store(store) as memory, working("Asking the model", wanted=not store.as_json):
        report = memory.test_model(**given)
    answer(store.as_json, report, tables.card)
    if not report.ok:
        raise typer.Exit(MODEL_ERROR)


def reindex(
    *, given: Given = options_of(describe.reindex, everything="--all"), store: Store
) -> None:
    """Rebuild search terms that are missing, or of another language or version.

    A job does the same by itself after such a change. It can be stopped and goes on where it was.
    """
    with (
        open_store(store) as memory,
        progress_bar("Rebuilding search terms", wanted=not store.as_json) as progress,
    ):
        count = memory.reindex(**given, progress=progress)
    done = Reindexed(reindexed=count)
    answer(store.as_json, done, lambda _: f"Search terms rebuilt: {count}.")


OfLane = Annotated[
    str | None,
    typer.Option(
        "--lane",
        metavar="LANE",
        help=f"Only jobs of this lane: {words(Lane)}.",
        autocompletion=completing(Lane),
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        metavar="N", help=f"How many slow jobs to run at once (1 to {limits.MAX_JOB_THREADS})."
    ),
]


def worker(*, threads: Threads = 1, lane: OfLane = None, store: Store) -> None:
    """Work off background jobs in this process until it is stopped.

    Any number of workers share a store. Programs that leave the work to them open it with
    run_jobs=False.
    """
    from ricordo.wiring import open_memory
    from ricordo.workers.process import work_until_stopped

    count = checks.integer("threads", threads, 1, limits.MAX_JOB_THREADS)
    served = None if lane is None else checks.choice("lane", lane, Lane)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with open_memory(**{**store.settings(), "run_jobs": False}) as memory:
        where = memory.database.backend.location
        started = Working(working=where, threads=count, lane=served)

        def begun() -> None:
            answer(store.as_json, started, lambda _: f"Working on the jobs of {where}.")
            sys.stdout.flush()

        work_until_stopped(memory, count, served, begun)
    answer(store.as_json, WorkEnded(stopped=where), lambda _: "Stopped.")


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

OfPool = Annotated[
    str,
    typer.Option(
        metavar="POOL", help=f"What to run jobs in: {words(Pool)}.", autocompletion=completing(Pool)
    ),
]
Beat = Annotated[
    bool, typer.Option("--beat", help="Send the sweeps, too; then no `celery beat` is needed.")
]


def celery_worker(
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
    from ricordo.workers.celery_app import app, tick_inside

    if beat:
        tick_inside(app)
    queues = QUEUES.values() if served is None else [QUEUES[served]]
    _silence_tasks()
    app.worker_main(
        [
            *("--quiet", "worker", "--loglevel", "INFO"),
            *("--hostname", f"ricordo-{os.getpid()}@%h"),  # any number of them on one machine
            *("--pool", chosen.value, "--queues", ",".join(queues)),
            *(() if count is None else ("--concurrency", str(count))),
            *("--without-gossip", "--without-mingle"),  # workers need not know each other
        ]
    )


def beat(*, place: Place) -> None:
    """Send the sweeps, which wake workers for what is due, until stopped.

    Needs RICORDO_BROKER_URL. One is enough for all workers, more do no harm.
    """
    _broker(place)
    from ricordo.workers.celery_app import app

    _silence_tasks()
    app.start(["--quiet", "beat", "--loglevel", "INFO"])


def status(*, as_json: AsJson = False) -> None:
    """Show whether the broker answers, what waits there, and which workers listen.

    The exit code is 0 when the broker answers, and 6 otherwise.
    """
    url = _broker(Place())
    from ricordo.workers.configuration import look_at

    with working("Asking the broker", wanted=not as_json):
        found = look_at(url)
    answer(as_json, found, _table)
    if not found.reachable:
        raise typer.Exit(STORAGE_ERROR)


def _broker(place: Place) -> str:
    """The broker's URL. One given as an option goes into the environment, from which Celery's
    processes read it."""
    from ricordo.wiring import ENVIRONMENT_PREFIX, read_settings
    from ricordo.workers.configuration import broker_of

    for name, value in place.settings().items():
        os.environ[f"{ENVIRONMENT_PREFIX}{name.upper()}"] = str(value)
    return broker_of(read_settings(os.environ, {}))


def _silence_tasks() -> None:
    """Silence Celery's line for every task; ricordo logs failed jobs itself."""
    for name in ("celery.worker.strategy", "celery.app.trace", "celery.beat"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _table(found: "BrokerStatus") -> TableListing:
    rows = [["broker", found.broker, found.problem or "answers"]]
    rows += [["queue", name, f"{length} waiting"] for name, length in found.queues.items()]
    rows += [["worker", name, "answers"] for name in found.workers]
    note = None if found.workers or not found.reachable else "No worker answers."
    return TableListing(["What", "Name", "State"], rows, note)


list_jobs = command_of(describe.jobs, tables.job_table)
run_jobs = command_of(
    describe.run_jobs,
    lambda count: f"Jobs run: {count}.",
    about="Run the jobs that are due now.",
    doing="Running jobs",
)
job_stats = command_of(describe.job_stats, tables.job_stats_table)
upkeep = command_of(
    maintenance.upkeep,
    _round_text,
    about="Run a user's daily upkeep now: forget what is unused, trim, queue missing vectors.\n\n"
    "What takes longer is queued: ricordo jobs run",
    doing="Tending memories",
)
consolidate = command_of(
    maintenance.consolidate,
    _consolidation_table,
    about="Merge duplicates, replace what is outdated, link what belongs together.\n\n"
    "Anything that was done can be taken back: ricordo undo ID",
    doing="Comparing memories",
)
events = command_of(maintenance.events, tables.event_table)
counters = command_of(maintenance.counters, tables.counter_table, for_all_users=True)
daily = command_of(maintenance.daily, tables.daily_table, for_all_users=True)
