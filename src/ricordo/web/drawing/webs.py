"""Memories and how they relate, as circles and lines."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ricordo.web.drawing.figures import cut
from ricordo.web.drawing.labels import Label, Point, Spot, labelled
from ricordo.web.drawing.layout import Edge, placed
from ricordo.web.drawing.packing import Box

WIDTH: Final = 800.0
HEIGHT: Final = 520.0
_BOX: Final = Box(WIDTH, HEIGHT, margin=30.0, apart=30.0)
_LEAST_RADIUS: Final = 6.0
_MOST_RADIUS: Final = 13.0
_RADIUS_BY_RELATION: Final = 2.0
_LETTERS_OF_NAME: Final = 20
_LETTERS_OF_TITLE: Final = 120
_FAINTEST: Final = 0.3
_FEW_TIES: Final = 40
_THINNEST: Final = 1.0
_THICKEST: Final = 3.5


@dataclass(frozen=True, slots=True)
class Node:
    """What is to be drawn of a memory."""

    id: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Tie:
    """Two memories that relate, by their ids, and how alike they are, from 0 to 1."""

    one: int
    other: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Circle:
    """A memory in the drawing."""

    id: int
    kind: str
    x: float
    y: float
    radius: float
    title: str
    ties: int
    label: Label


@dataclass(frozen=True, slots=True)
class Thread:
    """A relation in the drawing; the more alike, the stronger the line."""

    x1: float
    y1: float
    x2: float
    y2: float
    thickness: float
    opacity: float


@dataclass(frozen=True, slots=True)
class Web:
    """The whole drawing, in a box of :data:`WIDTH` by :data:`HEIGHT`."""

    circles: tuple[Circle, ...]
    threads: tuple[Thread, ...]
    width: float = WIDTH
    height: float = HEIGHT


def web_of(nodes: Sequence[Node], ties: Sequence[Tie]) -> Web:
    """The drawing of at most :data:`~ricordo.web.drawing.layout.MOST_NODES` memories.

    The most connected come first, so that whoever goes from one to the next by keyboard meets them
    first. Ties to memories that are not among the nodes are passed over.

    Raises:
        ValueError: too many nodes.
    """
    places = {node.id: place for place, node in enumerate(nodes)}
    drawn = [tie for tie in ties if tie.one in places and tie.other in places]
    edges = [(places[tie.one], places[tie.other], tie.similarity) for tie in drawn]
    points = {node.id: point for node, point in zip(nodes, _points(nodes, edges), strict=True)}
    degrees = Counter(end for tie in drawn for end in {tie.one, tie.other})
    ends_of = _ends(drawn, points)
    ranked = sorted(nodes, key=lambda node: (-degrees[node.id], node.id))
    spots = [
        _spot(node, points[node.id], degrees[node.id], ends_of.get(node.id, ())) for node in ranked
    ]
    circles = tuple(
        Circle(
            id=node.id,
            kind=node.kind,
            x=spot.x,
            y=spot.y,
            radius=spot.radius,
            title=cut(node.text, _LETTERS_OF_TITLE),
            ties=degrees[node.id],
            label=label,
        )
        for node, spot, label in zip(ranked, spots, labelled(spots, WIDTH, HEIGHT), strict=True)
    )
    ends = {circle.id: circle for circle in circles}
    room = min(1.0, math.sqrt(_FEW_TIES / max(len(drawn), 1)))
    threads = (_thread(ends[tie.one], ends[tie.other], tie.similarity, room) for tie in drawn)
    return Web(circles, tuple(threads))


def _points(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[Point]:
    return [(float(x), float(y)) for x, y in placed(len(nodes), edges, _BOX)]


def _ends(ties: Sequence[Tie], points: Mapping[int, Point]) -> dict[int, tuple[Point, ...]]:
    """Where the lines lead that begin at each node."""
    ends: dict[int, tuple[Point, ...]] = {}
    for tie in ties:
        ends[tie.one] = (*ends.get(tie.one, ()), points[tie.other])
        ends[tie.other] = (*ends.get(tie.other, ()), points[tie.one])
    return ends


def _spot(node: Node, point: Point, degree: int, ends: tuple[Point, ...]) -> Spot:
    radius = min(_LEAST_RADIUS + _RADIUS_BY_RELATION * math.sqrt(degree), _MOST_RADIUS)
    return Spot(*point, radius, cut(node.text, _LETTERS_OF_NAME), ends)


def _thread(one: Circle, other: Circle, similarity: float, room: float) -> Thread:
    """A line; where there are many, they are finer, so that what they cross can be read."""
    strength = min(max(similarity, 0.0), 1.0) if math.isfinite(similarity) else 0.0
    return Thread(
        x1=one.x,
        y1=one.y,
        x2=other.x,
        y2=other.y,
        thickness=_THINNEST + (_THICKEST - _THINNEST) * strength * room,
        opacity=_FAINTEST + (1.0 - _FAINTEST) * strength * room,
    )
