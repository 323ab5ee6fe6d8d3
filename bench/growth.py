"""python -m bench growth: search times, file and process as memories become more."""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.options import Commands, add_json
from bench.peers import chroma
from bench.peers.contract import Document
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer, say
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo_bench.figures import Latency, Machine, latency, this_machine
from ricordo_bench.speed import resident_mb
from ricordo_bench.stores import USER, InventedTexts, SyntheticEmbedder, search_ms, synthetic

_STEPS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
_DEFAULT_MOST = 200_000
_QUERIES = 100
_WARM_UP = 3
_LIMIT = 10
_AT_ONCE = 5_000
_INK, _PALE, _GRID = "#1f4e79", "#b0562b", "#d9d9d9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Record):
    """How fast searching is with so many memories, and what they take.

    ``megabytes`` are those on disk, ``resident_mb`` those of a process of its own that has the
    store open with the shipped embedder; None where it was not measured.
    """

    system: str
    memories: int
    searching: Latency
    megabytes: float | None = None
    resident_mb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth(Record):
    """All points, and what they were measured on."""

    machine: Machine
    points: tuple[Point, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("growth", help="search times from 1,000 memories up")
    parser.add_argument("--out", type=Path, help="a picture to write, as PNG")
    parser.add_argument(
        "--max",
        type=int,
        default=_DEFAULT_MOST,
        dest="most",
        help=f"the most memories (default {_DEFAULT_MOST:,})",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    sizes = [size for size in _STEPS if size <= given.most] or [given.most]
    with (
        tempfile.TemporaryDirectory(prefix="ricordo-growth-") as name,
        progress_bars(wanted=not given.as_json) as bar,
    ):
        points = list(_of_ricordo(Path(name) / "ricordo.db", sizes, bar("ricordo")))
        try:
            points += _of_chroma(Path(name) / "chroma", sizes, bar("chromadb"))
        except ModuleNotFoundError:
            say("chromadb: not installed")
    if given.out is not None:
        draw(points, given.out)
    answer(given.as_json, Growth(machine=machine, points=tuple(points)), _table)


def draw(points: Sequence[Point], path: Path) -> None:
    """Both axes logarithmic, so that a straight line means "in proportion"."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import LogLocator

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    for system, colour in zip(dict.fromkeys(p.system for p in points), (_INK, _PALE), strict=False):
        own = [point for point in points if point.system == system]
        sizes = [point.memories for point in own]
        p50 = [point.searching.p50_ms for point in own]
        p95 = [point.searching.p95_ms for point in own]
        axes.plot(sizes, p50, color=colour, marker="o", label=f"{system}, p50")
        axes.plot(sizes, p95, color=colour, marker="o", linestyle="--", label=f"{system}, p95")
    axes.set(xscale="log", yscale="log", xlabel="memories of one user", ylabel="search, ms")
    axes.set_xticks(sorted({point.memories for point in points}))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1_000:g}k")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.grid(color=_GRID, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _of_ricordo(path: Path, sizes: Sequence[int], progress: Progress) -> Iterator[Point]:
    # Without relations: each new memory would be compared with all others, for minutes.
    with synthetic(str(path), relations_per_memory=0) as memory:
        user = memory.user(USER)
        for size, new, queries in _growing(sizes, progress):
            user.add_many(new)
            if queries:
                point = _point("ricordo, SQLite", size, queries, partial(search_ms, user))
                yield replace(
                    point,
                    megabytes=sum(one.stat().st_size for one in path.parent.iterdir()) / 1e6,
                    resident_mb=resident_mb(str(path), USER, queries),
                )


def _of_chroma(folder: Path, sizes: Sequence[int], progress: Progress) -> Iterator[Point]:
    embedder = SyntheticEmbedder()
    peer = chroma.ENTRY.start(folder, embedder.width)
    stored = 0

    def peer_search_ms(query: str) -> float:
        vector = embedder.embed([query])[0]
        started = time.perf_counter()
        peer.search(USER, query, vector, _LIMIT)
        return (time.perf_counter() - started) * 1_000

    for size, new, queries in _growing(sizes, progress):
        documents = [Document(str(stored + number), text) for number, text in enumerate(new)]
        peer.load(USER, documents, embedder.embed(new))
        stored += len(new)
        if queries:
            yield _point("chromadb", size, queries, peer_search_ms)
    peer.close()


def _growing(
    sizes: Sequence[int], progress: Progress
) -> Iterator[tuple[int, list[str], list[str]]]:
    """How many there are, what to add to get there, and what to ask then, if anything."""
    source = InventedTexts()
    stored: list[str] = []
    for size in sizes:
        while len(stored) < size:
            new = source.texts(min(_AT_ONCE, size - len(stored)))
            stored += new
            is_there = len(stored) == size
            yield len(stored), new, source.queries(_QUERIES, stored) if is_there else []
            progress(len(stored), sizes[-1])


def _point(
    system: str, size: int, queries: Sequence[str], one_search_ms: Callable[[str], float]
) -> Point:
    for query in queries[:_WARM_UP]:
        one_search_ms(query)
    times = latency([one_search_ms(query) for query in queries])
    return Point(system=system, memories=size, searching=times)


def _table(growth: Growth) -> TableListing:
    rows = [
        [
            point.system,
            f"{point.memories:,}",
            f"{point.searching.p50_ms:.2f}",
            f"{point.searching.p95_ms:.2f}",
            "" if point.megabytes is None else f"{point.megabytes:.1f}",
            "" if point.resident_mb is None else f"{point.resident_mb:.0f}",
        ]
        for point in growth.points
    ]
    headings = ["System", "Memories", "p50 ms", "p95 ms", "MB on disk", "MB resident"]
    return TableListing(headings, rows, growth.machine.in_words)
