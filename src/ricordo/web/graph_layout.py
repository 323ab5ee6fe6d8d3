"""Lay out memories and their relations as circles, lines and labels."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ricordo.frozen import dataclass
from ricordo.web.charts import cut

TEXT_SIZE: Final = 13.0
"""In drawing units; the stylesheet has the same value."""
TEXT_SIZE_ON_A_PHONE: Final = 30.0
"""Larger, because the drawing is scaled to less than half its width there."""
_MOST_LABELS: Final = 24
_MOST_LABELS_ON_A_PHONE: Final = 5
_WIDTH_OF_LETTER: Final = 0.58  # of the text size: a little more than the average
_HEIGHT_OF_LINE: Final = 1.3
_LABEL_GAP: Final = 5.0
_BETWEEN_GROUPS: Final = 0.9  # about as long as an edge
_LARGEST_UNIT: Final = 150.0  # so that two nodes do not fill the whole box
_ROWS_TRIED: Final = 12
_PUSHES: Final = 40
_ENOUGH: Final = 0.9  # of the minimum distance
MOST_NODES: Final = 200
_STEPS: Final = 60
_SHORTEST: Final = 0.6  # length of an edge at similarity 1; at 0 it is 1.6
WIDTH: Final = 800.0
HEIGHT: Final = 520.0
_LEAST_RADIUS: Final = 6.0
_MOST_RADIUS: Final = 13.0
_RADIUS_BY_RELATION: Final = 2.0
_LETTERS_OF_NAME: Final = 20
_LETTERS_OF_TITLE: Final = 120
_FAINTEST: Final = 0.3
_FEW_LINES: Final = 40
_THINNEST: Final = 1.0
_THICKEST: Final = 3.5

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """A node to be labelled; ``ends`` are the other ends of its lines."""

    x: float
    y: float
    radius: float
    name: str
    ends: tuple[Point, ...] = ()


class Side(StrEnum):
    AFTER = "after"
    BEFORE = "before"
    BELOW = "below"
    ABOVE = "above"


class Visibility(StrEnum):
    """When a label is visible: always, in a wide drawing, or when zoomed in."""

    ALWAYS = "always"
    WIDE = "wide"
    NEAR = "near"


@dataclass(frozen=True, slots=True)
class Label:
    """A text, and the point that it starts at, ends at (``before``) or is centred on."""

    x: float
    y: float
    name: str
    side: Side
    shown: Visibility


@dataclass(frozen=True, slots=True)
class _Area:
    left: float
    top: float
    right: float
    bottom: float

    def is_within(self, whole: "_Area") -> bool:
        return (
            whole.left <= self.left
            and self.right <= whole.right
            and whole.top <= self.top
            and self.bottom <= whole.bottom
        )

    def meets(self, other: "_Area") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def is_crossed(self, start: Point, end: Point) -> bool:
        """Whether a line goes through it (clipping by each pair of edges)."""
        enters, leaves = 0.0, 1.0
        for begin, step, low, high in (
            (start[0], end[0] - start[0], self.left, self.right),
            (start[1], end[1] - start[1], self.top, self.bottom),
        ):
            if step == 0:
                if not low < begin < high:
                    return False
                continue
            first, last = sorted(((low - begin) / step, (high - begin) / step))
            enters, leaves = max(enters, first), min(leaves, last)
        return enters < leaves


def labelled(spots: Sequence[Spot], width: float, height: float) -> tuple[Label, ...]:
    """A label for each node, in order of priority.

    Labels do not overlap each other, a node or the border, unless zoomed in, and avoid the lines of
    their node where they can. A few also fit at the text size of a phone.
    """
    whole = _Area(0, 0, width, height)
    nodes = [
        _Area(
            spot.x - spot.radius, spot.y - spot.radius, spot.x + spot.radius, spot.y + spot.radius
        )
        for spot in spots
    ]
    on_a_phone: list[_Area] = []
    when_wide: list[_Area] = []
    labels = []
    for place, spot in enumerate(spots):
        others = nodes[:place] + nodes[place + 1 :]
        shown, side = Visibility.NEAR, None
        wide = {TEXT_SIZE: others + when_wide}
        if len(on_a_phone) < _MOST_LABELS_ON_A_PHONE:
            both = {**wide, TEXT_SIZE_ON_A_PHONE: others + on_a_phone}
            shown, side = Visibility.ALWAYS, _side(spot, both, whole)
        if side is None and len(when_wide) < _MOST_LABELS:
            shown, side = Visibility.WIDE, _side(spot, wide, whole)
        if side is None:
            shown, side = Visibility.NEAR, Side.AFTER
        else:
            when_wide.append(_area(spot, TEXT_SIZE, side))
        if shown is Visibility.ALWAYS:
            on_a_phone.append(_area(spot, TEXT_SIZE_ON_A_PHONE, side))
        labels.append(Label(*_anchor(spot, side), spot.name, side, shown))
    return tuple(labels)


def _side(spot: Spot, taken: Mapping[float, Sequence[_Area]], whole: _Area) -> Side | None:
    """A side where the label fits at each text size; preferably one that no line of its node
    crosses."""
    free = []
    for side in Side:
        areas = {size: _area(spot, size, side) for size in taken}
        if any(
            not area.is_within(whole) or any(map(area.meets, taken[size]))
            for size, area in areas.items()
        ):
            continue
        if not any(
            area.is_crossed((spot.x, spot.y), end) for area in areas.values() for end in spot.ends
        ):
            return side
        free.append(side)
    return free[0] if free else None


def _anchor(spot: Spot, side: Side) -> Point:
    near = spot.radius + _LABEL_GAP
    return {
        Side.AFTER: (spot.x + near, spot.y),
        Side.BEFORE: (spot.x - near, spot.y),
        Side.BELOW: (spot.x, spot.y + near),
        Side.ABOVE: (spot.x, spot.y - near),
    }[side]


def _area(spot: Spot, size: float, side: Side) -> _Area:
    """The area of a label, by an estimate of the text width."""
    x, y = _anchor(spot, side)
    width, tall = len(spot.name) * size * _WIDTH_OF_LETTER, size * _HEIGHT_OF_LINE
    left = {Side.AFTER: x, Side.BEFORE: x - width}.get(side, x - width / 2)
    top = {Side.BELOW: y, Side.ABOVE: y - tall}.get(side, y - tall / 2)
    return _Area(left, top, left + width, top + tall)


Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Box:
    """The drawing area. ``margin`` stays free on each side; ``apart`` is the minimum distance of
    points."""

    width: float
    height: float
    margin: float
    apart: float

    @property
    def inner_width(self) -> float:
        return self.width - 2 * self.margin

    @property
    def inner_height(self) -> float:
        return self.height - 2 * self.margin


@dataclass(frozen=True, slots=True)
class _Rows:
    corners: Array  # of each group's rectangle
    width: float
    height: float


def packed(points: Array, groups: Sequence[npt.NDArray[np.intp]], box: Box) -> Array:
    """Place the connected groups side by side without changing their inner layout."""
    lows = np.array([points[members].min(axis=0) for members in groups])
    highs = np.array([points[members].max(axis=0) for members in groups])
    sizes = highs - lows + _BETWEEN_GROUPS
    order = np.lexsort((np.arange(len(groups)), -sizes[:, 1]))
    # From all groups in one row to the widest group alone.
    narrowest, widest = float(sizes[:, 0].max()), float(sizes[:, 0].sum())
    widths = np.geomspace(max(narrowest, widest), narrowest, _ROWS_TRIED)
    best = max(
        (_rows(sizes, order, float(width)) for width in widths),
        key=lambda rows: _scale(rows, box),
    )
    laid = np.empty_like(points)
    for group, members in enumerate(groups):
        laid[members] = points[members] - lows[group] + best.corners[group] + _BETWEEN_GROUPS / 2
    laid *= _scale(best, box)
    middle = np.array([box.width, box.height]) / 2
    return np.asarray(laid - (laid.min(axis=0) + laid.max(axis=0)) / 2 + middle)


def _rows(sizes: Array, order: npt.NDArray[np.intp], width: float) -> _Rows:
    """Pack the groups into rows of this width, the tallest first."""
    corners = np.zeros_like(sizes)
    x = y = row_height = widest = 0.0
    for group in order:
        group_width, group_height = sizes[group]
        if x > 0 and x + group_width > width * (1 + 1e-9):
            x, y, row_height = 0.0, y + row_height, 0.0
        corners[group] = x, y + max(row_height - group_height, 0.0) / 2
        x += group_width
        row_height = max(row_height, group_height)
        widest = max(widest, x)
    return _Rows(corners, widest, y + row_height)


def _scale(rows: _Rows, box: Box) -> float:
    # The gap around the outermost groups is invisible, so it does not count.
    across = box.inner_width / max(rows.width - _BETWEEN_GROUPS, 1e-6)
    along = box.inner_height / max(rows.height - _BETWEEN_GROUPS, 1e-6)
    return min(across, along, _LARGEST_UNIT)


def spaced(points: Array, box: Box) -> Array:
    """Move points apart, as little as possible, within the box.

    Where pushing is not enough, e.g. in a corner, every point snaps to a grid.
    """
    moved = _within(points, box)
    if len(points) < 2:
        return moved
    for _ in range(_PUSHES):
        pushes, closest = _pushes(moved, box.apart)
        if closest >= box.apart * _ENOUGH:
            return moved
        moved = _within(moved + pushes, box)
    closest = float(_distances(moved)[1].min())
    return moved if closest >= box.apart * _ENOUGH else _in_a_grid(moved, box)


def _within(points: Array, box: Box) -> Array:
    low = np.array([box.margin, box.margin])
    high = np.array([box.width - box.margin, box.height - box.margin])
    return np.clip(points, low, high)


def _distances(points: Array) -> tuple[Array, Array]:
    """The difference and the distance of all pairs; infinite from a point to itself."""
    differences = points[:, None, :] - points[None, :, :]
    distances = np.sqrt((differences**2).sum(axis=2))
    np.fill_diagonal(distances, np.inf)
    return differences, distances


def _pushes(points: Array, apart: float) -> tuple[Array, float]:
    """Push each pair that is too close apart, half of the missing distance each."""
    differences, distances = _distances(points)
    closest = float(distances.min())
    missing = np.clip(apart * 1.05 - distances, 0.0, None)
    # Two points in the same place have no direction, so each pair gets one.
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


def _in_a_grid(points: Array, box: Box) -> Array:
    """Each point at the nearest free place of a grid."""
    columns = max(1, int(box.inner_width // box.apart) + 1)
    rows = max(1, int(box.inner_height // box.apart) + 1)
    while columns * rows < len(points):  # closer than the minimum, but one place for each
        if box.inner_width / columns > box.inner_height / rows:
            columns += 1
        else:
            rows += 1
    xs = np.linspace(box.margin, box.width - box.margin, columns)
    ys = np.linspace(box.margin, box.height - box.margin, rows)
    free = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    placed = np.empty_like(points)
    for place, point in enumerate(points):
        nearest = int(((free - point) ** 2).sum(axis=1).argmin())
        placed[place] = free[nearest]
        free = np.delete(free, nearest, axis=0)
    return placed


Edge: TypeAlias = tuple[int, int, float]
"""Two nodes by index, and their similarity from 0 to 1."""


def placed(count: int, edges: Sequence[Edge], box: Box) -> Array:
    """A point within the box for each of ``count`` nodes; deterministic.

    Within a component the distance of two nodes follows the shortest path between them, by stress
    majorisation. Components are packed side by side. Self-loops are ignored.

    Raises:
        ValueError: more than :data:`MOST_NODES`, or an edge to an unknown node.
    """
    if count > MOST_NODES:
        raise ValueError(f"{count} nodes; at most {MOST_NODES} can be drawn")
    if any(not 0 <= end < count for one, other, _ in edges for end in (one, other)):
        raise ValueError("an edge leads to a node that is not there")
    if count == 0:
        return np.zeros((0, 2))
    distances = _path_lengths(count, edges)
    components = _components(distances)
    rested = _at_rest(distances, components)
    return spaced(packed(rested, components, box), box)


def _path_lengths(count: int, edges: Sequence[Edge]) -> Array:
    """The length of the shortest path between all pairs; infinite where there is none."""
    distances = np.full((count, count), np.inf)
    np.fill_diagonal(distances, 0.0)
    for one, other, similarity in edges:
        if one != other:
            known = float(similarity) if np.isfinite(similarity) else 0.0
            length = _SHORTEST + 1.0 - min(max(known, 0.0), 1.0)
            distances[one, other] = distances[other, one] = min(distances[one, other], length)
    for middle in range(count):
        np.minimum(
            distances, distances[:, middle, None] + distances[None, middle, :], out=distances
        )
    return distances


def _components(distances: Array) -> list[npt.NDArray[np.intp]]:
    """The connected components, the largest first."""
    left = np.ones(len(distances), dtype=bool)
    found = []
    for node in range(len(distances)):
        if left[node]:
            members = np.flatnonzero(np.isfinite(distances[node]))
            left[members] = False
            found.append(members)
    return sorted(found, key=lambda members: (-len(members), int(members[0])))


def _at_rest(distances: Array, components: Sequence[npt.NDArray[np.intp]]) -> Array:
    """Stress majorisation of each component, centred on the origin."""
    points = np.zeros((len(distances), 2))
    together = np.zeros_like(distances)
    for members in components:
        points[members] = _start(distances[np.ix_(members, members)])
        together[np.ix_(members, members)] = 1.0 / len(members)
    is_pair = np.isfinite(distances) & (distances > 0)
    weights = np.where(is_pair, 1.0, 0.0)
    np.divide(weights, distances**2, out=weights, where=is_pair)
    lengths = np.where(is_pair, distances, 0.0)
    # The Laplacian of the weights is singular, since a component may be moved as a whole; fixing
    # the mean of each component makes it invertible.
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


def _start(distances: Array) -> Array:
    """Initial positions by classical scaling, plus a small spiral to separate identical nodes."""
    count = len(distances)
    turns = np.arange(count) * 2.399963229728653  # the golden angle
    spiral = np.stack([np.cos(turns), np.sin(turns)], axis=1) * np.sqrt(np.arange(count))[:, None]
    if count < 3:
        return np.array([[0.5 * place, 0.0] for place in range(count)])
    squares = distances**2
    centred = -0.5 * (
        squares - squares.mean(axis=0)[None, :] - squares.mean(axis=1)[:, None] + squares.mean()
    )
    sizes, directions = np.linalg.eigh(centred)
    scaled = directions[:, [-1, -2]] * np.sqrt(np.maximum(sizes[[-1, -2]], 0.0))
    # The sign of an eigenvector is arbitrary: make its largest entry positive.
    for axis in range(2):
        largest = int(np.argmax(np.abs(scaled[:, axis])))
        if scaled[largest, axis] < 0:
            scaled[:, axis] *= -1
    return np.asarray(scaled + 0.05 * spiral)


_BOX: Final = Box(WIDTH, HEIGHT, margin=30.0, apart=30.0)


@dataclass(frozen=True, slots=True)
class LayoutNode:
    id: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class LayoutEdge:
    """Two related memories by id, and their similarity from 0 to 1."""

    one: int
    other: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Circle:
    id: int
    kind: str
    x: float
    y: float
    radius: float
    title: str
    label: Label


@dataclass(frozen=True, slots=True)
class Line:
    """A relation of two nodes in the drawing; the more similar, the stronger the line."""

    one: int
    other: int
    x1: float
    y1: float
    x2: float
    y2: float
    thickness: float
    opacity: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawing, in a box of :data:`WIDTH` by :data:`HEIGHT`."""

    circles: tuple[Circle, ...]
    lines: tuple[Line, ...]
    width: float = WIDTH
    height: float = HEIGHT


