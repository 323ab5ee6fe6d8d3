"""python -m bench peers: one table of ricordo and every installed peer."""

import argparse
import os
from pathlib import Path

import numpy as np

from bench.options import Commands, add_json
from bench.peers import comparing, environments
from bench.peers.comparing import PEER_SECONDS, RICORDO, Comparison, Standing
from bench.peers.registry import NOT_RUN, PEERS
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer, say
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo_bench.figures import this_machine
from ricordo_bench.recall import read_questions

_HEADINGS = ("System", "Version", "R@10", "R@1", "MRR", "p50 ms", "p95 ms", "stored/s", "MB")


def register(commands: Commands) -> None:
    parser = commands.add_parser("peers", help="compare with other systems on a set of questions")
    parser.add_argument("--path", type=Path, required=True, help="the set, as JSON")
    names = [RICORDO, *(entry.package for entry in PEERS)]
    parser.add_argument(
        "--only", action="append", choices=names, help="just this one; may be given several times"
    )
    parser.add_argument(
        "--texts",
        choices=("enriched", "bare"),
        default="enriched",
        help="what peers index: turns with time and speaker (default), or bare",
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help="first put what is missing into environments of its own, in .venv-peers"
        f" (or where {environments.FOLDER_VARIABLE} says)",
    )
    parser.add_argument(
        "--seconds", type=float, default=PEER_SECONDS, help="for each peer, at most (default 900)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    os.environ["MEM0_TELEMETRY"] = os.environ["ANONYMIZED_TELEMETRY"] = "False"
    wanted = given.only or [RICORDO, *(entry.package for entry in PEERS)]
    entries = [entry for entry in PEERS if entry.package in wanted]
    if given.install:
        environments.install(dict.fromkeys(entry.environment for entry in entries), say)
    questions = read_questions(given.path)
    machine = this_machine()
    standings: list[Standing] = []
    with progress_bars(wanted=not given.as_json) as bar:
        enriched = given.texts == "enriched"
        embed = LocalEmbedder().embed
        prepared = comparing.prepare(questions, embed, bar("vectors"), enriched=enriched)
        if RICORDO in wanted:
            vectors = np.concatenate(prepared.document_vectors)
            standings.append(comparing.ricordo_itself(questions, bar, vectors))
        standings += comparing.compare(prepared, entries, bar, seconds=given.seconds)
    if not given.only:
        standings += [Standing(system=one.name, version=None, reason=one.reason) for one in NOT_RUN]
    compared = Comparison(set_name=questions.name, machine=machine, standings=tuple(standings))
    answer(given.as_json, compared, _table)


def _table(compared: Comparison) -> TableListing:
    for standing in compared.standings:
        if standing.scores is None:
            say(f"{standing.system}: {standing.reason}")
    rows = [_row(standing) for standing in compared.standings if standing.scores is not None]
    return TableListing(_HEADINGS, rows, compared.machine.in_words)


def _row(standing: Standing) -> list[str]:
    assert standing.scores is not None
    assert standing.searching is not None
    overall, times = standing.scores.overall, standing.searching
    shares = (overall.recall_at_10, overall.recall_at_1, overall.mrr)
    return [
        standing.system,
        standing.version or "",
        *(f"{share:.3f}" for share in shares),
        f"{times.p50_ms:.1f}",
        f"{times.p95_ms:.1f}",
        "" if standing.stored_per_second is None else f"{standing.stored_per_second:,.0f}",
        "" if standing.megabytes is None else f"{standing.megabytes:.1f}",
    ]
