"""Vectors that are there already, for systems that insist on computing them."""

from collections.abc import Iterable, Sequence

from bench.peers.contract import Vectors


class HandedVectors:
    """Gives back, for a text, the vector that was handed over with it."""

    def __init__(self) -> None:
        self._known: dict[str, list[float]] = {}

    def hand(self, texts: Iterable[str], vectors: Vectors) -> None:
        self._known.update(zip(texts, vectors.tolist(), strict=True))

    def of(self, text: str) -> list[float]:
        return self._known[text]

    def of_all(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._known[text] for text in texts]
