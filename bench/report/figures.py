"""What was measured, as it is kept in figures.json and read from there by every page."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.report.running import OK, Measured

FILE: Final = "figures.json"
RECALL_FLOOR: Final = 0.81
RICORDO: Final = "ricordo"


@dataclass(frozen=True, slots=True)
class Figures:
    """The whole of a report: when and on what it was made, and every section."""

    made: dict[str, Any]
    machine: dict[str, Any]
    sections: tuple[Measured, ...]

    def section(self, name: str) -> Measured | None:
        """A section by its name, however it went."""
        return next((one for one in self.sections if one["name"] == name), None)

    def result(self, name: str) -> Any:
        """What a section found; None where it failed or was not asked for."""
        found = self.section(name)
        return found["result"] if found is not None and found["status"] == OK else None

    @property
    def failed(self) -> list[Measured]:
        """The sections that did not come to their end."""
        return [one for one in self.sections if one["status"] != OK]


def write(figures: Figures, path: Path) -> None:
    """Keep everything in a file."""
    content = {
        "made": figures.made,
        "machine": figures.machine,
        "sections": figures.sections,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(content), indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def read(path: Path) -> Figures:
    """Everything that is kept in a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return Figures(content["made"], content["machine"], tuple(content["sections"]))


def _rounded(content: Any) -> Any:
    """Without the digits that mean nothing, so that the file stays readable."""
    if isinstance(content, float):
        return round(content, 5)
    if isinstance(content, dict):
        return {name: _rounded(one) for name, one in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(one) for one in content]
    return content
