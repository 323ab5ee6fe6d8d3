"""python -m bench proxy: what the chat proxy costs beside the model alone, with 10,000 memories.

The model answers at once, so that what is measured is the proxy: `ricordo serve` in a process of
its own, with the shipped embedder, and again in one that reads nothing a second time. The same
requests go to the model itself, by turns.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import httpx2

from bench.options import Commands, add_json
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.testing import ModelServer
from ricordo.wiring import open_memory
from ricordo_bench.figures import Latency, latency
from ricordo_bench.stores import USER, FilledStore, Ground, Sizes

ANSWER = "You told me so before, and I have not forgotten."
AT_ONCE = 10
WARM_UP = 5
WAIT_SECONDS = 600.0
SERVE = [sys.executable, "-c", "from ricordo.cli.main import main; main()", "serve", "--port", "0"]


@dataclass(frozen=True)
class Row:
    """One kind of request: with and without the proxy, and the milliseconds between them."""

    name: str
    alone: Latency
    proxied: Latency

    @property
    def overhead_p50_ms(self) -> float:
        return self.proxied.p50_ms - self.alone.p50_ms

    @property
    def overhead_p95_ms(self) -> float:
        return self.proxied.p95_ms - self.alone.p95_ms


@dataclass(frozen=True)
class Found:
    """What was measured, beside what recalling alone takes in this process."""

    memories: int
    rows: list[Row]
    recalling: Latency


def register(kinds: Commands) -> None:
    parser = kinds.add_parser("proxy", help="what the chat proxy costs beside the model alone")
    add_json(parser)
    parser.add_argument("--memories", type=int, default=10_000, help="of the user who asks")
    parser.add_argument("--requests", type=int, default=200, help="of each kind")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    found = measure(given.memories, given.requests)
    if given.as_json:
        print(json.dumps(asdict(found)))
        return
    print(f"{'':34} {'alone':>15} {'proxy':>15} {'between':>15}   ms: p50, p95")
    for row in found.rows:
        print(
            f"{row.name:34} {_shown(row.alone.p50_ms, row.alone.p95_ms)}"
            f" {_shown(row.proxied.p50_ms, row.proxied.p95_ms)}"
            f" {_shown(row.overhead_p50_ms, row.overhead_p95_ms)}"
        )
    recalling = _shown(found.recalling.p50_ms, found.recalling.p95_ms)
    print(f"{f'recalling from {found.memories:,} memories':34} {'':15} {recalling}")


def measure(memories: int, requests: int) -> Found:
    """Ask the same of the model, of the proxy for nobody, and of the proxy for a user."""
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        sizes = Sizes(memories, requests)
        ground = Ground(Path(folder), sizes, lambda _name: lambda _done, _total: None)
        store = ground.filled(str(Path(folder) / "ricordo.db"), [USER], memories)
        recalling = _recalling(store)
        rows: list[Row] = []
        with ModelServer() as model:
            model.answer_with(lambda _body: ANSWER)
            for reranked in (None, 0):
                with served(store.url, model.base_url, folder, reranked) as url:
                    asking = _Asking(f"{model.root}/v1", f"{url}/v1", store.searches[0].queries)
                    rows += asking.rows(are_all=reranked is None)
        return Found(memories, rows, recalling)


@contextlib.contextmanager
def served(store: str, upstream: str, home: str, reranked: int | None) -> Iterator[str]:
    """The address of a service over a store, in a process of its own."""
    surroundings = {
        **os.environ,
        **({} if reranked is None else {"RICORDO_RERANKED": str(reranked)}),
        "RICORDO_HOME": str(Path(home) / "home"),
        "RICORDO_RATE_LIMIT_PER_MINUTE": "0",
        "RICORDO_UPKEEP": "0",
    }
    command = [*SERVE, "--upstream-url", upstream, "--db", store, "--json"]
    with subprocess.Popen(
        command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            if not line:
                raise SystemExit("the service did not start; try: ricordo serve")
            yield json.loads(line)["listening"]
        finally:
            process.terminate()


class _Asking:
    """Sends the same requests both ways, by turns, so that both meet the same machine."""

    def __init__(self, alone: str, proxied: str, questions: Sequence[str]) -> None:
        self._alone = alone
        self._proxied = proxied
        self._questions = questions

    def rows(self, *, are_all: bool) -> Iterator[Row]:
        """Every kind of request; or those of one user, where nothing is read a second time."""
        nobody: dict[str, str] = {}
        user = {"X-Ricordo-User": USER}
        with httpx2.Client(timeout=WAIT_SECONDS, trust_env=False) as self._client:
            for question in islice(self._questions, WARM_UP):
                self._whole(self._proxied, user, question)
            if not are_all:
                yield self._row("with memory, read once", user, self._whole, 1)
                yield self._row("first streamed byte, read once", user, self._first_byte, 1)
                return
            yield self._row("anonymous", nobody, self._whole, 1)
            yield self._row("with memory", user, self._whole, 1)
            yield self._row("first streamed byte", user, self._first_byte, 1)
            yield self._row(f"with memory, {AT_ONCE} at once", user, self._whole, AT_ONCE)
            yield self._row(f"first byte, {AT_ONCE} at once", user, self._first_byte, AT_ONCE)

    def _row(
        self,
        name: str,
        headers: dict[str, str],
        ask: Callable[[str, dict[str, str], str], float],
        at_once: int,
    ) -> Row:
        alone: list[float] = []
        proxied: list[float] = []
        with ThreadPoolExecutor(at_once) as threads:
            for start in range(0, len(self._questions), at_once):
                batch = self._questions[start : start + at_once]
                alone += threads.map(lambda text: ask(self._alone, headers, text), batch)
                proxied += threads.map(lambda text: ask(self._proxied, headers, text), batch)
        return Row(name, latency(alone), latency(proxied))

    def _whole(self, url: str, headers: dict[str, str], question: str) -> float:
        started = time.perf_counter()
        answer = self._client.post(_path(url), json=_body(question), headers=headers)
        answer.raise_for_status()
        return _since(started)

    def _first_byte(self, url: str, headers: dict[str, str], question: str) -> float:
        started = time.perf_counter()
        body = {**_body(question), "stream": True}
        with self._client.stream("POST", _path(url), json=body, headers=headers) as answer:
            answer.raise_for_status()
            chunks = answer.iter_raw()
            next(chunks)
            took = _since(started)
            for _ in chunks:
                pass
        return took


def _recalling(store: FilledStore) -> Latency:
    """What building the text takes, in this process and without anybody else."""
    times = []
    with open_memory(store.url, run_jobs=False, embedder=LocalEmbedder()) as memory:
        user = memory.user(USER)
        questions = store.searches[0].queries
        for number, question in enumerate([*questions[:WARM_UP], *questions]):
            started = time.perf_counter()
            user.context(question, modes="recall,summary", history=False)
            if number >= WARM_UP:
                times.append(_since(started))
    return latency(times)


def _body(question: str) -> dict[str, object]:
    return {"model": "test-model", "messages": [{"role": "user", "content": question}]}


def _path(url: str) -> str:
    return f"{url}/chat/completions"


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1_000


def _shown(middle: float, slow: float) -> str:
    return f"{middle:7.1f} {slow:7.1f}"
