"""An embedder for tests: no model, no waiting, the same vectors everywhere."""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from ricordo.providers.embedder import Vectors

_WIDTH: Final = 64


class WordEmbedder:
    """Texts that share words are near each other. Nothing more is known about meaning."""

    provider = "words"
    is_local = True

    def __init__(self, width: int = _WIDTH) -> None:
        self.width = width
        self.model = f"words-{width}"
        self.texts = 0

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:  # noqa: ARG002
        """One row per text: the sum of a fixed direction for each of its words."""
        self.texts += len(texts)
        if not texts:
            return np.zeros((0, self.width), np.float32)
        return np.stack([self._vector(text) for text in texts])

    def close(self) -> None:
        """There is nothing to let go of."""

    def _vector(self, text: str) -> Vectors:
        words = text.casefold().split() or [text]
        summed = np.sum([_direction(word, self.width) for word in words], axis=0)
        unit: Vectors = (summed / np.linalg.norm(summed)).astype(np.float32)
        return unit


def _direction(word: str, width: int) -> Vectors:
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
    generator = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    return generator.standard_normal(width).astype(np.float32)
