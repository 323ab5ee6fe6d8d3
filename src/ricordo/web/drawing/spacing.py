"""Points pushed apart until none lies on another, all within the box."""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ricordo.web.drawing.packing import Box

Array: TypeAlias = npt.NDArray[np.float64]

_PUSHES: Final = 40
_ENOUGH: Final = 0.9  # of the distance wished for


def spaced(points: Array, box: Box) -> Array:
    """The points within the box and apart, moved as little as that takes.

    Where pushing does not help, e.g. in a corner, every point goes to a place of its own in a
    grid: so they are apart whatever is given, as far as there is room.
    """
    moved = _within(points, box)
    if len(points) < 2:
        return moved
    for _ in range(_PUSHES):
        pushes, closest = _pushes(moved, box.apart)
        if closest >= box.apart * _ENOUGH:
            return moved
        moved = _within(moved + pushes, box)
    return moved if _closest(moved) >= box.apart * _ENOUGH else _in_a_grid(moved, box)


def _within(points: Array, box: Box) -> Array:
    low = np.array([box.margin, box.margin])
    high = np.array([box.width - box.margin, box.height - box.margin])
    return np.clip(points, low, high)


def _pushes(points: Array, apart: float) -> tuple[Array, float]:
    """Half of what is missing between two points, away from each other, for each of them."""
    differences = points[:, None, :] - points[None, :, :]
    distances = np.sqrt((differences**2).sum(axis=2))
    np.fill_diagonal(distances, np.inf)
    closest = float(distances.min())
    missing = np.clip(apart * 1.05 - distances, 0.0, None)
    # Two points in one place have no direction, so each pair gets one of its own.
    same = distances < 1e-6
    if same.any():
        places = np.arange(len(points))
        angle = 2.4 * (places[:, None] + places[None, :])
        sign = np.sign(places[:, None] - places[None, :])
        own = np.stack([np.cos(angle) * sign, np.sin(angle) * sign], axis=2)
        differences = np.where(same[:, :, None], own, differences)
        distances = np.where(same, 1.0, distances)
    directions = differences / distances[:, :, None]
    return (directions * (missing / 2)[:, :, None]).sum(axis=1), closest


def _closest(points: Array) -> float:
    differences = points[:, None, :] - points[None, :, :]
    distances = np.sqrt((differences**2).sum(axis=2))
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def _in_a_grid(points: Array, box: Box) -> Array:
    """Each point at the nearest place of a grid that is still free; the grid is as wide as wished,
    or as the number of points allows."""
    columns, rows = _grid(len(points), box)
    xs = np.linspace(box.margin, box.width - box.margin, columns)
    ys = np.linspace(box.margin, box.height - box.margin, rows)
    free = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    placed = np.empty_like(points)
    for place, point in enumerate(points):
        nearest = int(((free - point) ** 2).sum(axis=1).argmin())
        placed[place] = free[nearest]
        free = np.delete(free, nearest, axis=0)
    return placed


def _grid(count: int, box: Box) -> tuple[int, int]:
    columns = max(1, int(box.inner_width // box.apart) + 1)
    rows = max(1, int(box.inner_height // box.apart) + 1)
    while columns * rows < count:  # closer than wished, but still one place for each
        if box.inner_width / columns > box.inner_height / rows:
            columns += 1
        else:
            rows += 1
    return columns, rows
