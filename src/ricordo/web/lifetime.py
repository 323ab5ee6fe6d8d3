"""How long a memory holds, as a line with points on it; the page also lists them as text."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ricordo.model.item import Item
from ricordo.model.vocabulary import Status

_LEFT: Final = 2.0  # percent of the width, so that signs at the ends are whole
_RIGHT: Final = 98.0
_RIGHT_IF_OPEN: Final = 88.0  # what has no end goes on after the last point
_LEAST: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Point:
    """A moment, ``x`` percent across."""

    kind: str
    label: str
    at: datetime
    x: float


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From ``begins`` to ``ends`` it holds: known as far as ``known``, then expected."""

    points: tuple[Point, ...]
    begins: float
    known: float
    ends: float
    is_open: bool


def lifetime(item: Item, now: datetime) -> Lifetime:
    """The line of one memory, seen from now."""
    named = [("from", "True from", item.valid_from)]
    if item.valid_to is not None:
        named.append(("to", "True until", item.valid_to))
    named.append(("noted", "Noted", item.created_at))
    if item.expires_at is not None:
        named.append(("expires", "Expires", item.expires_at))
    if item.status is Status.DELETED and item.purge_at is not None:
        named.append(("purge", "Removed for good", item.purge_at))
    named.append(("now", "Today", now))
    first = min(at for _, _, at in named)
    span = max(max(at for _, _, at in named) - first, _LEAST)

    right = _RIGHT_IF_OPEN if item.valid_to is None else _RIGHT

    def across(moment: datetime) -> float:
        return round(_LEFT + (right - _LEFT) * ((moment - first) / span), 2)

    begins = across(item.valid_from)
    ends = 100.0 if item.valid_to is None else across(item.valid_to)
    return Lifetime(
        points=tuple(Point(kind, label, at, across(at)) for kind, label, at in named),
        begins=begins,
        known=min(max(across(now), begins), ends),
        ends=ends,
        is_open=item.valid_to is None,
    )
