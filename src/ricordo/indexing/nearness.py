"""The nearest of many vectors to some, found while the many pass by in blocks."""

from collections.abc import Sequence

import numpy as np

from ricordo.storage.backend import Matrix, Row

Near = list[tuple[int, float]]
"""Rows by their ids with their cosines, the nearest first, of equally near ones the lowest id."""

Allowed = np.ndarray[tuple[int, int], np.dtype[np.bool_]]

_Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


class Nearest:
    """Keeps the best few of all rows shown so far for each of some vectors.

    It takes the memory of one block of cosines, however many rows there are.
    """

    def __init__(
        self,
        ids: Sequence[int],
        vectors: Matrix,
        *,
        count: int,
        least: float,
        digits: int | None = None,
    ) -> None:
        """``count`` rows are kept for each vector, of those whose cosine is at least ``least``.

        No row is near the vector that has its own id. The last digits of a cosine depend on how
        many are worked out together: rounded to ``digits``, it is the same whatever the blocks.
        """
        self._ids = ids
        self._vectors = vectors
        self._count = count
        self._digits = digits
        # Not rounded, a cosine is held against what its own precision makes of the least one.
        self._least = float(np.float32(least)) if digits is None else least
        self._slack = 0.0 if digits is None else 10.0**-digits  # more than rounding can add
        self._near: list[Near] = [[] for _ in ids]
        # What a cosine must reach to be looked at. It rises as better rows are found, so that most
        # rows are passed over by one comparison.
        self._floors: Row = np.full(len(ids), self._least - self._slack, np.float32)

    def show(self, ids: Sequence[int], block: Matrix, allowed: Allowed | None = None) -> None:
        """Look at more rows; ``allowed`` says which row (down) may count for which vector."""
        if not ids:
            return
        cosines = block @ self._vectors.T
        hopeful = cosines >= self._floors
        if allowed is not None:
            hopeful &= allowed
        shown = np.asarray(ids, np.int64)
        for place in np.flatnonzero(hopeful.any(axis=0)):
            rows = np.flatnonzero(hopeful[:, place])
            self._take(int(place), shown[rows], cosines[rows, place])

    def found(self) -> dict[int, Near]:
        """The rows nearest to each of the vectors, by the id of the vector."""
        return dict(zip(self._ids, self._near, strict=True))

    def _take(self, place: int, ids: _Ids, cosines: Row) -> None:
        """Keep the best of some rows and of those kept before."""
        compared = cosines.astype(np.float64)
        if self._digits is not None:
            compared = np.round(compared, self._digits)
        usable = np.flatnonzero((compared >= self._least) & (ids != self._ids[place]))
        best = usable[np.lexsort((ids[usable], -compared[usable]))[: self._count]]
        near = self._near[place]
        near += [(int(ids[row]), float(compared[row])) for row in best]
        near.sort(key=lambda pair: (-pair[1], pair[0]))
        del near[self._count :]
        if len(near) == self._count:
            self._floors[place] = near[-1][1] - self._slack
