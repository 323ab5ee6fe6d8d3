"""python -m bench writes: adding and recording, beside the bare driver with the same statements.

The statements of real calls are recorded on one copy of a store. Then, by turns, the calls run on a
second copy and the bare driver runs what was recorded on a third, just as durable.
"""

import argparse
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from bench.options import Commands, add_json
from ricordo.cli.bench import figure_table
from ricordo.cli.render import answer
from ricordo.memory import Memory
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.figures import Better, Figure, FigureReport, judged, this_machine
from ricordo_bench.speed import WITHOUT_EMBEDDING
from ricordo_bench.stores import WIDTH, InventedTexts, Vectors

_USER: Final = "ana"
_STORED: Final = 2_000
_SINGLES: Final = 400
_BULK: Final = 1_000
_THREADS: Final = 8
_ROUNDS: Final = 3
_PORTIONS: Final = 4
_SHARE_FLOOR: Final = 0.5
_BULK_FLOOR: Final = 8_000
_TURNS_FLOOR: Final = 3_000

Statement = tuple[bool, str, Any]
"""Whether it is run for many rows, its text, and what is bound."""
Call = Callable[[UserMemory], object]


class HandedVectors:
    """An embedder that looks vectors up: what is measured is only how they are stored."""

    provider, model, is_local = "handed", "vectors", True

    def __init__(self, texts: Sequence[str]) -> None:
        made = np.random.default_rng(0).standard_normal((len(texts), WIDTH)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        self._known = dict(zip(texts, made, strict=True))

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        del deadline_seconds
        return np.array([self._known[text] for text in texts], np.float32).reshape(-1, WIDTH)

    def close(self) -> None:
        pass


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "writes", help="add, add_many and observe beside the bare driver with the same statements"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="S", help="how much of it to do (default 1)"
    )
    parser.add_argument(
        "--database",
        choices=("sqlite", "postgresql"),
        action="append",
        help="only this one (default both)",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    databases = given.database or ["sqlite", "postgresql"]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        plan = _Plan(Path(name), given.share)
        if "sqlite" in databases:
            figures += _on_sqlite(plan)
        if "postgresql" in databases:
            from tests.support import postgres  # needs a driver that an environment of peers lacks

            with postgres.server(), postgres.database("ricordo_bench") as url:
                figures += _on_postgres(plan, url)
    answer(given.as_json, FigureReport(machine=machine, figures=tuple(figures)), figure_table)


class _Plan:
    """What is written, the same on both databases."""

    def __init__(self, folder: Path, share: float) -> None:
        self.folder = folder
        self.at_full_size = share >= 1
        stored, singles, bulk = (max(int(n * share), 8) for n in (_STORED, _SINGLES, _BULK))
        texts = iter(InventedTexts(seed=1).texts(stored + singles * 3 + bulk * (_ROUNDS * 2 + 1)))

        def some(count: int) -> list[str]:
            return list(islice(texts, count))

        self.stored = some(stored)
        self.singles = some(singles)
        self.concurrent = some(singles * 2)
        self.bulks = [some(bulk) for _ in range(_ROUNDS)]
        self.said = [some(bulk) for _ in range(_ROUNDS)]
        self.embedder = HandedVectors([*self.stored, *(text for one in self.said for text in one)])

    def opened(self, url: str, *, handed: bool = False) -> Memory:
        made_by: dict[str, Any] = {"embedder": self.embedder} if handed else WITHOUT_EMBEDDING
        return open_memory(url, run_jobs=False, **made_by)

    def observing(self, said: Sequence[str]) -> Call:
        turns = [
            {"role": "user", "content": text, "id": f"{place}"} for place, text in enumerate(said)
        ]
        return lambda user: user.observe(turns, thread=said[0].split()[0])


def _on_sqlite(plan: _Plan) -> list[Figure]:
    source = plan.folder / "source.db"
    with plan.opened(str(source)) as memory:
        memory.user(_USER).add_many(plan.stored)
    adds: list[Call] = [lambda user, text=text: user.add(text) for text in plan.singles]  # type: ignore[misc]
    bulks: list[Call] = [lambda user, texts=texts: user.add_many(texts) for texts in plan.bulks]  # type: ignore[misc]
    turns = [plan.observing(said) for said in plan.said]
    return [
        *_beside_bare(plan, source, "add", adds, len(adds), share_floor=_SHARE_FLOOR),
        *_together(plan, "SQLite", str(_copy(source, "together"))),
        *_beside_bare(plan, source, "add_many", bulks, _rows(plan.bulks), floor=_BULK_FLOOR),
        *_beside_bare(
            plan, source, "turns", turns, _rows(plan.said), floor=_TURNS_FLOOR, handed=True
        ),
    ]


def _on_postgres(plan: _Plan, url: str) -> list[Figure]:
    with plan.opened(url) as memory:
        user = memory.user(_USER)
        user.add_many(plan.stored)
        figures = [_rate("PostgreSQL: add", len(plan.singles), *_spent(user.add, plan.singles))]
        many = _spent(user.add_many, plan.bulks)
    figures += _together(plan, "PostgreSQL", url)
    with plan.opened(url, handed=True) as memory:
        user = memory.user("ben")
        user.observe([{"role": "user", "content": plan.stored[0]}], thread="first")
        said = _spent(lambda one: plan.observing(one)(user), plan.said)
    return [
        *figures,
        _rate("PostgreSQL: add_many", _rows(plan.bulks), *many),
        _rate("PostgreSQL: turns with vectors given", _rows(plan.said), *said),
    ]


def _rows(batches: Sequence[Sequence[str]]) -> int:
    return sum(map(len, batches))


def _together(plan: _Plan, database: str, url: str) -> list[Figure]:
    """The same number of memories by several threads of one process, each its own."""
    with plan.opened(url) as memory:
        users = [memory.user(f"{_USER}{number}") for number in range(_THREADS)]
        for user in users:
            user.add("The first one makes the user.")
        shares = [plan.concurrent[number::_THREADS] for number in range(_THREADS)]
        threads = [
            threading.Thread(target=lambda user=user, share=share: [*map(user.add, share)])  # type: ignore[misc]
            for user, share in zip(users, shares, strict=True)
        ]
        clocks = (time.perf_counter(), time.process_time())
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        spent = (time.perf_counter() - clocks[0], time.process_time() - clocks[1])
    return [_rate(f"{database}: add by {_THREADS} threads", len(plan.concurrent), *spent)]


def _beside_bare(
    plan: _Plan,
    source: Path,
    name: str,
    calls: Sequence[Call],
    rows: int,
    *,
    floor: float | None = None,
    share_floor: float | None = None,
    handed: bool = False,
) -> list[Figure]:
    """Calls and the same statements by turns; the middle one of the rounds."""
    statements = _recorded(plan, _copy(source, f"{name}-recorded"), calls, handed)
    portion = max(len(calls) // _PORTIONS, 1)
    ours, bare = [], []
    for number in range(_ROUNDS):
        mine, theirs = np.zeros(2), np.zeros(2)
        with (
            plan.opened(str(_copy(source, f"{name}-ours-{number}")), handed=handed) as memory,
            _bare(_copy(source, f"{name}-bare-{number}")) as driver,
        ):
            user = memory.user(_USER)
            calls[0](memory.user("warm-up"))  # loads everything
            for start in range(0, len(calls), portion):
                mine += _spent(lambda call: call(user), calls[start : start + portion])  # noqa: B023 - run at once
                theirs += _spent(partial(_replay, driver), statements[start : start + portion])
        ours.append(mine)
        bare.append(theirs)
    wall, cpu = (median(float(one[place]) for one in ours) for place in (0, 1))
    bare_wall, bare_cpu = (median(float(one[place]) for one in bare) for place in (0, 1))
    shares = [
        median(float(one[place] / other[place]) for one, other in zip(bare, ours, strict=True))
        for place in (0, 1)
    ]
    more, full = Better.HIGHER, plan.at_full_size
    per_call = sum(map(len, statements)) / len(calls)
    return [
        judged(f"SQLite: {name}", rows / wall, "/s", floor=floor, better=more, at_full_size=full),
        judged(f"SQLite: {name}, CPU", cpu / rows * 1e6, "µs"),
        judged(f"SQLite: {name}, the same statements bare", rows / bare_wall, "/s", better=more),
        judged(f"SQLite: {name}, the same statements bare, CPU", bare_cpu / rows * 1e6, "µs"),
        judged(f"SQLite: {name}, statements of a call", per_call, ""),
        judged(
            f"SQLite: {name}, share of bare",
            shares[0],
            "",
            floor=share_floor,
            better=more,
            at_full_size=full,
        ),
        judged(f"SQLite: {name}, share of bare, CPU", shares[1], "", better=more),
    ]


def _rate(name: str, rows: int, wall: float, cpu: float) -> Figure:
    del cpu  # most of it is the server's
    return judged(name, rows / wall, "/s", better=Better.HIGHER)


def _spent(work: Callable[[Any], object], inputs: Sequence[Any]) -> tuple[float, float]:
    """Seconds by the wall and of the processor."""
    clocks = (time.perf_counter(), time.process_time())
    for given in inputs:
        work(given)
    return time.perf_counter() - clocks[0], time.process_time() - clocks[1]


def _copy(source: Path, name: str) -> Path:
    return Path(shutil.copyfile(source, source.with_name(f"{name}.db")))


class _RecordingCursor(sqlite3.Cursor):
    connection: "_Recording"

    def execute(self, sql: str, given: Any = ()) -> "sqlite3.Cursor":
        self.connection.log.append((False, sql, given))
        return super().execute(sql, given)

    def executemany(self, sql: str, given: Any) -> "sqlite3.Cursor":
        rows = list(given)
        self.connection.log.append((True, sql, rows))
        return super().executemany(sql, rows)


class _Recording(sqlite3.Connection):
    """A connection that notes what it runs."""

    log: list[Statement]

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.log = []
        _recordings.append(self)

    def cursor(self, *_: Any) -> sqlite3.Cursor:  # type: ignore[override]
        return _RecordingCursor(self)

    def execute(self, sql: str, given: Any = ()) -> sqlite3.Cursor:
        self.log.append((False, sql, given))
        return super().execute(sql, given)

    def executemany(self, sql: str, given: Any) -> sqlite3.Cursor:
        rows = list(given)
        self.log.append((True, sql, rows))
        return super().executemany(sql, rows)


_recordings: list[_Recording] = []


def _recorded(
    plan: _Plan, file: Path, calls: Sequence[Call], handed: bool
) -> list[list[Statement]]:
    """The statements of each call on every connection."""
    made = []
    real = sqlite3.connect
    with (
        patch("sqlite3.connect", lambda *given, **named: real(*given, factory=_Recording, **named)),
        plan.opened(str(file), handed=handed) as memory,
    ):
        user = memory.user(_USER)
        calls[0](memory.user("warm-up"))
        for call in calls:
            for one in _recordings:
                one.log.clear()
            call(user)
            made.append([statement for one in _recordings for statement in one.log])
    _recordings.clear()
    return made


@contextmanager
def _bare(file: Path) -> Iterator[sqlite3.Connection]:
    """The driver without ricordo, as durable as ricordo's."""
    driver = sqlite3.connect(file, isolation_level=None, cached_statements=512)
    try:
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "wal_autocheckpoint = 4000",
            "foreign_keys = ON",
            "secure_delete = ON",
        ):
            driver.execute(f"PRAGMA {pragma}")
        yield driver
    finally:
        driver.close()


def _replay(driver: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    for is_many, sql, given in statements:
        if is_many:
            driver.executemany(sql, given)
        else:
            driver.execute(sql, given).fetchall()
