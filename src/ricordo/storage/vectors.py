"""Vectors as the databases give them, turned into rows of a matrix."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import sqlalchemy as sa

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Row = np.ndarray[tuple[int], np.dtype[np.float32]]

_PG_HEADER_BYTES: Final = 4  # pgvector sends its width and two unused bytes first


def matrix_of(connection: sa.Connection, stored: Sequence[bytes]) -> Matrix:
    """Vectors of one width, as selected with ``vector_bytes``, one per row."""
    if not stored:
        return np.zeros((0, 0), np.float32)
    if connection.dialect.name == "sqlite":
        flat = np.frombuffer(b"".join(stored), "<f4")
    else:
        flat = np.frombuffer(b"".join(sent[_PG_HEADER_BYTES:] for sent in stored), ">f4")
    return flat.astype(np.float32, copy=False).reshape(len(stored), -1)
