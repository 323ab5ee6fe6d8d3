"""The pictures of the report: on white, so that they can be read on light and dark pages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bench.report.figures import RICORDO, Figures

_INK, _PALE, _GRID = "#1f4e79", "#b0562b", "#d9d9d9"
_QUIET: Final = "#8aa5bf"
_SIZE: Final = (7.2, 3.8)
_DPI: Final = 100

Draw = Callable[[Any, Figures], None]


def draw_all(figures: Figures, folder: Path) -> list[str]:
    """Write every picture whose section was measured; the names of those that were."""
    return [
        name for name, section, draw in _PICTURES if _drawn(figures, folder, name, section, draw)
    ]


def picture_of(section: str) -> str | None:
    """The name of the picture of a section, if it has one."""
    return next((name for name, one, _ in _PICTURES if one == section), None)


def _drawn(figures: Figures, folder: Path, name: str, section: str, draw: Draw) -> bool:
    if not figures.result(section):
        return False
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=_SIZE, layout="constrained", facecolor="white")
    draw(axes, figures)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    figure.savefig(folder / name, dpi=_DPI, metadata={"Software": None})
    pyplot.close(figure)
    return True


def _ladder(axes: Any, figures: Figures) -> None:
    rungs = figures.result("recall")
    steps = [
        rung["step"] if number == 0 else f"+ {rung['step']}" for number, rung in enumerate(rungs)
    ]
    for name, colour, label in (
        ("recall_at_10", _INK, "recall@10"),
        ("mrr", _PALE, "MRR"),
        ("recall_at_1", _QUIET, "recall@1"),
    ):
        shares = [rung["report"]["scores"]["overall"][name] for rung in rungs]
        axes.plot(steps, shares, color=colour, marker="o", label=label)
        for step, value in zip(steps, shares, strict=True):
            axes.annotate(
                f"{value:.2f}", (step, value), (0, 6), textcoords="offset points", ha="center"
            )
    axes.set(ylim=(0, 1.1), title="What each step of the ranking adds")
    axes.grid(axis="y", color=_GRID, linewidth=0.6)
    axes.legend(frameon=False, loc="lower right", ncols=3)


def _peers(axes: Any, figures: Figures) -> None:
    ran = [one for one in figures.result("peers")["standings"] if one["scores"] is not None]
    ran.sort(key=lambda one: one["scores"]["overall"]["recall_at_10"])
    names = [one["system"] for one in ran]
    shares = [one["scores"]["overall"]["recall_at_10"] for one in ran]
    colours = [_INK if name == RICORDO else _QUIET for name in names]
    bars = axes.barh(names, shares, color=colours)
    axes.bar_label(bars, [f" {value:.3f}" for value in shares])
    axes.set(xlim=(0, 1), xlabel="recall@10", title="Recall by system, same turns, same vectors")
    axes.grid(axis="x", color=_GRID, linewidth=0.6)


def _growth(axes: Any, figures: Figures) -> None:
    points = [
        one for one in figures.result("growth")["points"] if one["system"].startswith("ricordo")
    ]
    sizes = [one["memories"] for one in points]
    for name, colour, style in (("p50_ms", _INK, "-"), ("p95_ms", _INK, "--")):
        times = [one["searching"][name] for one in points]
        label = f"search, {name[:3]} (ms)"
        axes.plot(sizes, times, color=colour, marker="o", linestyle=style, label=label)
    for name, colour, label in (
        ("megabytes", _PALE, "on disk (MB)"),
        ("resident_mb", _QUIET, "resident (MB)"),
    ):
        if all(one[name] for one in points):
            axes.plot(sizes, [one[name] for one in points], color=colour, marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="memories of one user", title="Growth")
    axes.set_xticks(sizes)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1_000:g}k")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.minorticks_off()
    axes.grid(color=_GRID, linewidth=0.6)
    axes.legend(frameon=False)


def _latency(axes: Any, figures: Figures) -> None:
    """The middle and the slow end of searches, store by store."""
    found = {one["name"]: one["value"] for one in figures.result("speed")["figures"]}
    names = [
        name.removesuffix(", p50")
        for name in found
        if name.startswith("search") and name.endswith(", p50")
    ]
    places = range(len(names))
    for shift, end, colour in ((-0.2, "p50", _INK), (0.2, "p95", _QUIET)):
        times = [found[f"{name}, {end}"] for name in names]
        bars = axes.barh([place + shift for place in places], times, 0.38, color=colour, label=end)
        axes.bar_label(bars, [f" {value:.1f}" for value in times])
    axes.set_yticks(list(places), [name.removeprefix("search").lstrip(", ") for name in names])
    axes.invert_yaxis()
    axes.set(xlabel="ms, without embedding the question", title="Search")
    axes.margins(x=0.12)
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.legend(frameon=False, loc="lower right")


def _load(axes: Any, figures: Figures) -> None:
    found = figures.result("load")
    bars = [
        (f"{one['database']}: {kind}, {one['requests_per_second']:.0f} requests/s", one[kind])
        for one in found["databases"]
        for kind in ("search", "add")
    ]
    for shift, end, colour in ((-0.25, "p50", _INK), (0.0, "p95", _QUIET), (0.25, "p99", _PALE)):
        places = [number + shift for number in range(len(bars))]
        drawn = axes.barh(
            places, [one[f"{end}_ms"] for _, one in bars], 0.24, color=colour, label=end
        )
        axes.bar_label(drawn, [f" {one[f'{end}_ms']:,.0f}" for _, one in bars])
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.invert_yaxis()
    axes.set(xlabel="ms", title=f"The service with {found['clients']} clients at once")
    axes.margins(x=0.12)
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.legend(frameon=False, loc="lower right")


def _tokens(axes: Any, figures: Figures) -> None:
    points = figures.result("conversation")["points"]
    turns = [one["turns"] for one in points]
    of_all = [one["tokens_of_all"] for one in points]
    axes.plot(turns, of_all, color=_PALE, linestyle="--", label="with all turns")
    axes.plot(turns, [one["tokens"] for one in points], color=_INK, label="with compaction")
    axes.set(yscale="log", xlabel="turns of the conversation", ylabel="tokens of a request")
    axes.set_title("What a request costs as a conversation gets longer")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()
    axes.grid(color=_GRID, linewidth=0.6)
    axes.legend(frameon=False)


_PICTURES: Final[tuple[tuple[str, str, Draw], ...]] = (
    ("ladder.png", "recall", _ladder),
    ("peers.png", "peers", _peers),
    ("latency.png", "speed", _latency),
    ("growth.png", "growth", _growth),
    ("load.png", "load", _load),
    ("tokens.png", "conversation", _tokens),
)


def pictures() -> Iterator[str]:
    """The names of all pictures that there can be."""
    return (name for name, _, _ in _PICTURES)
