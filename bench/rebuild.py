"""python -m bench rebuild: all vectors made anew while everybody searches."""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.options import Commands, add_json
from bench.rebuilding.course import NAMES, Outcome, run_course
from ricordo.cli.render import TableListing, answer, say
from ricordo.index.backfill import FILL_BATCH
from ricordo.model.record import Record
from ricordo_bench.figures import Latency, Machine, latency, this_machine

_MEMORIES = 20_000
_PATIENCE_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport(Record):
    """What was measured. ``problems`` is empty where all went as it must."""

    machine: Machine
    memories: int
    archived: int
    searches: int
    failed: int
    stale: int
    degraded: int
    by_words: int
    by_provider: dict[str, int]
    searching: Latency
    seconds: float
    vectors_per_second: float
    problems: tuple[str, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("rebuild", help="searches while all vectors are made anew")
    parser.add_argument("--memories", type=int, default=_MEMORIES, help="how many (default 20,000)")
    parser.add_argument("--url", help="an empty database; default: a temporary SQLite file")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    with tempfile.TemporaryDirectory(prefix="ricordo-rebuild-") as folder:
        url = given.url or str(Path(folder) / "ricordo.db")
        outcome = run_course(url, given.memories, _PATIENCE_SECONDS, say)
    report = _report(machine, outcome)
    answer(given.as_json, report, _table)
    if report.problems:
        for problem in report.problems:
            say(problem)
        sys.exit(1)


def problems_of(outcome: Outcome) -> tuple[str, ...]:
    """What went otherwise than it must, in one line each."""
    found = [f"a search failed: {problem}" for problem in outcome.verdict.failed[:5]]
    found += [f"a stale vector was used: {one}" for one in outcome.verdict.stale[:5]]
    found += [f"counts do not add up: {status}" for status in outcome.wrong_counts[:5]]
    final = outcome.final
    if (final.model, final.ready, final.pending, final.error) != (NAMES[-1], final.memories, 0, 0):
        found.append(f"not everything is ready in the end: {final}")
    if final.memories != outcome.memories:
        found.append(f"{final.memories} memories in the end, not {outcome.memories}")
    if outcome.without_vector:
        found.append(f"{outcome.without_vector} archived hits have no vector in the end")
    if outcome.late > FILL_BATCH:
        found.append(f"{outcome.late} vectors were asked for after their provider was left")
    unused = [name for name in NAMES if not outcome.verdict.by_provider.get(name)]
    found += [f"no search went by vectors of the {name} provider" for name in unused]
    return tuple(found)


def _report(machine: Machine, outcome: Outcome) -> RebuildReport:
    verdict = outcome.verdict
    return RebuildReport(
        machine=machine,
        memories=outcome.memories,
        archived=outcome.archived,
        searches=len(outcome.search_ms) + len(verdict.failed),
        failed=len(verdict.failed),
        stale=len(verdict.stale),
        degraded=verdict.degraded,
        by_words=verdict.by_words,
        by_provider=dict(verdict.by_provider),
        searching=latency(outcome.search_ms),
        seconds=outcome.seconds,
        vectors_per_second=outcome.vectors / outcome.seconds,
        problems=problems_of(outcome),
    )


def _table(report: RebuildReport) -> TableListing:
    by_provider = ", ".join(f"{name} {report.by_provider.get(name, 0):,}" for name in NAMES)
    rows = [
        ["memories", f"{report.memories:,} ({report.archived:,} archived)"],
        ["rebuilding, twice, with a kill", f"{report.seconds:.1f} s"],
        ["vectors", f"{report.vectors_per_second:,.0f}/s"],
        ["searches meanwhile", f"{report.searches:,}"],
        ["failed", f"{report.failed:,}"],
        ["with a stale vector", f"{report.stale:,}"],
        ["by vectors of the provider", by_provider],
        ["by words alone", f"{report.by_words:,}"],
        ["without a vector of the question", f"{report.degraded:,}"],
        ["search, p50", f"{report.searching.p50_ms:.1f} ms"],
        ["search, p95", f"{report.searching.p95_ms:.1f} ms"],
    ]
    return TableListing(["Rebuilding under load", ""], rows, report.machine.in_words)