def draw_graph(nodes: Sequence[LayoutNode], edges: Sequence[LayoutEdge]) -> Drawing:
    """The drawing of at most :data:`MOST_NODES` memories.

    The most connected come first, which is also the keyboard order. Edges to memories that are not
    among the nodes are ignored.

    Raises:
        ValueError: too many nodes.
    """
    places = {node.id: place for place, node in enumerate(nodes)}
    drawn = [edge for edge in edges if edge.one in places and edge.other in places]
    by_place = [(places[edge.one], places[edge.other], edge.similarity) for edge in drawn]
    points: dict[int, Point] = {
        node.id: (float(x), float(y))
        for node, (x, y) in zip(nodes, placed(len(nodes), by_place, _BOX), strict=True)
    }
    degrees = Counter(end for edge in drawn for end in {edge.one, edge.other})
    ends: dict[int, list[Point]] = defaultdict(list)
    for edge in drawn:
        ends[edge.one].append(points[edge.other])
        ends[edge.other].append(points[edge.one])
    ranked = sorted(nodes, key=lambda node: (-degrees[node.id], node.id))
    spots = [
        Spot(
            *points[node.id],
            min(_LEAST_RADIUS + _RADIUS_BY_RELATION * math.sqrt(degrees[node.id]), _MOST_RADIUS),
            cut(node.text, _LETTERS_OF_NAME),
            tuple(ends[node.id]),
        )
        for node in ranked
    ]
    circles = tuple(
        Circle(
            id=node.id,
            kind=node.kind,
            x=spot.x,
            y=spot.y,
            radius=spot.radius,
            title=cut(node.text, _LETTERS_OF_TITLE),
            label=label,
        )
        for node, spot, label in zip(ranked, spots, labelled(spots, WIDTH, HEIGHT), strict=True)
    )
    # The more lines, the thinner they are.
    room = min(1.0, math.sqrt(_FEW_LINES / max(len(drawn), 1)))
    lines = (_line(edge, points, room) for edge in drawn)
    return Drawing(circles, tuple(lines))


def _line(edge: LayoutEdge, points: Mapping[int, Point], room: float) -> Line:
    similarity = edge.similarity
    strength = min(max(similarity, 0.0), 1.0) if math.isfinite(similarity) else 0.0
    return Line(
        edge.one,
        edge.other,
        *points[edge.one],
        *points[edge.other],
        thickness=_THINNEST + (_THICKEST - _THINNEST) * strength * room,
        opacity=_FAINTEST + (1.0 - _FAINTEST) * strength * room,
    )
