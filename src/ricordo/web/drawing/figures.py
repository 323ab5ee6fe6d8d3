"""Numbers as people read them: short on an axis, exact in a table."""

import math
from datetime import date
from typing import Final

_THOUSAND: Final = 1000
_SHORT_UNITS: Final = ("", "k", "M", "G", "T")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_DIGITS_OF_SHORT: Final = 3
_BETWEEN_THOUSANDS: Final = "\N{NARROW NO-BREAK SPACE}"


def short(value: float) -> str:
    """A number in a few characters, for an axis: 950, 1.5k, 20M."""
    size = abs(value)
    unit = 0
    # What would be rounded up to 1000 is 1 of the next unit.
    while size >= _THOUSAND - 0.5 and unit < len(_SHORT_UNITS) - 1:
        size /= _THOUSAND
        unit += 1
    if size >= _THOUSAND:  # beyond the largest unit
        return f"{value:.1e}"
    number = f"{size:.{_DIGITS_OF_SHORT}g}"
    return f"{'-' if value < 0 and float(number) else ''}{number}{_SHORT_UNITS[unit]}"


def exact(value: float | None) -> str:
    """A number for a table: whole ones in full, small fractions with one or two digits."""
    if value is None or not math.isfinite(value):
        return "–"
    digits = 0 if value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace(",", _BETWEEN_THOUSANDS)


def day_name(day: str) -> str:
    """A day in ISO form as one says it: ``3 Nov``."""
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {_MONTHS[parsed.month - 1]}"


def cut(text: str, most: int) -> str:
    """A text on one line, with at most ``most`` characters, cut between words where it can be."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    kept = line[: most - 1]
    at_word, _, rest = kept.rpartition(" ")
    # A long word at the end is cut rather than lost.
    return (at_word if at_word and len(rest) <= most // 3 else kept).rstrip(" ,;:.") + "…"
