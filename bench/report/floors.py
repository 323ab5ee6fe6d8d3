"""The floors that the project sets itself, each with what was measured and why it is missed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from bench.report.causes import cause_of
from bench.report.figures import RECALL_FLOOR, RICORDO, Figures
from bench.report.tables import amount, share

_COLD_FLOOR_MS: Final = 1_000.0
_PAGE_FLOOR_MS: Final = 150.0


@dataclass(frozen=True, slots=True)
class Floor:
    """One line of the table. ``met`` is None where less was measured than the floor is for."""

    what: str
    measured: str
    floor: str
    met: bool | None

    @property
    def cause(self) -> str:
        """Why it is missed."""
        return cause_of(self.what) if self.met is False else ""

    @property
    def verdict(self) -> str:
        """In a word."""
        return {True: "met", False: "**missed**", None: "not judged"}[self.met]


def floors(figures: Figures) -> list[Floor]:
    """All of them, in the order in which the project lists them."""
    return [
        *_recall(figures),
        *_speed(figures),
        *_cold(figures),
        *_pages(figures),
    ]


def _recall(figures: Figures) -> Iterator[Floor]:
    rungs = figures.result("recall")
    judged = not figures.made["set"]["built_in"]
    if rungs:
        found = rungs[-1]["report"]["scores"]["overall"]["recall_at_10"]
        met = found >= RECALL_FLOOR if judged else None
        yield Floor("recall@10 of turns", share(found), f"≥ {RECALL_FLOOR}", met)
    compared = figures.result("peers")
    if compared:
        reached = {
            one["system"]: one["scores"]["overall"]["recall_at_10"]
            for one in compared["standings"]
            if one["scores"] is not None
        }
        others = {name: found for name, found in reached.items() if name != RICORDO}
        if RICORDO in reached and others:
            nearest = max(others, key=lambda name: others[name])
            met = others[nearest] < reached[RICORDO] if judged else None
            told = f"{share(reached[RICORDO])}; next {nearest}, {share(others[nearest])}"
            yield Floor("every peer in the same run behind", told, "behind", met)


def _speed(figures: Figures) -> Iterator[Floor]:
    found = figures.result("speed")
    for one in found["figures"] if found else []:
        if one["floor"] is not None:
            sign = "≤" if one["better"] == "lower" else "≥"
            limit = f"{sign} {amount(one['floor'])} {one['unit']}"
            yield Floor(one["name"], f"{amount(one['value'])} {one['unit']}", limit, one["met"])


def _cold(figures: Figures) -> Iterator[Floor]:
    found = figures.result("cold")
    for one in found["commands"] if found else []:
        if one["command"] == "ricordo search":
            took = one["times"]["p50_ms"]
            what = f"ricordo search from nothing, {found['memories']:,} memories, p50"
            met = took <= _COLD_FLOOR_MS if found["memories"] >= 10_000 else None
            yield Floor(what, f"{took / 1_000:.2f} s", "≤ 1 s", met)


def _pages(figures: Figures) -> Iterator[Floor]:
    """All pages in one line: how many are over the limit, and the slowest."""
    found = figures.result("pages")
    if not found:
        return
    slowest: dict[str, Any] = max(found["pages"], key=lambda one: one["times"]["p95_ms"])
    over = [one for one in found["pages"] if one["times"]["p95_ms"] > _PAGE_FLOOR_MS]
    what = f"the slowest of {len(found['pages'])} pages ({slowest['page']}), p95"
    met = not over if found["memories"] >= 100_000 else None
    told = f"{amount(slowest['times']['p95_ms'])} ms; {len(over)} over the limit"
    yield Floor(what, told, f"≤ {amount(_PAGE_FLOOR_MS)} ms", met)
