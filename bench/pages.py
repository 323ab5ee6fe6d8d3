"""python -m bench pages: how long each page takes of a user with 100,000 memories.

`ricordo serve` runs in a process of its own with the shipped embedder; a client without a browser
asks for each page by turns, so that a busy moment is not one page's alone. The time is that of the
whole answer over HTTP: reading, rendering and sending. Jobs do not run: they would form the
conversations that were just stored, and keep a core busy.
"""

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
from tests.support.served import served
from tests.web.addresses import MISSING, known_pages

from bench.options import Commands, add_json
from bench.viewing.filling import Filled, fill
from ricordo.cli.bench import progress_bars
from ricordo.cli.render import TableListing, answer
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress
from ricordo_bench.figures import Latency, Machine, latency, this_machine

_MEMORIES: Final = 100_000
_ROUNDS: Final = 30
_WARM_UP: Final = 2
_TIMEOUT_SECONDS: Final = 120.0
_TOKEN: Final = re.compile(r'name="token" value="([^"]+)"')

Ask = Callable[[int], httpx2.Response]
"""Asks for a page; the number says which round it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTimes(Record):
    """One page, or one way of asking for it."""

    page: str
    kilobytes: float
    times: Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesReport(Record):
    """All pages, and what they were measured on."""

    machine: Machine
    memories: int
    pages: tuple[PageTimes, ...]


def register(commands: Commands) -> None:
    parser = commands.add_parser("pages", help="each page of the web page, with many memories")
    parser.add_argument("--memories", type=int, default=_MEMORIES, help="default 100,000")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help=f"of each (default {_ROUNDS})")
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    machine = this_machine()
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name,
        progress_bars(wanted=not given.as_json) as bar,
    ):
        home = Path(name)
        store = str(home / "ricordo.db")
        filled = fill(store, home, given.memories, bar("storing memories"))
        with served(store, RICORDO_HOME=name, RICORDO_RUN_JOBS="0") as service:
            pages = _measure(service.url, filled, given.rounds, bar("asking for pages"))
    report = PagesReport(machine=machine, memories=given.memories, pages=tuple(pages))
    answer(given.as_json, report, _table)


def _measure(url: str, filled: Filled, rounds: int, progress: Progress) -> list[PageTimes]:
    with httpx2.Client(base_url=url, timeout=_TIMEOUT_SECONDS) as client:
        ways = dict(_ways(client, filled))
        spent: dict[str, list[float]] = {name: [] for name in ways}
        sizes: dict[str, int] = {}
        for number in range(-_WARM_UP, rounds):
            for name, ask in ways.items():
                started = time.perf_counter()
                found = ask(number)
                took_ms = (time.perf_counter() - started) * 1_000
                if found.status_code != 200:
                    raise SystemExit(f"{name} was answered with {found.status_code}")
                sizes[name] = len(found.content)
                if number >= 0:
                    spent[name].append(took_ms)
            progress(max(0, number + 1), rounds)
    return [
        PageTimes(page=name, kilobytes=sizes[name] / 1_000, times=latency(times))
        for name, times in spent.items()
    ]


def _ways(client: httpx2.Client, filled: Filled) -> Iterator[tuple[str, Ask]]:
    """Every page, the list of memories in several ways, and a search with and without script."""
    for route, address in known_pages().items():
        if route != MISSING:
            yield route, _getting(client, address.path(filled.life))
    theme = filled.life.themes[0]
    for name, query in {
        "of a theme": f"theme={theme}",
        "with a tag": f"tags={filled.tag}",
        "of every status": "status=any",
        "most important first": "sort=importance-desc",
        "by theme": "sort=theme-asc",
        "of one day": "since=2026-01-31&until=2026-01-31",
    }.items():
        yield f"/ui/memories, {name}", _getting(client, f"/ui/memories?{query}")
    yield "search, a whole page", _searching(client, filled, {})
    yield "search, while typing", _searching(client, filled, {"HX-Request": "true"})


def _getting(client: httpx2.Client, path: str) -> Ask:
    return lambda _round: client.get(path)


def _searching(client: httpx2.Client, filled: Filled, headers: dict[str, str]) -> Ask:
    token = _TOKEN.search(client.get("/ui/memories").text)
    assert token is not None
    form = {"token": token.group(1)}
    questions = filled.questions

    def ask(number: int) -> httpx2.Response:
        question = questions[number % len(questions)]
        return client.post("/ui/memories", data={**form, "q": question}, headers=headers)

    return ask


def _table(report: PagesReport) -> TableListing:
    rows = [
        [
            one.page,
            f"{one.kilobytes:.0f} kB",
            f"{one.times.p50_ms:.0f} ms",
            f"{one.times.p95_ms:.0f} ms",
        ]
        for one in report.pages
    ]
    note = f"{report.memories:,} memories of one user. {report.machine.in_words}"
    return TableListing(["Page", "size", "p50", "p95"], rows, note)
