"""How fast everything is, beside the targets of the project."""

import contextlib
import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

from ricordo.errors import InvalidValue, UserNotFound
from ricordo.model import checks
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.storage.relations import add_relations
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.figures import Better, Figure, Latency, judged, latency, times_ms
from ricordo_bench.stores import (
    FULL_SIZE,
    USER,
    Ground,
    InventedTexts,
    ProgressOf,
    Sizes,
    search_latencies,
    search_latency,
    synthetic,
)

DEFAULT_QUERIES: Final = 200
WITHOUT_EMBEDDING: Final[dict[str, Any]] = {"embedding_provider": "none"}
_SMALLEST: Final = 100
_LARGEST: Final = 10_000_000
_MOST_QUERIES: Final = 100_000
_MEMORIES_PER_SINGLE_WRITE: Final = 50
_WARM_UP: Final = 3

_SMALL_SEARCH_FLOOR_MS: Final = 15.0
_LARGE_SEARCH_FLOOR_MS: Final = 40.0
_CROWD_FLOOR: Final = 1.5
_POSTGRES_FLOOR: Final = 3.0
_QUERY_FLOOR_MS: Final = 150.0
_RELATION_FLOOR_MS: Final = 2.0
_CHECKPOINT_FLOOR_MS: Final = 100.0
_CONTEXT_FLOORS_MS: Final = {"tools": 10.0, "tools+recall+summary": 100.0}
_RESIDENT_FLOOR_MB: Final = 400.0
_IMPORT_FLOOR_SECONDS: Final = 0.15
_HELP_FLOOR_SECONDS: Final = 0.3
_SHARE_FLOOR: Final = 0.5
_BULK_FLOOR: Final = 5_000

_RELATIONS: Final = 100
_STATE_BYTES: Final = 100_000
_CHECKPOINT_THREADS: Final = 20
_TURNS: Final = 15
_SEARCHES: Final = 20
_STATUS: Final = Path("/proc/self/status")
_BYTES_PER_MB: Final = 1_000_000
_RUNS: Final = 7
_HELP: Final = "from ricordo.cli.main import main; main(['--help'])"
_ROUNDS: Final = 5
_BULK: Final = 1_000


