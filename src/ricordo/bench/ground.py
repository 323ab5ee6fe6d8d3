"""Stores filled with invented memories, made when first needed and kept for the whole run.

Their vectors are synthetic but carry the name of the shipped model, so that the same store can be
filled in no time and then searched with the real embedder where a figure includes it.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from ricordo.bench.invented import InventedTexts, SyntheticEmbedder
from ricordo.bench.latency import Latency, latency
from ricordo.memory import Memory
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.transfer.exports import Progress
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

FULL_SIZE: Final = 100_000
USER: Final = "bench:ana"
_USERS: Final = 100
_ADDED_AT_ONCE: Final = 5_000
_WARM_UP: Final = 3
_LIMIT: Final = 10

ProgressOf = Callable[[str], Progress]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured; everything follows from the largest store."""

    large: int
    queries: int

    @property
    def small(self) -> int:
        """Memories in the smaller store."""
        return self.large // 10

    @property
    def users(self) -> int:
        """How many users share a store."""
        return min(_USERS, self.large)

    @property
    def of_each(self) -> int:
        """Memories of each of those users."""
        return self.large // self.users

    @property
    def are_full(self) -> bool:
        """False where the floors do not apply, because less is measured than they are for."""
        return self.large >= FULL_SIZE


@dataclass(frozen=True, slots=True)
class Searches:
    """A user of a filled store, and what to ask."""

    user: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilledStore:
    """Where it is, and who can be asked what in it."""

    url: str
    searches: tuple[Searches, ...]


class Ground:
    """The stores of one run, in a folder that the caller removes."""

    def __init__(self, folder: Path, sizes: Sizes, progress_of: ProgressOf) -> None:
        self.folder = folder
        self.sizes = sizes
        self._progress_of = progress_of

    @cached_property
    def large(self) -> FilledStore:
        """One user with as many memories as there are at most."""
        return self.filled(self._file("large"), [USER], self.sizes.large)

    @cached_property
    def small(self) -> FilledStore:
        """One user with a tenth of that."""
        return self.filled(self._file("small"), [USER], self.sizes.small)

    @cached_property
    def crowd(self) -> FilledStore:
        """Many users in one store."""
        names = [f"bench:{number}" for number in range(self.sizes.users)]
        return self.filled(self._file("crowd"), names, self.sizes.of_each)

    @cached_property
    def loner(self) -> FilledStore:
        """One user with as many memories as each of the many has."""
        return self.filled(self._file("loner"), [USER], self.sizes.of_each)

    def filled(self, url: str, users: Sequence[str], memories: int) -> FilledStore:
        """Fill a store: each user with so many memories of their own."""
        source = InventedTexts(seed=len(users))
        total = len(users) * memories
        progress = self._progress_of(f"storing {total:,} memories")
        searches = []
        # Each new memory would be compared with all others, which is measured on its own.
        with synthetic(url, relations_per_memory=0) as memory:
            for done, name in enumerate(users):
                texts = source.texts(memories)
                user = memory.user(name)
                for start in range(0, memories, _ADDED_AT_ONCE):
                    user.add_many(texts[start : start + _ADDED_AT_ONCE])
                    progress(min(done * memories + start + _ADDED_AT_ONCE, total), total)
                asked = -(-self.sizes.queries // len(users))
                searches.append(Searches(name, tuple(source.queries(asked, texts))))
        return FilledStore(url, tuple(searches))

    def _file(self, name: str) -> str:
        return str(self.folder / f"{name}.db")


@contextlib.contextmanager
def synthetic(url: str, **settings: Any) -> Iterator[Memory]:
    """A store whose vectors are invented under the name of the shipped model."""
    shipped = LocalEmbedder()
    embedder = SyntheticEmbedder(provider=shipped.provider, model=shipped.model)
    with open_memory(url, run_jobs=False, embedder=embedder, **settings) as memory:
        yield memory


def search_latency(store: FilledStore) -> Latency:
    """How long a search takes beside embedding the query, over all users of a store."""
    (times,) = search_latencies([store])
    return times


def search_latencies(stores: Sequence[FilledStore]) -> list[Latency]:
    """The same for several stores that are compared: searched by turns, one query each.

    On a machine that does other things as well, one after the other would compare the moments
    instead of the stores. Everybody is searched a few times first: what is read into memory once
    is not a search.
    """
    times_ms: list[list[float]] = [[] for _ in stores]
    with contextlib.ExitStack() as opened:
        turns = []
        for store in stores:
            memory = opened.enter_context(synthetic(store.url))
            turns.append(_turns_of(memory, store))
            _warm_up(memory, store)
        rounds = max(len(turn) for turn in turns)
        # A store with fewer queries is asked the same ones again.
        for one_of_each in islice(zip(*map(cycle, turns), strict=False), rounds):
            for times, (user, query) in zip(times_ms, one_of_each, strict=True):
                times.append(search_ms(user, query))
    return [latency(times) for times in times_ms]


def _turns_of(memory: Memory, store: FilledStore) -> list[tuple[UserMemory, str]]:
    """Who asks what, going round the users as those of one service would ask."""
    users = [memory.user(searches.user) for searches in store.searches]
    rounds = zip(*(searches.queries for searches in store.searches), strict=True)
    return [turn for queries in rounds for turn in zip(users, queries, strict=True)]


def _warm_up(memory: Memory, store: FilledStore) -> None:
    for searches in store.searches:
        for query in searches.queries[:_WARM_UP]:
            memory.user(searches.user).search(query, limit=_LIMIT)


def search_ms(user: UserMemory, query: str) -> float:
    """How long one search takes beside embedding the query."""
    started = time.perf_counter()
    found = user.search(query, limit=_LIMIT)
    whole_ms = (time.perf_counter() - started) * 1_000
    return whole_ms - found.timings["embed_ms"]
