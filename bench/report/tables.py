"""Numbers and tables as Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [_line(headings), _line(["---"] * len(headings))]
    return "\n".join([*lines, *(_line(row) for row in rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def share(value: float | None) -> str:
    """A share of one, with three places."""
    return "" if value is None else f"{value:.3f}"


def amount(value: float) -> str:
    """A number with as many places as mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ms(value: float) -> str:
    """Milliseconds."""
    return f"{amount(value)} ms"


def both(times: dict[str, Any]) -> str:
    """The middle and the slow end of some times."""
    return f"{amount(times['p50_ms'])} / {amount(times['p95_ms'])} ms"


def optional(value: float | None, unit: str = "") -> str:
    """A number that may be missing."""
    return "" if value is None else f"{amount(value)}{unit}"


def best(values: Sequence[float], *, lowest: bool = False) -> float:
    """The best of some values."""
    return min(values) if lowest else max(values)
