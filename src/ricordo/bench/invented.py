"""Invented memories to measure speed with: texts, queries and vectors, the same in every run.

The words are made of syllables and used as unevenly as those of a language: few very often, most
hardly ever. Each text is about one topic, whose name it contains; its vector lies near the centre
of that topic. Nothing is read from anywhere and no model runs.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
            made.update(dict.fromkeys(self._sentences(count - len(made))))
        return list(made)

    def queries(self, count: int, stored: Sequence[str]) -> list[str]:
        """So many queries of 3 to 8 words, every other one taken out of a stored text."""
        lengths = self._random.integers(*_QUERY_WORDS, size=count, endpoint=True)
        return [
            self._excerpt(stored, length) if number % 2 else self._sentence(length)
            for number, length in enumerate(lengths)
        ]

    def _sentences(self, count: int) -> Iterator[str]:
        for length in self._random.integers(*_TEXT_WORDS, size=count, endpoint=True):
            yield f"{self._sentence(length).capitalize()}."

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
        """Nothing is open."""


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
