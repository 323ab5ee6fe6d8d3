"""Short names beside the nodes of a graph, where there is room for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TEXT_SIZE: Final = 13.0
"""In the units of the drawing, when it is shown wide; the stylesheet says the same."""
TEXT_SIZE_ON_A_PHONE: Final = 30.0
"""There the drawing is less than half as wide, so its text has to be larger."""
_MOST: Final = 24
_MOST_ON_A_PHONE: Final = 5
_WIDTH_OF_LETTER: Final = 0.58  # of the text's size: a little more than the mean
_HEIGHT_OF_LINE: Final = 1.3
_BESIDE: Final = 5.0


Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """A node that would like a name: where it is, how large, what it is called, and where the
    lines lead that begin there."""

    x: float
    y: float
    radius: float
    name: str
    ends: tuple[Point, ...] = ()


class Side(StrEnum):
    """On which side of its node a label stands."""

    AFTER = "after"
    BEFORE = "before"
    BELOW = "below"
    ABOVE = "above"


class Shown(StrEnum):
    """When there is room for a label: always, when the drawing is wide, or when it is looked at
    from near."""

    ALWAYS = "always"
    WIDE = "wide"
    NEAR = "near"


@dataclass(frozen=True, slots=True)
class Label:
    """A name, and the point that it begins at, ends at (``before``) or is centred on."""

    x: float
    y: float
    name: str
    side: Side
    shown: Shown


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
        """Whether a line goes through it: what is left of the line after each edge has cut it."""
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
    """A label for each node; the first of the nodes are served first.

    Labels do not meet one another or a node, nor do they leave the drawing, unless it is looked at
    from near. They stand beside the lines of their own node where they can. For a few of them there
    is room at the size that a phone needs.
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
        shown, side = Shown.NEAR, None
        wide = {TEXT_SIZE: others + when_wide}
        if len(on_a_phone) < _MOST_ON_A_PHONE:
            both = {**wide, TEXT_SIZE_ON_A_PHONE: others + on_a_phone}
            shown, side = Shown.ALWAYS, _side(spot, both, whole)
        if side is None and len(when_wide) < _MOST:
            shown, side = Shown.WIDE, _side(spot, wide, whole)
        if side is None:
            shown, side = Shown.NEAR, Side.AFTER
        else:
            when_wide.append(_area(spot, TEXT_SIZE, side))
        if shown is Shown.ALWAYS:
            on_a_phone.append(_area(spot, TEXT_SIZE_ON_A_PHONE, side))
        labels.append(Label(*_anchor(spot, side), spot.name, side, shown))
    return tuple(labels)


def _side(spot: Spot, taken: Mapping[float, Sequence[_Area]], whole: _Area) -> Side | None:
    """Where a label has room at each size, beside what is ``taken`` then; best where no line of its
    node goes through it. None: nowhere."""
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
    """The point that the text hangs on; how far below or above it that is, the text's size says."""
    near = spot.radius + _BESIDE
    return {
        Side.AFTER: (spot.x + near, spot.y),
        Side.BEFORE: (spot.x - near, spot.y),
        Side.BELOW: (spot.x, spot.y + near),
        Side.ABOVE: (spot.x, spot.y - near),
    }[side]


def _area(spot: Spot, size: float, side: Side) -> _Area:
    """What a label covers, by a guess at how wide its letters are."""
    x, y = _anchor(spot, side)
    width, tall = len(spot.name) * size * _WIDTH_OF_LETTER, size * _HEIGHT_OF_LINE
    left = {Side.AFTER: x, Side.BEFORE: x - width}.get(side, x - width / 2)
    top = {Side.BELOW: y, Side.ABOVE: y - tall}.get(side, y - tall / 2)
    return _Area(left, top, left + width, top + tall)
