"""The vectors of an index, in half the memory."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ricordo.index.columns import Column
from ricordo.storage.sql import Matrix, Row, dot_products

_MOST: Final = 32_767
_BLOCK_ROWS: Final = 256  # what is unpacked at a time stays in the processor's cache


class PackedVectors:
    """Each number in sixteen bits, with a scale for each vector: cosines are right to 0.00001.

    Unpacking them takes no longer than reading twice as much from memory would.
    """

    def __init__(self, width: int, rows: int) -> None:
        self.width = width
        self._numbers = Column(np.int16, width, rows)
        self._scales = Column(np.float32, 0, rows)

    @property
    def nbytes(self) -> int:
        return self._numbers.nbytes + self._scales.nbytes

    def put(self, rows: Sequence[int], vectors: Sequence[Row | None]) -> None:
        given = np.array(vectors, np.float32)
        scales = np.maximum(np.abs(given).max(axis=1), np.finfo(np.float32).tiny) / _MOST
        count = max(rows) + 1
        self._numbers.head(count)[rows] = np.rint(given / scales[:, None])
        self._scales.head(count)[rows] = scales

    def clear(self, rows: Sequence[int]) -> None:
        count = max(rows) + 1
        self._numbers.head(count)[rows] = 0

    def cosines(self, rows: int, query: Row) -> Row:
        """Of each of the first rows with a vector."""
        found = np.empty(rows, np.float32)
        for start, block in self._blocks(rows):
            found[start : start + len(block)] = dot_products(block, query)
        found *= self._scales.head(rows)
        return np.clip(found, -1.0, 1.0, out=found)

    def cosines_to(self, rows: int, queries: Matrix) -> Matrix:
        """Of each of the first rows (down) with each of several vectors (across)."""
        if len(queries) == 1:  # for which BLAS would wake its threads at each block
            return self.cosines(rows, queries[0])[:, None]
        found = np.empty((rows, len(queries)), np.float32)
        for start, block in self._blocks(rows):
            np.matmul(block, queries.T, out=found[start : start + len(block)])
        found *= self._scales.head(rows)[:, None]
        return np.clip(found, -1.0, 1.0, out=found)

    def _blocks(self, rows: int) -> Any:
        """The numbers by their first rows, each block in the place of the last."""
        unpacked = np.empty((_BLOCK_ROWS, self.width), np.float32)
        numbers = self._numbers.head(rows)
        for start in range(0, rows, _BLOCK_ROWS):
            packed = numbers[start : start + _BLOCK_ROWS]
            block = unpacked[: len(packed)]
            np.copyto(block, packed)
            yield start, block
