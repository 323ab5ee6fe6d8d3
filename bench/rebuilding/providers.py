"""Embedding endpoints whose vectors cannot be mistaken for each other's.

Each maps the same text into a space of its own, so that a comparison across two of them gives a
cosine that neither would give.
"""

import functools
import hashlib
import threading
import time
from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tests.support.endpoints import EmbeddingServer

from ricordo.testing import Response

WIDTH: Final = 64

Vectors = NDArray[np.float64]


class Provider(EmbeddingServer):
    """An endpoint that knows which texts are memories, and can keep their vectors back."""

    def __init__(self, name: str, memories: Collection[str]) -> None:
        super().__init__(width=WIDTH, model=name)
        self.name = name
        self.memories = frozenset(memories)
        self.asked_at: dict[str, float] = {}
        """When each text was first asked for, by the clock of ``time.monotonic``."""
        self.requested: list[tuple[float, list[str]]] = []
        """When which texts were asked for together."""
        self._lock = threading.Lock()
        self._made = 0
        self._hold_from: int | None = None
        self.held = threading.Event()
        self._released = threading.Event()

    def hold_from(self, texts: int) -> None:
        """Keep back the answer to the request that asks for the nth memory; questions go on."""
        self._hold_from = texts

    def release(self) -> None:
        """Answer what was kept back, and all that comes."""
        self._hold_from = None
        self._released.set()

    def memories_asked_after(self, moment: float) -> int:
        """How many vectors of memories were asked for after a moment."""
        later = (texts for at, texts in self.requested if at > moment)
        return sum(text in self.memories for texts in later for text in texts)

    def __exit__(self, *problem: object) -> None:
        self.release()
        super().__exit__(*problem)

    def on_post(self, path: str, body: Any) -> Response:
        if path == "/v1/embeddings":
            self._note(body["input"])
        return super().on_post(path, body)

    def _note(self, texts: list[str]) -> None:
        with self._lock:
            now = time.monotonic()
            self.requested.append((now, texts))
            for text in texts:
                self._made += text in self.memories and text not in self.asked_at
                self.asked_at.setdefault(text, now)
            holds = self._hold_from is not None and self._made >= self._hold_from
        if holds and not self.memories.isdisjoint(texts):
            self.held.set()
            self._released.wait()

    def vectors(self, texts: list[str], width: int) -> list[list[float]]:
        del width
        made: list[list[float]] = vectors_in(self.name, texts).tolist()
        return made


def vectors_in(space: str, texts: Collection[str]) -> Vectors:
    """The vectors of length one that texts have in a provider's space."""
    if not texts:
        return np.zeros((0, WIDTH))
    summed = np.stack(
        [np.sum([_direction(space, word) for word in text.split()], axis=0) for text in texts]
    )
    unit: Vectors = summed / np.linalg.norm(summed, axis=1, keepdims=True)
    return unit


@functools.lru_cache(maxsize=200_000)
def _direction(space: str, word: str) -> Vectors:
    digest = hashlib.blake2b(f"{space} {word}".encode(), digest_size=8).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    return generator.standard_normal(WIDTH)
