"""Boxes, groups and arrows that make up a picture, and their SVG.

A picture carries its own background, and its colours follow what the page around it prefers, light
or dark. Texts are broken by hand: no font is loaded, so no width is known for sure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

LINE: Final = 17
STYLE: Final = """
    :root { --paper: #ffffff; --edge: #d5dae1; --ink: #1b2430; --soft: #56616f; --line: #7b8694;
      --plain: #f3f5f8; --store: #e3eefc; --store-edge: #86aee0; --choice: #fdf0d8;
      --choice-edge: #d9b063; --end: #e4f4e6; --end-edge: #86bd8d; }
    @media (prefers-color-scheme: dark) {
      :root { --paper: #171c24; --edge: #38414d; --ink: #e8ecf1; --soft: #a5b0bd; --line: #8793a1;
        --plain: #232a34; --store: #1d3350; --store-edge: #4a78b3; --choice: #43351a;
        --choice-edge: #94742f; --end: #1f3d27; --end-edge: #4b8757; }
    }
    text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
    .small { font-size: 12px; fill: var(--soft); }
    .head { font-weight: 600; }
    .paper { fill: var(--paper); stroke: var(--edge); }
    .plain { fill: var(--plain); stroke: var(--edge); }
    .store { fill: var(--store); stroke: var(--store-edge); }
    .choice { fill: var(--choice); stroke: var(--choice-edge); }
    .end { fill: var(--end); stroke: var(--end-edge); }
    .group { fill: none; stroke: var(--line); stroke-dasharray: 5 4; }
    .arrow { fill: none; stroke: var(--line); stroke-width: 1.5; }
    .dotted { stroke-dasharray: 4 4; }
    .label { font-size: 12px; fill: var(--soft); stroke: var(--paper); stroke-width: 4;
      paint-order: stroke; }
    marker path { fill: var(--line); }
""".strip("\n")


@dataclass(frozen=True, slots=True)
class Box:
    """A box with a heading and small lines below it."""

    x: int
    y: int
    width: int
    height: int
    head: str
    lines: tuple[str, ...] = ()
    kind: str = "plain"

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    def svg(self) -> str:
        """The box and its text, centred."""
        texts = [("head", self.head), *(("small", line) for line in self.lines)]
        across, down = self.middle
        first = down - LINE * (len(texts) - 1) / 2 + 5
        rows = "".join(
            f'<text class="{kind}" x="{across:g}" y="{first + LINE * row:g}"'
            f' text-anchor="middle">{escape(text, quote=False)}</text>'
            for row, (kind, text) in enumerate(texts)
        )
        return (
            f'<rect class="{self.kind}" x="{self.x}" y="{self.y}" width="{self.width}"'
            f' height="{self.height}" rx="7"/>{rows}'
        )


@dataclass(frozen=True, slots=True)
class Group:
    """A dashed frame around boxes, named at its upper left."""

    x: int
    y: int
    width: int
    height: int
    name: str

    def svg(self) -> str:
        """The frame and its name."""
        return (
            f'<rect class="group" x="{self.x}" y="{self.y}" width="{self.width}"'
            f' height="{self.height}" rx="10"/>'
            f'<text class="small" x="{self.x + 12}" y="{self.y + 19}">{escape(self.name)}</text>'
        )


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line through points, with its head at the last, and a label beside a place of it."""

    points: tuple[tuple[float, float], ...]
    label: str = ""
    at: tuple[float, float] | None = None
    anchor: str = "middle"
    dotted: bool = False

    def svg(self) -> str:
        """The line and its label."""
        path = " L".join(f"{x:g} {y:g}" for x, y in self.points)
        kind = "arrow dotted" if self.dotted else "arrow"
        line = f'<path class="{kind}" d="M{path}" marker-end="url(#head)"/>'
        if not self.label:
            return line
        (x1, y1), (x2, y2) = self.points[:2]
        x, y = self.at or ((x1 + x2) / 2, (y1 + y2) / 2 + 4)
        return (
            f'{line}<text class="label" x="{x:g}" y="{y:g}"'
            f' text-anchor="{self.anchor}">{escape(self.label)}</text>'
        )


def down(above: Box, below: Box, label: str = "", *, dotted: bool = False) -> Arrow:
    """From the bottom of a box to the top of another, with a bend where they are not in line."""
    x1, x2 = above.middle[0], below.middle[0]
    y1, y2 = above.y + above.height, below.y - 3
    if x1 == x2:
        return Arrow(
            ((x1, y1), (x2, y2)), label, (x1 + 8, (y1 + y2) / 2 + 4), "start", dotted=dotted
        )
    bend = (y1 + y2) / 2
    return Arrow(((x1, y1), (x1, bend), (x2, bend), (x2, y2)), label, dotted=dotted)


def right(before: Box, after: Box, label: str = "", *, dotted: bool = False) -> Arrow:
    """From the right side of a box to the left side of one on the same height."""
    y = before.middle[1]
    start, end = before.x + before.width, after.x - 3
    return Arrow(((start, y), (end, y)), label, ((start + end) / 2, y - 6), dotted=dotted)


def left(before: Box, after: Box, label: str = "", *, dotted: bool = False) -> Arrow:
    """From the left side of a box to the right side of one on the same height."""
    y = before.middle[1]
    start, end = before.x, after.x + after.width + 3
    return Arrow(((start, y), (end, y)), label, ((start + end) / 2, y - 6), dotted=dotted)


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn, in order, and what it says to those who do not see it."""

    name: str
    title: str
    says: str
    width: int
    height: int
    parts: Sequence[Box | Group | Arrow] = field(default_factory=tuple)

    def svg(self) -> str:
        """The whole file."""
        body = "\n  ".join(part.svg() for part in self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}" role="img"'
            f' aria-labelledby="title says">\n'
            f'  <title id="title">{escape(self.title)}</title>\n'
            f'  <desc id="says">{escape(self.says)}</desc>\n'
            f"  <style>\n{STYLE}\n  </style>\n"
            '  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8"'
            ' markerHeight="8" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 Z"/></marker>'
            "</defs>\n"
            f'  <rect class="paper" x="0.5" y="0.5" width="{self.width - 1}"'
            f' height="{self.height - 1}" rx="12"/>\n'
            f"  {body}\n"
            "</svg>\n"
        )
