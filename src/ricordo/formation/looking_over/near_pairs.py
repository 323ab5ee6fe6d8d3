"""Pairs of a user's memories that are near each other by meaning, found block by block."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import sqlalchemy as sa

from ricordo.model.embedding import VectorModel
from ricordo.storage.backend import ITEMS, Matrix, matrix_of
from ricordo.storage.relations import relations_of
from ricordo.storage.search_rows import whole_index

MAX_COMPARED_MEMORIES: Final = 20_000
"""Up to so many memories of a user are all compared with each other, which takes some seconds."""

_BLOCK_ROWS: Final = 64  # compared with all at once: at most 5 MB of cosines
_RELATION_BATCH: Final = 500

Pair = tuple[int, int, float]
"""The places of two memories in a list, the smaller first, and their cosine."""

Wanted = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
Selection = Callable[[Matrix, int], Wanted]
"""From the cosines of a block and the place of its first row: which pairs are wanted."""


class Vectors:
    """The vectors of listed memories. ``places`` says which memory each row belongs to."""

    def __init__(self, places: Sequence[int], matrix: Matrix) -> None:
        self.places = np.asarray(places, np.int64)
        self.matrix = matrix


def read_vectors(
    connection: sa.Connection, user_id: str, model: VectorModel, ids: Sequence[int]
) -> Vectors:
    """The vectors of these memories that can be compared; others are left out."""
    place_of = {item_id: place for place, item_id in enumerate(ids)}
    places: list[int] = []
    blocks: list[Matrix] = []
    for page in whole_index(connection, ITEMS, user_id, model):
        rows = [row for row in page if row[2] is not None and row[0] in place_of]
        width = len(rows[0][2]) if rows else 0
        kept = [row for row in rows if len(row[2]) == width]
        if kept:
            block = matrix_of(connection, [row[2] for row in kept])
            if not blocks or block.shape[1] == blocks[0].shape[1]:
                blocks.append(block)
                places += [place_of[row[0]] for row in kept]
    return Vectors(places, np.concatenate(blocks) if blocks else np.zeros((0, 0), np.float32))


def pairs_of_vectors(vectors: Vectors, wanted: Selection) -> Iterator[Pair]:
    """The pairs that are wanted, each once, in the order of their places."""
    matrix, places = vectors.matrix, vectors.places
    for start in range(0, len(matrix), _BLOCK_ROWS):
        cosines = matrix[start : start + _BLOCK_ROWS] @ matrix[start:].T
        below = np.tril(np.ones(cosines.shape, np.bool_))  # itself, and pairs seen the other way
        rows, columns = np.nonzero(wanted(cosines, start) & ~below)
        for row, column in zip(rows, columns, strict=True):
            one, other = int(places[start + row]), int(places[start + column])
            yield min(one, other), max(one, other), float(cosines[row, column])


def pairs_of_relations(
    connection: sa.Connection, user_id: str, ids: Sequence[int]
) -> Iterator[Pair]:
    """The pairs that were noted as related when they were written."""
    place_of = {item_id: place for place, item_id in enumerate(ids)}
    for start in range(0, len(ids), _RELATION_BATCH):
        batch = ids[start : start + _RELATION_BATCH]
        for low, high, similarity in sorted(relations_of(connection, user_id, batch)):
            one, other = place_of.get(low), place_of.get(high)
            if one is None or other is None:
                continue
            # Met from both ends when these are in two batches: taken from the first.
            first, second = min(one, other), max(one, other)
            if first >= start:
                yield first, second, similarity
