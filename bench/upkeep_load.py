"""python -m bench upkeep-load: how fast searches are while upkeep works on the same memories."""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from bench.options import Commands, add_json
from bench.sweeping import Sweeps
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.memory import Memory
from ricordo.model.record import Record
from ricordo.testing import ManualClock
from ricordo.transfer.exports import Progress, no_progress
from ricordo_bench.figures import Latency, Machine, latency, percentile, this_machine
from ricordo_bench.stores import USER, InventedTexts, search_ms, synthetic

_MEMORIES = 100_000
_SECONDS = 60.0
_QUERIES = 300
_WARM_UP = 5
_AT_ONCE = 5_000
_DAYS_OF_FILLING = 100
_UNIMPORTANT_EVERY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepTimes(Record):
    """How long one kind of sweep took."""

    name: str
    runs: int
    p50_seconds: float
    most_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport(Record):
    """Searches before and while sweeps run; memory is the most that was ever resident."""

    machine: Machine
    memories: int
    before: Latency
    during: Latency
    most_ms: float
    factor: float
    resident_before_mb: float
    resident_after_mb: float
    sweeps: tuple[SweepTimes, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("upkeep-load", help="searches while upkeep works")
    parser.add_argument("--memories", type=int, default=_MEMORIES, help="default 100,000")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="at least; default 60")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    with progress_bars(wanted=not given.as_json) as bar:
        report = measure(given.memories, given.seconds, bar("storing memories"))
    answer(given.as_json, report, _table)


def measure(memories: int, seconds: float, progress: Progress = no_progress) -> LoadReport:
    """Fill a store, search it alone, and search it while everything else goes on."""
    machine = this_machine()
    clock = ManualClock()
    with tempfile.TemporaryDirectory(prefix="ricordo-upkeep-") as folder:
        url = str(Path(folder) / "ricordo.db")
        queries = _filled(url, clock, memories, progress)
        with synthetic(url, clock=clock, synchronous="NORMAL", upkeep=False) as memory:
            sweeps = Sweeps(memory, clock, USER)
            _make_something_purgeable(memory, clock)
            _searched(memory, queries[:_WARM_UP])
            before = _searched(memory, queries)
            resident_before = _most_resident_mb()
            with sweeps.running():
                during = list(_search_meanwhile(memory, queries, sweeps, seconds))
            resident_after = _most_resident_mb()
    alone, beside = latency(before), latency(during)
    return LoadReport(
        machine=machine,
        memories=memories,
        before=alone,
        during=beside,
        most_ms=max(during),
        factor=beside.p95_ms / alone.p95_ms,
        resident_before_mb=resident_before,
        resident_after_mb=resident_after,
        sweeps=tuple(
            SweepTimes(
                name=name,
                runs=len(times),
                p50_seconds=percentile(times, 50),
                most_seconds=max(times),
            )
            for name, times in sweeps.seconds.items()
        ),
    )


def _filled(url: str, clock: ManualClock, memories: int, progress: Progress) -> list[str]:
    """Store memories over some months, some of which matter little; what to ask."""
    source = InventedTexts(seed=11)
    texts = source.texts(memories)
    parts = [texts[start : start + _AT_ONCE] for start in range(0, memories, _AT_ONCE)]
    # Without relations, which the sweeps make: comparing each with all others takes minutes.
    with synthetic(
        url, clock=clock, synchronous="NORMAL", upkeep=False, relations_per_memory=0
    ) as memory:
        for number, part in enumerate(parts, start=1):
            memory.user(USER).add_many(
                {"content": text, "importance": 2 if place % _UNIMPORTANT_EVERY == 0 else 3}
                for place, text in enumerate(part)
            )
            clock.advance(days=_DAYS_OF_FILLING / len(parts))
            progress(number, len(parts))
    return source.queries(_QUERIES, texts)


def _make_something_purgeable(memory: Memory, clock: ManualClock) -> None:
    """Forget what is old already; from then on each day some more is forgotten and purged."""
    memory.parts.upkeep.run_round(USER)
    clock.advance(days=memory.settings.purge_after_days - 5)
    memory.parts.upkeep.run_round(USER)
    clock.advance(days=5)


def _searched(memory: Memory, queries: Sequence[str]) -> list[float]:
    return [search_ms(memory.user(USER), query) for query in queries]


def _search_meanwhile(
    memory: Memory, queries: Sequence[str], sweeps: Sweeps, seconds: float
) -> Iterator[float]:
    """Search until every sweep has run once and the time is over."""
    until = time.monotonic() + seconds
    for query in cycle(queries):
        if sweeps.problem is not None:
            return
        if sweeps.first_day_over.is_set() and time.monotonic() >= until:
            return
        yield search_ms(memory.user(USER), query)


def _most_resident_mb() -> float:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1_000_000 if sys.platform == "darwin" else most * 1_024 / 1_000_000


def _table(report: LoadReport) -> TableListing:
    rows = [
        ["memories", f"{report.memories:,}"],
        ["search alone, p50", f"{report.before.p50_ms:.1f} ms"],
        ["search alone, p95", f"{report.before.p95_ms:.1f} ms"],
        ["search while upkeep works, p50", f"{report.during.p50_ms:.1f} ms"],
        ["search while upkeep works, p95", f"{report.during.p95_ms:.1f} ms"],
        ["search while upkeep works, slowest", f"{report.most_ms:.1f} ms"],
        ["searches meanwhile", f"{report.during.calls:,}"],
        ["factor of p95", f"{report.factor:.2f}"],
        ["most resident before", f"{report.resident_before_mb:.0f} MB"],
        ["most resident after", f"{report.resident_after_mb:.0f} MB"],
    ]
    rows += [
        [f"{one.name}, {one.runs} times", f"{one.p50_seconds:.2f} s, most {one.most_seconds:.2f} s"]
        for one in report.sweeps
    ]
    return TableListing(["Searching while upkeep works", ""], rows, report.machine.in_words)
