"""The interface of every embedder."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy
import numpy.typing

from ricordo.errors import BadEmbedding

Vectors = numpy.typing.NDArray[numpy.float32]
"""One unit row per text."""


class Embedder(Protocol):
    """Turns texts into vectors that are compared by their inner product."""

    @property
    def provider(self) -> str:
        """Where the vectors come from: ``local``, ``openai`` …"""
        ...

    @property
    def model(self) -> str:
        """With the provider, identifies vectors that can be compared with each other."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether vectors are computed in this process, so that a write can wait for them."""
        ...

    @property
    def width(self) -> int | None:
        """The width of a vector; None while it is unknown."""
        ...

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One finite unit row per text, in order.

        Raises:
            EmbedderUnavailable: not now, or not before the deadline; try again later.
            EmbedderRefused: the endpoint said no, or the model is missing.
            BadEmbedding: the answer is not one usable vector per text.
            TargetRefused: a user's settings point to an address that is not allowed.
        """
        ...

    def close(self) -> None:
        """Close connections; using it again opens new ones."""
        ...


def unit_rows(rows: numpy.typing.ArrayLike, source: str) -> Vectors:
    """The rows as float32, normalised. Raises BadEmbedding."""
    exact: numpy.typing.NDArray[numpy.float64] = numpy.asarray(rows, dtype=numpy.float64)
    if not numpy.isfinite(exact).all():
        raise BadEmbedding(f"{source} gave a vector with NaN or infinite numbers")
    # Dividing by the largest entry first keeps the squares of extreme numbers in range.
    largest = numpy.abs(exact).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise BadEmbedding(f"{source} gave a vector of zeros only, which has no direction")
    scaled = exact / largest
    scaled /= numpy.linalg.norm(scaled, axis=1, keepdims=True)
    vectors: Vectors = scaled.astype(numpy.float32)
    return vectors


def no_rows(width: int | None) -> Vectors:
    """The answer to no texts."""
    return numpy.zeros((0, width or 0), dtype=numpy.float32)


def fitted(text: str, max_chars: int) -> str:
    """The text cut to a length, without lone surrogates.

    Endpoints refuse empty texts, so a blank one becomes a full stop: a vector near nothing.
    """
    cut = text[:max_chars].replace("\x00", " ")
    if not cut.isascii():  # lone surrogates have no UTF-8 form
        cut = cut.encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "."


def in_batches(texts: Sequence[str], max_texts: int, max_chars: int) -> Iterator[Sequence[str]]:
    """Consecutive batches within both bounds; a text over the second is alone."""
    start, chars = 0, 0
    for place, text in enumerate(texts):
        full = place - start == max_texts or chars + len(text) > max_chars
        if full and place > start:
            yield texts[start:place]
            start, chars = place, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]
