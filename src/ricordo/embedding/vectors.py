"""Rows of numbers made comparable, or refused."""

import numpy
import numpy.typing

from ricordo.embedding.contract import Vectors
from ricordo.errors import BadEmbedding


def unit_rows(rows: numpy.typing.ArrayLike, source: str) -> Vectors:
    """The rows as float32, each scaled to length one.

    Raises:
        BadEmbedding: a row has a number that is not finite, or no direction; ``source`` made it.
    """
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
