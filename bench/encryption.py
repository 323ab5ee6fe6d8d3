"""python -m bench encryption: what an encrypted file costs beside a plain one.

Counted is the processor time of this process, of the same calls on both, in turns: what else the
machine does meanwhile changes it little.
"""

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.options import Commands, add_json
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.memory import Memory
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo_bench.figures import Machine, this_machine
from ricordo_bench.stores import USER, InventedTexts, synthetic

_MEMORIES: Final = 10_000
_AT_ONCE: Final = 1_000
_SINGLE: Final = 200
_SCANS: Final = 50
_KEYED: Final[tuple[dict[str, str], ...]] = ({}, {"database_key": "a key that nobody uses"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Record):
    """Processor milliseconds of one call: of a plain file and of an encrypted one."""

    call: str
    plain_ms: float
    encrypted_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionReport(Record):
    """What each kind of call costs."""

    machine: Machine
    memories: int
    costs: tuple[Cost, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("encryption", help="an encrypted file beside a plain one")
    parser.add_argument(
        "--memories", type=int, default=_MEMORIES, help=f"in each (default {_MEMORIES:,})"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name,
        progress_bars(wanted=not given.as_json) as bar,
    ):
        costs = _measure(Path(name), given.memories, bar("storing memories"))
    report = EncryptionReport(machine=machine, memories=given.memories, costs=costs)
    answer(given.as_json, report, _table)


def _measure(folder: Path, memories: int, progress: Progress) -> tuple[Cost, ...]:
    invented = InventedTexts()
    texts = invented.texts(memories + _SINGLE)
    queries = invented.queries(_SINGLE, texts)
    made: list[list[float]] = [[], []]
    for taken, keyed in zip(made, _KEYED, strict=True):
        taken.append(_milliseconds(lambda keyed=keyed: _open_once(folder, keyed)))
    with _both_stores(folder) as stores:
        batches: list[list[float]] = [[], []]
        for start in range(0, memories, _AT_ONCE):
            part = texts[start : min(start + _AT_ONCE, memories)]
            _both(stores, batches, lambda store, part=part: store.user(USER).add_many(part))
            progress(start + len(part), memories)
        singles: list[list[float]] = [[], []]
        for text in texts[memories:]:
            _both(stores, singles, lambda store, text=text: store.user(USER).add(text))
        found = _searched(stores, queries)
    with _both_stores(folder, index_cache_mb=0) as stores:
        scanned = _searched(stores, queries[:_SCANS])
    return (
        _cost("make and open a store", made),
        _cost(f"add_many of {_AT_ONCE:,}", batches),
        _cost("add", singles),
        _cost("search, index in memory", found),
        _cost("search in the file", scanned),
    )


def _open_once(folder: Path, key: Mapping[str, str]) -> None:
    with _store(folder, key):
        pass


def _store(
    folder: Path, key: Mapping[str, str], **settings: Any
) -> contextlib.AbstractContextManager[Memory]:
    file = folder / ("encrypted.db" if key else "plain.db")
    return synthetic(str(file), upkeep=False, relations_per_memory=0, **key, **settings)


@contextlib.contextmanager
def _both_stores(folder: Path, **settings: Any) -> Iterator[list[Memory]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(_store(folder, key, **settings)) for key in _KEYED]


def _searched(stores: list[Memory], queries: list[str]) -> list[list[float]]:
    times: list[list[float]] = [[], []]
    for query in queries:
        _both(stores, times, lambda store, query=query: store.user(USER).search(query))
    return times


def _both(stores: list[Memory], times: list[list[float]], work: Callable[[Memory], object]) -> None:
    for store, taken in zip(stores, times, strict=True):
        taken.append(_milliseconds(lambda store=store: work(store)))


def _milliseconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1_000


def _cost(call: str, times: list[list[float]]) -> Cost:
    plain, encrypted = map(statistics.median, times)
    return Cost(call=call, plain_ms=plain, encrypted_ms=encrypted)


def _table(report: EncryptionReport) -> TableListing:
    rows = [
        [cost.call, f"{cost.plain_ms:.2f} ms", f"{cost.encrypted_ms:.2f} ms"]
        for cost in report.costs
    ]
    title = f"Processor time, {report.memories:,} memories"
    return TableListing([title, "plain", "encrypted"], rows, report.machine.in_words)
