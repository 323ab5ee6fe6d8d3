"""What a chart shows, in a sentence."""

from collections.abc import Sequence

from ricordo.web.drawing.figures import day_name, exact


def about_sums(title: str, days: Sequence[str], sums: Sequence[float], unit: str) -> str:
    """How many there were in all, and on which day the most."""
    highest = max(sums)
    best = day_name(days[sums.index(highest)])
    return (
        f"{title}, {_span(days)}: {exact(sum(sums))} {unit} in all, "
        f"the most on {best} with {exact(highest)}."
    )


def about_lines(
    title: str,
    days: Sequence[str],
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    unit: str,
) -> str:
    """Between which values each line lies."""
    parts = []
    for name, one in zip(names, values, strict=True):
        known = [value for value in one if value is not None]
        if known:
            parts.append(f"{name} between {exact(min(known))} and {exact(max(known))} {unit}")
    return f"{title}, {_span(days)}: {'; '.join(parts)}."


def _span(days: Sequence[str]) -> str:
    if len(days) == 1:
        return day_name(days[0])
    return f"{day_name(days[0])} to {day_name(days[-1])}"
