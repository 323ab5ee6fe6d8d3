"""Growing arrays."""

from typing import Any, Final

import numpy as np

FIRST_ROWS: Final = 64


class Column:
    """A growing array with one number per row."""

    def __init__(self, kind: Any, width: int = 0, rows: int = FIRST_ROWS) -> None:
        self._values = np.zeros((rows, width) if width else rows, kind)

    def set(self, row: int, value: Any) -> None:
        if row >= len(self._values):
            self._make_room(row + 1)
        self._values[row] = value

    def fill(self, start: int, values: Any) -> None:
        if start + len(values) > len(self._values):
            self._make_room(start + len(values))
        self._values[start : start + len(values)] = values

    def _make_room(self, rows: int) -> None:
        grown = np.zeros((rows * 5 // 4 + 1, *self._values.shape[1:]), self._values.dtype)
        grown[: len(self._values)] = self._values
        self._values = grown

    def head(self, rows: int) -> Any:
        """A view of the first rows; unset rows are zero."""
        if rows > len(self._values):
            self._make_room(rows)
        return self._values[:rows]

    @property
    def nbytes(self) -> int:
        return self._values.nbytes
