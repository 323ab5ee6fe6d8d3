"""A process for background work: ``worker``."""

import logging
import sys
from typing import Annotated

import typer

from ricordo import limits
from ricordo.cli.options import Store, completing, words
from ricordo.cli.render import answer
from ricordo.cli.shapes import WorkEnded, Working
from ricordo.model import checks
from ricordo.model.vocabulary import Lane

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
        answer(store.as_json, started, lambda _: f"Working on the jobs of {where}.")
        sys.stdout.flush()
        work_until_stopped(memory, count, served)
    answer(store.as_json, WorkEnded(stopped=where), lambda _: "Stopped.")
