"""Stores filled with invented memories, created on first use and kept for the run."""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ricordo.memory import Memory
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.transfer.exports import Progress
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from ricordo_bench.figures import Latency, latency

# The words are made of syllables and used as unevenly as those of a language: few very often,
# most hardly ever. Each text is about one topic, whose name it contains; its vector lies near the
# centre of that topic. Nothing is read from anywhere and no model runs.

Vectors = NDArray[np.float32]

WIDTH: Final = 384
TOPICS: Final = 256
_WORDS: Final = 20_000
_ZIPF_SHIFT: Final = 2.7  # flattens the very top, as in real languages
_ZIPF_POWER: Final = 1.1
_TEXT_WORDS: Final = (8, 25)
_QUERY_WORDS: Final = (3, 8)
_TOPIC_WORDS: Final = 60  # of each topic's own, beside those that all topics share
_TOPIC_SHARE: Final = 0.2
_NOISE: Final = 1.1  # length of what a text adds to its centre: cosines within a topic near 0.45
_COMMONEST: Final = (
    "the of and to a in that is was he for it with as his on be at by i this had not are but from"
    " or have an they which one you were her all she there would their we him been has when who"
    " will more no if out so said what up its about into than them can only other"
)
_STOP_WORDS: Final = _COMMONEST.split()
_ONSETS: Final = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st")
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ou")


class InventedTexts:
    """A seeded source of texts and of queries about them."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        ordinary = islice(_invented_words(), TOPICS, None)  # the first name the topics
        self._vocabulary = np.array([*_STOP_WORDS, *ordinary][:_WORDS])
        weights = 1 / (np.arange(_WORDS) + _ZIPF_SHIFT) ** _ZIPF_POWER
        self._cumulative = np.cumsum(weights / weights.sum())
        rare = self._vocabulary[len(_STOP_WORDS) :]
        chosen = np.random.default_rng(0).integers(len(rare), size=(TOPICS, _TOPIC_WORDS))
        self._topic_words = rare[chosen]

    def texts(self, count: int) -> list[str]:
        """So many sentences of 8 to 25 words, no two the same."""
        made: dict[str, None] = {}
        while len(made) < count:
            lengths = self._random.integers(*_TEXT_WORDS, size=count - len(made), endpoint=True)
            sentences = (f"{self._sentence(length).capitalize()}." for length in lengths)
            made.update(dict.fromkeys(sentences))
        return list(made)

    def queries(self, count: int, stored: Sequence[str]) -> list[str]:
        """So many queries of 3 to 8 words, every other one taken out of a stored text."""
        lengths = self._random.integers(*_QUERY_WORDS, size=count, endpoint=True)
        return [
            self._excerpt(stored, length) if number % 2 else self._sentence(length)
            for number, length in enumerate(lengths)
        ]

    def _sentence(self, length: int) -> str:
        topic = int(self._random.integers(TOPICS))
        words = self._vocabulary[np.searchsorted(self._cumulative, self._random.random(length))]
        is_own = self._random.random(length) < _TOPIC_SHARE
        own = self._topic_words[topic, self._random.integers(_TOPIC_WORDS, size=length)]
        mixed = np.where(is_own, own, words)
        mixed[self._random.integers(length)] = TOPIC_NAMES[topic]
        return " ".join(mixed)

    def _excerpt(self, stored: Sequence[str], length: int) -> str:
        words = stored[int(self._random.integers(len(stored)))].strip(".").lower().split()
        picked = np.sort(self._random.permutation(len(words))[:length])
        return " ".join(words[place] for place in picked)


class SyntheticEmbedder:
    """Vectors for invented texts: unit length, near the centre of the text's topic.

    A text has the same vector in every process. ``provider`` and ``model`` can be those of another
    embedder of the same width, so that a store filled quickly can then be searched with that one.
    """

    is_local: Final = True

    def __init__(
        self, *, provider: str = "synthetic", model: str = "topics", width: int = WIDTH
    ) -> None:
        self.provider = provider
        self.model = model
        self.width = width
        self._centres = _unit(np.random.default_rng(0).standard_normal((TOPICS, width)))

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One vector for each text. It takes no time to speak of, so any deadline is met."""
        del deadline_seconds
        digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
        seeds = [int.from_bytes(digest, "big") for digest in digests]
        topics = [_topic_of(text, seed) for text, seed in zip(texts, seeds, strict=True)]
        noise = np.array(
            [
                np.random.Generator(np.random.PCG64(seed)).standard_normal(self.width)
                for seed in seeds
            ]
        ).reshape(len(texts), self.width)
        return _unit(self._centres[topics] + noise * (_NOISE / np.sqrt(self.width)))

    def close(self) -> None:
        pass


def _topic_of(text: str, seed: int) -> int:
    """The first topic that a text names; any, but always the same, where it names none."""
    named = (_TOPIC_NUMBERS.get(word) for word in text.strip(".").lower().split())
    return next((topic for topic in named if topic is not None), seed % TOPICS)


def _unit(vectors: NDArray[np.float64]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)


def _invented_words() -> Iterator[str]:
    syllables = ["".join(parts) for parts in product(_ONSETS, _VOWELS)]
    order = np.random.default_rng(0).permutation(len(syllables) ** 2)
    for number in order:
        first, second = divmod(int(number), len(syllables))
        yield f"{syllables[first]}{syllables[second]}n"
    for number in order:
        first, second = divmod(int(number), len(syllables))
        yield f"{syllables[second]}{syllables[first]}ra"


TOPIC_NAMES: Final = tuple(islice(_invented_words(), TOPICS))
_TOPIC_NUMBERS: Final = {name: number for number, name in enumerate(TOPIC_NAMES)}


# Their vectors are synthetic but carry the name of the shipped model, so that the same store can
# be filled in no time and then searched with the real embedder where a figure includes it.

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
        return self.large // 10

    @property
    def users(self) -> int:
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
                queries = -(-self.sizes.queries // len(users))
                searches.append(Searches(name, tuple(source.queries(queries, texts))))
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
            for searches in store.searches:
                for query in searches.queries[:_WARM_UP]:
                    memory.user(searches.user).search(query, limit=_LIMIT)
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


def search_ms(user: UserMemory, query: str) -> float:
    """How long one search takes beside embedding the query."""
    started = time.perf_counter()
    found = user.search(query, limit=_LIMIT)
    whole_ms = (time.perf_counter() - started) * 1_000
    return whole_ms - found.timings["embed_ms"]
