"""Groups of points put side by side into a box, as large as they can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

_BETWEEN_GROUPS: Final = 0.9  # in the units of the points: about as long as an edge
_LARGEST_UNIT: Final = 150.0  # two nodes do not fill the whole box
_ROWS_TRIED: Final = 12


@dataclass(frozen=True, slots=True)
class Box:
    """The place for a drawing. ``margin`` is kept free on each side; ``apart`` is how far from one
    another points should at least be."""

    width: float
    height: float
    margin: float
    apart: float

    @property
    def inner_width(self) -> float:
        """How far points may be from left to right."""
        return self.width - 2 * self.margin

    @property
    def inner_height(self) -> float:
        """How far points may be from top to bottom."""
        return self.height - 2 * self.margin


@dataclass(frozen=True, slots=True)
class _Shelves:
    corners: Array  # of each group's rectangle
    width: float
    height: float


def packed(points: Array, groups: Sequence[npt.NDArray[np.intp]], box: Box) -> Array:
    """The points of each group as they are to one another, the groups beside each other."""
    lows = np.array([points[members].min(axis=0) for members in groups])
    highs = np.array([points[members].max(axis=0) for members in groups])
    sizes = highs - lows + _BETWEEN_GROUPS
    order = np.lexsort((np.arange(len(groups)), -sizes[:, 1]))
    best = max(
        (_shelved(sizes, order, width) for width in _widths(sizes)),
        key=lambda shelves: _scale(shelves, box),
    )
    scale = _scale(best, box)
    laid = np.empty_like(points)
    for group, members in enumerate(groups):
        laid[members] = points[members] - lows[group] + best.corners[group] + _BETWEEN_GROUPS / 2
    laid *= scale
    # In the middle of the box by what is seen.
    seen_low, seen_high = laid.min(axis=0), laid.max(axis=0)
    middle = np.array([box.width, box.height]) / 2
    return np.asarray(laid - (seen_low + seen_high) / 2 + middle)


def _widths(sizes: Array) -> list[float]:
    """How wide shelves could be: from all groups in one row to the widest group alone."""
    low, high = float(sizes[:, 0].max()), float(sizes[:, 0].sum())
    return [float(width) for width in np.geomspace(max(low, high), low, _ROWS_TRIED)]


def _shelved(sizes: Array, order: npt.NDArray[np.intp], width: float) -> _Shelves:
    """The groups on shelves of this width, the highest first."""
    corners = np.zeros_like(sizes)
    x = y = shelf_height = widest = 0.0
    for group in order:
        group_width, group_height = sizes[group]
        if x > 0 and x + group_width > width * (1 + 1e-9):
            x, y, shelf_height = 0.0, y + shelf_height, 0.0
        corners[group] = x, y + max(shelf_height - group_height, 0.0) / 2
        x += group_width
        shelf_height = max(shelf_height, group_height)
        widest = max(widest, x)
    return _Shelves(corners, widest, y + shelf_height)


def _scale(shelves: _Shelves, box: Box) -> float:
    # What is kept free around the outermost groups is not seen, so the box may be that much larger.
    across = box.inner_width / max(shelves.width - _BETWEEN_GROUPS, 1e-6)
    along = box.inner_height / max(shelves.height - _BETWEEN_GROUPS, 1e-6)
    return min(across, along, _LARGEST_UNIT)
