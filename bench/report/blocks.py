"""The figures in other pages: what stands between ``<!-- figures: NAME -->`` and
``<!-- /figures -->`` is made from the figures of a report, never by hand."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.report import finding, languages, times
from bench.report.figures import Figures
from bench.report.floors import floors
from bench.report.outcomes import outcomes
from bench.report.running import ROOT
from bench.report.sections import Sizes
from bench.report.tables import both, table

PAGES: Final = (ROOT / "README.md", ROOT / "docs" / "howto" / "measure.md")
_BLOCK: Final = re.compile(r"(<!-- figures: ([a-z-]+) -->\n)(.*?)(\n<!-- /figures -->)", re.DOTALL)


def filled(text: str, figures: Figures) -> str:
    """A page with every block made anew.

    Raises:
        KeyError: a block has a name that does not exist.
    """

    def anew(found: re.Match[str]) -> str:
        section, block = _BLOCKS[found[2]]
        made = block(figures) if figures.result(section) else _absent(figures, section)
        return f"{found[1]}\n{made}\n{found[4]}"

    return _BLOCK.sub(anew, text)


def fill(page: Path, figures: Figures) -> bool:
    """Make the blocks of a page anew; whether anything changed."""
    before = page.read_text(encoding="utf-8")
    after = filled(before, figures)
    page.write_text(after, encoding="utf-8")
    return after != before


def names(text: str) -> list[str]:
    """The names of the blocks of a page."""
    return [found[2] for found in _BLOCK.finditer(text)]


def _absent(figures: Figures, section: str) -> str:
    found = figures.section(section)
    why = "it was left out" if found is None else found["problem"]
    return f"Not measured: {why}"


def _with_command(section: str, body: Callable[[Figures], str]) -> Callable[[Figures], str]:
    def block(figures: Figures) -> str:
        found = figures.section(section)
        assert found is not None
        made = found.get("made", {})
        on = made["date"].split(" ")[0] if made else ""
        on += f", {made['machine']['processor']}" if "machine" in made else ""
        when = f" ({on})" if on else ""
        return f"`{found['command'].replace(' --json', '')}`{when}:\n\n{body(figures)}"

    return block


def _where(figures: Figures) -> str:
    """Where and when, in a sentence, before the first of the tables."""
    recall = figures.section("recall")
    anew = {} if recall is None else recall.get("made", {})
    machine, made = anew.get("machine", figures.machine), {**figures.made, **anew}
    when = made["date"].split(" ")[0]
    look = "" if made["sizes"] == Sizes.FULL else "A quick look at little data. "
    return (
        f"{look}Measured on {when} on {machine['cores']} cores ({machine['processor']}),"
        f" {machine['memory_gb']:.0f} GB, Python {machine['python']}, SQLite {machine['sqlite']}."
    )


def _recall(figures: Figures) -> str:
    same = finding.same_on_postgresql(figures)
    words = " ".join(part for part in (_where(figures), finding.which_set(figures), same) if part)
    return f"{words} {_with_command('recall', finding.ladder)(figures)}"


def _floors(figures: Figures) -> str:
    verdicts = {True: "", False: ", **missed**", None: ", not judged"}
    rows = [[one.what, one.measured, one.floor + verdicts[one.met]] for one in floors(figures)]
    return f"{times.missed(figures)}\n\n{table(['what', 'measured', 'floor'], rows)}"


def _service(figures: Figures) -> str:
    told = [times.load_words(figures), _with_command("load", times.load_table)(figures)]
    found = figures.result("proxy")
    if found:
        rows = {one["name"]: one for one in found["rows"]}
        added = [
            [
                f"the proxy: {name}, p50 / p95",
                both(rows[name]["alone"]),
                both(rows[name]["proxied"]),
            ]
            for name in (
                "anonymous",
                "with memory",
                "first streamed byte",
                "first streamed byte, read once",
            )
            if name in rows
        ]
        shown = table(["what", "the model alone", "through the proxy"], added)
        told.append(_with_command("proxy", lambda _: shown)(figures))
    return "\n\n".join(told)


_BLOCKS: Final[dict[str, tuple[str, Callable[[Figures], str]]]] = {
    "outcomes": ("recall", outcomes),
    "recall": ("recall", _recall),
    "languages": ("languages", _with_command("languages", languages.tables)),
    "peers": ("peers", _with_command("peers", finding.peers_table)),
    "speed": ("speed", _with_command("speed", _floors)),
    "service": ("load", _service),
    "formation": ("formation", _with_command("formation", finding.formation_table)),
    "growth": ("growth", _with_command("growth", times.growth)),
    "pages": ("pages", _with_command("pages", times.pages_table)),
    "cold": ("cold", _with_command("cold", times.cold_table)),
    "formation-languages": ("formation", _with_command("formation", finding.formation)),
    "peers-notes": ("peers", _with_command("peers", finding.peers)),
}
"""For each name the section that it is of, and how it is made."""