def query_figures(ground: Ground) -> list[Figure]:
    """``query`` for bullets, embedding the query with the shipped model included."""
    (searches,) = ground.small.searches
    with open_memory(ground.small.url, run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(searches.user)
        for text in searches.queries[:_WARM_UP]:
            user.query(None, text)
        times = latency(times_ms(lambda text: user.query(None, text), searches.queries))
    name = f"query for bullets, {ground.sizes.small:,} memories, with embedding"
    return _time_figures(name, times, ground.sizes, floor=_QUERY_FLOOR_MS)


def relation_figures(ground: Ground) -> list[Figure]:
    """One more edge in a write that is under way."""
    with synthetic(ground.small.url) as memory:
        ids = [item.id for item in memory.user(USER).list(limit=_RELATIONS + 1)]
        with memory.database.write(USER) as writing:
            pairs = list(pairwise(ids))
            times = latency(times_ms(lambda pair: add_relations(writing, [(*pair, 0.9)]), pairs))
    return _time_figures("a relation at write", times, ground.sizes, floor=_RELATION_FLOOR_MS)[1:]


def _time_figures(
    name: str, times: Latency, sizes: Sizes, *, floor: float | None = None
) -> list[Figure]:
    full = sizes.are_full
    return [
        judged(f"{name}, p50", times.p50_ms, "ms"),
        judged(f"{name}, p95", times.p95_ms, "ms", floor=floor, at_full_size=full),
    ]


def checkpoint_figures(ground: Ground, postgres_url: str | None) -> list[Figure]:
    """A state of 100 KB, saved over the one before and loaded. What was stored is removed."""
    urls = {"SQLite": str(ground.folder / "checkpoints.db")}
    if postgres_url is not None:
        urls["PostgreSQL"] = postgres_url
    state = _state()
    figures = []
    for database, url in urls.items():
        with synthetic(url) as memory:
            try:
                times = _checkpoint_times(memory.user(USER), state, ground.sizes.queries)
            finally:
                with contextlib.suppress(UserNotFound):
                    memory.erase_user(USER)
        for what, one in times.items():
            name = f"{what} a checkpoint of {_STATE_BYTES // 1_000} KB, {database}"
            figures += _time_figures(name, one, ground.sizes, floor=_CHECKPOINT_FLOOR_MS)
    return figures


def _checkpoint_times(user: UserMemory, state: object, calls: int) -> dict[str, Latency]:
    saved, loaded = [], []
    for number in range(_WARM_UP + calls):
        thread = f"bench:{number % _CHECKPOINT_THREADS}"
        started = time.perf_counter()
        user.save_checkpoint(thread, state)
        between = time.perf_counter()
        user.load_checkpoint(thread)
        ended = time.perf_counter()
        if number >= _WARM_UP:
            saved.append((between - started) * 1_000)
            loaded.append((ended - between) * 1_000)
    return {"save": latency(saved), "load": latency(loaded)}


def _state() -> object:
    """What an agent keeps: messages, and notes on each."""
    messages: list[dict[str, object]] = []
    size = 0
    for number, text in enumerate(InventedTexts(seed=1).texts(_STATE_BYTES // 50)):
        message = {"role": "user", "content": text, "step": number, "scores": [0.25, None, True]}
        size += len(json.dumps(message, ensure_ascii=False, separators=(",", ":"))) + 1
        if size > _STATE_BYTES:
            break
        messages.append(message)
    return {"messages": messages}


def context_figures(ground: Ground) -> list[Figure]:
    """``context`` of a conversation, embedding the message with the shipped model included."""
    (searches,) = ground.small.searches
    said = [
        {
            "role": "assistant" if number % 2 else "user",
            "content": f"Something that was said as turn number {number}.",
        }
        for number in range(_TURNS)
    ]
    figures = []
    with open_memory(ground.small.url, run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(searches.user)
        user.observe(said, thread="bench")
        for modes, floor in _CONTEXT_FLOORS_MS.items():
            build = partial(user.context, thread="bench", modes=modes)
            for message in searches.queries[:_WARM_UP]:
                build(message)
            times = latency(times_ms(build, searches.queries))
            name = f"context ({modes}), {ground.sizes.small:,} memories"
            figures += _time_figures(name, times, ground.sizes, floor=floor)
    return figures


def resident_figures(ground: Ground) -> list[Figure]:
    """The figure; none where the system does not say how large a process is."""
    (searches,) = ground.large.searches
    megabytes = resident_mb(ground.large.url, searches.user, searches.queries)
    if megabytes is None:
        return []
    return [
        judged(
            f"resident with {ground.sizes.large:,} memories open",
            megabytes,
            "MB",
            floor=_RESIDENT_FLOOR_MB,
            at_full_size=ground.sizes.are_full,
        )
    ]


def resident_mb(url: str, user: str, queries: Sequence[str]) -> float | None:
    """How large a process is that opened a store and searched it; None: not known.

    It is a process of its own, ``python -m ricordo_bench.speed``, which does nothing else.
    """
    task = {"url": url, "user": user, "queries": queries[:_SEARCHES]}
    done = subprocess.run(
        [sys.executable, "-m", "ricordo_bench.speed"],
        input=json.dumps(task),
        capture_output=True,
        check=True,
        text=True,
    )
    found: float | None = json.loads(done.stdout)
    return found


def size_figures(ground: Ground) -> list[Figure]:
    """One user with few and with many memories."""
    sizes = ground.sizes
    small, large = search_latency(ground.small), search_latency(ground.large)
    return [
        *_time_figures(
            f"search, {sizes.small:,} memories", small, sizes, floor=_SMALL_SEARCH_FLOOR_MS
        ),
        *_time_figures(
            f"search, {sizes.large:,} memories", large, sizes, floor=_LARGE_SEARCH_FLOOR_MS
        ),
    ]


def crowd_figures(ground: Ground) -> list[Figure]:
    """Many users in one store, by turns with one user alone who has as much as each of them."""
    sizes = ground.sizes
    alone, among_many = search_latencies([ground.loner, ground.crowd])
    return [
        *_time_figures(f"search, 1 user with {sizes.of_each:,}", alone, sizes),
        *_time_figures(
            f"search, {sizes.users:,} users with {sizes.of_each:,} each", among_many, sizes
        ),
        *_ratio_figures("many users against one", among_many, alone, _CROWD_FLOOR, sizes),
    ]


def postgres_figures(ground: Ground, postgres_url: str) -> list[Figure]:
    """The same data on both databases, searched by turns. What was stored there is removed."""
    sizes = ground.sizes
    _erase(postgres_url)
    try:
        there_filled = ground.filled(postgres_url, [USER], sizes.small)
        here, there = search_latencies([ground.small, there_filled])
    finally:
        _erase(postgres_url)
    return [
        *_time_figures(f"search on SQLite, by turns, {sizes.small:,} memories", here, sizes),
        *_time_figures(f"search on PostgreSQL, by turns, {sizes.small:,} memories", there, sizes),
        *_ratio_figures("PostgreSQL against SQLite", there, here, _POSTGRES_FLOOR, sizes),
    ]


def _ratio_figures(
    name: str, these: Latency, those: Latency, floor: float, sizes: Sizes
) -> list[Figure]:
    slow_ends = these.p95_ms / those.p95_ms
    return [
        judged(f"{name}, p50", these.p50_ms / those.p50_ms, "times"),
        judged(f"{name}, p95", slow_ends, "times", floor=floor, at_full_size=sizes.are_full),
    ]


def _erase(url: str) -> None:
    with synthetic(url) as memory, contextlib.suppress(UserNotFound):
        memory.erase_user(USER)


def starting_figures() -> list[Figure]:
    """Processor time, which other work on the machine does not change, of fresh processes."""
    bare = _start_seconds("pass")
    imported = max(_start_seconds("import ricordo") - bare, 0.0)
    return [
        judged("ricordo --help", _start_seconds(_HELP), "s", floor=_HELP_FLOOR_SECONDS),
        judged("import ricordo, beyond bare Python", imported, "s", floor=_IMPORT_FLOOR_SECONDS),
        judged("bare Python", bare, "s"),
    ]


def _start_seconds(code: str) -> float:
    times = []
    for _ in range(_RUNS):
        before = _now()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - this Python, our code
        times.append(_now() - before)
    return statistics.median(times)


def _now() -> float:
    if sys.platform == "win32":  # where nobody counts what children spend
        return time.perf_counter()
    import resource

    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def writing_figures(folder: Path, singles: int, *, at_full_size: bool) -> list[Figure]:
    """Single writes, bare and ours by turns so that a slow moment hits both, then a bulk.

    Nothing is embedded: this is the price of the store itself, fully durable.
    """
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


class Kind(StrEnum):
    """What can be measured, in the order in which it is."""

    START = "start"
    ADD = "add"
    SEARCH = "search"
    USERS = "users"
    QUERY = "query"
    CONTEXT = "context"
    RELATION = "relation"
    CHECKPOINT = "checkpoint"
    RESIDENT = "resident"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class SpeedPlan:
    """What to measure, how much, and on which PostgreSQL, if on any."""

    kinds: tuple[Kind, ...]
    sizes: Sizes
    postgres_url: str | None = None


def plan_speed(
    kinds: Sequence[str] = (),
    *,
    size: int = FULL_SIZE,
    queries: int = DEFAULT_QUERIES,
    postgres_url: str | None = None,
) -> SpeedPlan:
    """Check what is wanted; without kinds it is all that can be measured.

    Raises:
        InvalidValue: a kind that does not exist, or PostgreSQL without its address; a number that
            is too small or too large.
    """
    sizes = Sizes(
        checks.integer("size", size, _SMALLEST, _LARGEST),
        checks.integer("queries", queries, 1, _MOST_QUERIES),
    )
    wanted = {checks.choice("kind", kind, Kind) for kind in kinds} or set(Kind)
    if postgres_url is None:
        if kinds and Kind.POSTGRES in wanted:
            raise InvalidValue("kind", "postgres needs the address of a database to measure on")
        wanted.discard(Kind.POSTGRES)
    return SpeedPlan(tuple(kind for kind in Kind if kind in wanted), sizes, postgres_url)


def measure_speed(plan: SpeedPlan, folder: Path, progress_of: ProgressOf) -> Iterator[Figure]:
    """Measure everything in the plan, with files in this folder.

    Raises:
        StorageError: a database cannot be opened or written.
    """
    sizes, url = plan.sizes, plan.postgres_url
    ground = Ground(folder, sizes, progress_of)
    singles = sizes.large // _MEMORIES_PER_SINGLE_WRITE
    measurements: dict[Kind, Callable[[], Iterable[Figure]]] = {
        Kind.START: starting_figures,
        Kind.ADD: lambda: writing_figures(folder, singles, at_full_size=sizes.are_full),
        Kind.SEARCH: lambda: size_figures(ground),
        Kind.USERS: lambda: crowd_figures(ground),
        Kind.QUERY: lambda: query_figures(ground),
        Kind.CONTEXT: lambda: context_figures(ground),
        Kind.RELATION: lambda: relation_figures(ground),
        Kind.CHECKPOINT: lambda: checkpoint_figures(ground, url),
        Kind.RESIDENT: lambda: resident_figures(ground),
        Kind.POSTGRES: lambda: postgres_figures(ground, url or ""),
    }
    for kind in plan.kinds:
        progress_of(f"measuring: {kind}")
        yield from measurements[kind]()


def main() -> None:
    """Run the searches of standard input; the size in megabytes on standard output."""
    task = json.load(sys.stdin)
    with open_memory(task["url"], run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(task["user"])
        for query in task["queries"]:
            user.search(query)
        size = _resident_mb()
    sys.stdout.write(json.dumps(size))


def _resident_mb() -> float | None:
    """What is in memory now; where only that is known, the most that ever was."""
    if _STATUS.exists():
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
        line = next(line for line in lines if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1_024 / _BYTES_PER_MB
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _BYTES_PER_MB
    return None


if __name__ == "__main__":
    main()
