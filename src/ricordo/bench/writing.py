"""How fast memories are stored, beside bare SQLite transactions in the same run.

Nothing is embedded: this is the price of the store itself, fully durable.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self

from ricordo.bench.figures import Better, Figure, judged
from ricordo.bench.invented import InventedTexts
from ricordo.wiring import open_memory

WITHOUT_EMBEDDING: Final[dict[str, Any]] = {"embedding_provider": "none"}
_ROUNDS: Final = 5
_BULK: Final = 1_000
_SHARE_FLOOR: Final = 0.5
_BULK_FLOOR: Final = 5_000


def writing_figures(folder: Path, singles: int, *, at_full_size: bool) -> list[Figure]:
    """Single writes, bare and ours by turns so that a slow moment hits both, then a bulk."""
    texts = InventedTexts(seed=1).texts(singles + _ROUNDS + _BULK)
    portion = max(singles // _ROUNDS, 1)
    bare_seconds = our_seconds = 0.0
    with (
        _BareTable(folder / "bare.db") as bare,
        open_memory(folder / "adding.db", run_jobs=False, **WITHOUT_EMBEDDING) as memory,
    ):
        ana = memory.user("ana")
        ana.add("The first one loads everything.")
        for start in range(0, portion * _ROUNDS, portion):
            chosen = texts[start : start + portion]
            bare_seconds += _seconds(chosen, bare.insert)
            our_seconds += _seconds(chosen, ana.add)
        bulk = texts[-_BULK:]
        started = time.perf_counter()
        ana.add_many(bulk)
        bulk_rate = len(bulk) / (time.perf_counter() - started)
    bare_rate = portion * _ROUNDS / bare_seconds
    our_rate = portion * _ROUNDS / our_seconds
    more = Better.HIGHER
    return [
        judged("bare SQLite, one-row transactions", bare_rate, "/s", better=more),
        judged(
            "add, single",
            our_rate,
            "/s",
            floor=_SHARE_FLOOR * bare_rate,
            better=more,
            at_full_size=at_full_size,
        ),
        judged(
            f"add_many of {_BULK:,}",
            bulk_rate,
            "/s",
            floor=_BULK_FLOOR,
            better=more,
            at_full_size=at_full_size,
        ),
    ]


class _BareTable:
    """One-row transactions without ricordo, as durable as ricordo's."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")

    def insert(self, text: str) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO rows (text) VALUES (?)", (text,))
        self._connection.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._connection.close()


def _seconds(texts: Sequence[str], write: Callable[[str], object]) -> float:
    started = time.perf_counter()
    for text in texts:
        write(text)
    return time.perf_counter() - started
