"""The page of a report, made from its figures alone."""

from collections.abc import Callable
from typing import Final

from bench.report import finding, languages, times
from bench.report.figures import FILE, Figures
from bench.report.plots import picture_of
from bench.report.running import OK, Measured
from bench.report.tables import table

_CHAPTERS: Final[dict[str, Callable[[Figures], str]]] = {
    "recall": finding.recall,
    "recall-postgres": finding.recall_on_postgresql,
    "languages": languages.chapter,
    "peers": finding.peers,
    "speed": times.speed,
    "growth": times.growth,
    "load": times.load,
    "proxy": times.proxy,
    "pages": times.pages,
    "cold": times.cold,
    "formation": finding.formation,
    "conversation": times.conversation,
    "year": times.year,
    "backup": times.backup,
    "hooks": times.hooks,
}


def page(figures: Figures) -> str:
    """All of it, as Markdown."""
    parts = [
        "# Measured",
        f"`{figures.made['command']}` made this page and its pictures from"
        f" [{FILE}]({FILE}), which has every number. What is measured and how:"
        " [Measure](../howto/measure.md).",
        _made(figures),
        *_summary(figures),
        *(_chapter(figures, one) for one in figures.sections),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _made(figures: Figures) -> str:
    machine, made = figures.machine, figures.made
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    rows = [
        ["date", made["date"]],
        ["commit", made["commit"]],
        ["ricordo", machine["ricordo"]],
        ["sizes", made["sizes"]],
        ["took", f"{made['seconds'] / 60:.1f} minutes"],
        ["processor", f"{machine['processor']}, {machine['cores']} cores"],
        ["memory", f"{machine['memory_gb']} GB"],
        ["disk", machine["disk"]],
        ["system", machine["system"]],
        ["Python; SQLite; PostgreSQL", "; ".join(machine[x] for x in _PROGRAMS)],
        ["packages", packages],
    ]
    return table(["", ""], rows)


_PROGRAMS: Final = ("python", "sqlite", "postgresql")


def _summary(figures: Figures) -> list[str]:
    told = ["## In short"]
    if figures.failed:
        lines = [f"- {one['title']}: {one['problem']}" for one in figures.failed]
        told.append("**These sections failed:**\n\n" + "\n".join(lines))
    if figures.made["sizes"] != "full":
        told.append("Less was measured than the floors are for, so most of them are not judged.")
    told += [times.missed(figures), times.floors_table(figures)]
    return told


def _chapter(figures: Figures, section: Measured) -> str:
    load = "" if section["load"] is None else f", load {section['load']:.1f} before"
    told = [
        f"## {section['title']}",
        f"```text\n{section['command']}\n```",
        f"Took {section['seconds']:.0f} s{load}.{_anew(section)}",
    ]
    if section["status"] != OK:
        told.append(f"**Failed:** {section['problem']}")
        return "\n\n".join(told)
    picture = picture_of(section["name"])
    if picture is not None:
        told.append(f"![{section['title']}, as a chart of the numbers below]({picture})")
    told.append(_CHAPTERS[section["name"]](figures))
    return "\n\n".join(told)


def _anew(section: Measured) -> str:
    made = section.get("made")
    if made is None:
        return ""
    on = f" on {made['machine']['processor']}" if "machine" in made else ""
    return f" Measured anew{on}: {made['date']}, commit {made['commit']}."
