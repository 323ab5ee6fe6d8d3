"""How fast memories are added and read through the public face, on one database."""

import time
from collections.abc import Callable

import ricordo
from ricordo.bench.figures import Better, Figure, judged, percentile
from ricordo.bench.speed import WITHOUT_EMBEDDING

_SINGLE = 2_000
_BULK = 10_000
_READS = 300


def store_figures(name: str, url: str) -> list[Figure]:
    """Adding without embedding, and reading without searching."""
    with ricordo.open(url, run_jobs=False, **WITHOUT_EMBEDDING) as memory:
        ana = memory.user("ana")
        ana.add("The first one loads everything")
        single = _per_second(lambda number: ana.add(_text(number)), _SINGLE)
        started = time.perf_counter()
        ana.add_many([_text(_SINGLE + number) for number in range(_BULK)])
        bulk = _BULK / (time.perf_counter() - started)
        return [
            judged(f"{name}: add, single", single, "/s", better=Better.HIGHER),
            judged(f"{name}: add_many", bulk, "/s", better=Better.HIGHER),
            _median(f"{name}: get, p50", lambda number: ana.get(number + 1)),
            _median(f"{name}: list 50 of {_SINGLE + _BULK:,}, p50", lambda _: ana.list()),
            _median(
                f"{name}: list with a filter and a text, p50",
                lambda number: ana.list(contains=f"number {number}", importance_min=2),
            ),
        ]


def _text(number: int) -> str:
    return f"Fact number {number} about something that somebody said"


def _per_second(work: Callable[[int], object], count: int) -> float:
    started = time.perf_counter()
    for number in range(count):
        work(number)
    return count / (time.perf_counter() - started)


def _median(name: str, work: Callable[[int], object]) -> Figure:
    times = []
    for number in range(_READS):
        started = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - started) * 1_000)
    return judged(name, percentile(times, 50), "ms")
