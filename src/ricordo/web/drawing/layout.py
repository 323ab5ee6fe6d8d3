"""Where the nodes of a graph go: near to what they belong to, apart from everything else.

Between every two nodes of a component there is a spring as long as the way between them along the
edges. The rest position of all springs is found by majorising stress: each step is one product of
matrices, it never gets worse, and no chance is involved. Components are then packed side by side
into the box.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ricordo.web.drawing.packing import Box, packed
from ricordo.web.drawing.spacing import spaced

Array: TypeAlias = npt.NDArray[np.float64]
Edge: TypeAlias = tuple[int, int, float]
"""Two nodes by their place in the list, and how alike they are, from 0 to 1."""

MOST_NODES: Final = 200
_STEPS: Final = 60
_SHORTEST: Final = 0.6  # of an edge between what is all but the same; 1.6 is the longest


def placed(count: int, edges: Sequence[Edge], box: Box) -> Array:
    """A point within the box for each of ``count`` nodes.

    The same graph always gets the same places. Edges from a node to itself are passed over.

    Raises:
        ValueError: more than :data:`MOST_NODES`, or an edge to a node that is not there.
    """
    if count > MOST_NODES:
        raise ValueError(f"{count} nodes; at most {MOST_NODES} can be drawn")
    if any(not 0 <= end < count for one, other, _ in edges for end in (one, other)):
        raise ValueError("an edge leads to a node that is not there")
    if count == 0:
        return np.zeros((0, 2))
    ways = _ways(count, edges)
    components = _components(ways)
    rested = _at_rest(ways, components)
    return spaced(packed(rested, components, box), box)


def _ways(count: int, edges: Sequence[Edge]) -> Array:
    """How long the shortest way is between every two nodes; infinite where there is none."""
    ways = np.full((count, count), np.inf)
    np.fill_diagonal(ways, 0.0)
    for one, other, likeness in edges:
        if one != other:
            known = float(likeness) if np.isfinite(likeness) else 0.0
            length = _SHORTEST + 1.0 - min(max(known, 0.0), 1.0)
            ways[one, other] = ways[other, one] = min(ways[one, other], length)
    for middle in range(count):
        np.minimum(ways, ways[:, middle, None] + ways[None, middle, :], out=ways)
    return ways


def _components(ways: Array) -> list[npt.NDArray[np.intp]]:
    """The nodes that hang together, the largest group first."""
    left = np.ones(len(ways), dtype=bool)
    found = []
    for node in range(len(ways)):
        if left[node]:
            members = np.flatnonzero(np.isfinite(ways[node]))
            left[members] = False
            found.append(members)
    return sorted(found, key=lambda members: (-len(members), int(members[0])))


def _at_rest(ways: Array, components: Sequence[npt.NDArray[np.intp]]) -> Array:
    """The nodes of each component where their springs are at rest, around its own middle."""
    points = np.zeros((len(ways), 2))
    together = np.zeros_like(ways)
    for members in components:
        points[members] = _start(ways[np.ix_(members, members)])
        together[np.ix_(members, members)] = 1.0 / len(members)
    is_pair = np.isfinite(ways) & (ways > 0)
    weights = np.where(is_pair, 1.0, 0.0)
    np.divide(weights, ways**2, out=weights, where=is_pair)
    lengths = np.where(is_pair, ways, 0.0)
    # The Laplacian of the weights has no inverse on its own, since a component may be moved as a
    # whole; with the mean of each component held fast it has one.
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + together) - together
    pull = weights * lengths
    for _ in range(_STEPS):
        across = points[:, 0, None] - points[None, :, 0]
        along = points[:, 1, None] - points[None, :, 1]
        apart = np.sqrt(across * across + along * along)
        ratios = np.divide(pull, apart, out=np.zeros_like(pull), where=apart > 1e-9)
        moved = ratios.sum(axis=1)[:, None] * points - ratios @ points
        points = inverse @ moved
    return points


def _start(ways: Array) -> Array:
    """A first guess: the two directions in which the ways differ most (classical scaling), with a
    little spiral so that nodes alike in everything do not start from the same point."""
    count = len(ways)
    turns = np.arange(count) * 2.399963229728653  # the golden angle
    spiral = np.stack([np.cos(turns), np.sin(turns)], axis=1) * np.sqrt(np.arange(count))[:, None]
    if count < 3:
        return np.array([[0.5 * place, 0.0] for place in range(count)])
    squares = ways**2
    centred = -0.5 * (
        squares - squares.mean(axis=0)[None, :] - squares.mean(axis=1)[:, None] + squares.mean()
    )
    sizes, directions = np.linalg.eigh(centred)
    scaled = directions[:, [-1, -2]] * np.sqrt(np.maximum(sizes[[-1, -2]], 0.0))
    # A direction and its opposite are the same to the solver: the first large entry is positive.
    for axis in range(2):
        largest = int(np.argmax(np.abs(scaled[:, axis])))
        if scaled[largest, axis] < 0:
            scaled[:, axis] *= -1
    return np.asarray(scaled + 0.05 * spiral)
