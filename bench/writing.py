"""How fast memories are added and read, beside bare SQLite transactions in the same run."""

import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import ricordo

_SINGLE = 2_000
_BULK = 10_000
_READS = 300


def bare_sqlite(folder: Path) -> dict[str, float]:
    """One-row transactions without ricordo, as durable as ricordo's."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")

    def insert(number: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows (text) VALUES (?)", (_text(number),))
        connection.execute("COMMIT")

    rate = _per_second(insert, _SINGLE)
    connection.close()
    return {"bare SQLite, one-row transactions/s": rate}


def store(name: str, url: str) -> dict[str, float]:
    """Adding and reading through the public face."""
    with ricordo.open(url, run_jobs=False) as memory:
        ana = memory.user("ana")
        ana.add("The first one loads everything")
        single = _per_second(lambda number: ana.add(_text(number)), _SINGLE)
        started = time.perf_counter()
        ana.add_many([_text(_SINGLE + number) for number in range(_BULK)])
        bulk = _BULK / (time.perf_counter() - started)
        return {
            f"{name}: add, single/s": single,
            f"{name}: add_many, memories/s": bulk,
            f"{name}: get, ms p50": _median_ms(lambda number: ana.get(number + 1)),
            f"{name}: list 50 of {_SINGLE + _BULK}, ms p50": _median_ms(lambda _: ana.list()),
            f"{name}: list with a filter and a text, ms p50": _median_ms(
                lambda number: ana.list(contains=f"number {number}", importance_min=2)
            ),
        }


def _text(number: int) -> str:
    return f"Fact number {number} about something that somebody said"


def _per_second(work: Callable[[int], object], count: int) -> float:
    started = time.perf_counter()
    for number in range(count):
        work(number)
    return count / (time.perf_counter() - started)


def _median_ms(work: Callable[[int], object]) -> float:
    times = []
    for number in range(_READS):
        started = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1_000
