"""The word lists in ``words/*.txt``.

A file has ``[section]`` lines and ``#`` comment lines. A section holds words between spaces,
phrases between commas, or the alternatives of a pattern between bars: `` | ``.
"""

from functools import cache
from importlib import resources


def words(file: str, section: str) -> frozenset[str]:
    return frozenset(_sections(file)[section].split())


def phrases(file: str, section: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in listing(file, section).split(","))


def listing(file: str, section: str) -> str:
    """The text of a section on one line."""
    return _sections(file)[section].replace("\n", " ")


def alternatives(file: str, section: str) -> str:
    """What goes into a group of a regular expression."""
    return _sections(file)[section].replace(" |\n", "|").replace(" | ", "|")


@cache
def _sections(file: str) -> dict[str, str]:
    path = resources.files("ricordo.formation").joinpath("words", f"{file}.txt")
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return {section: "\n".join(lines) for section, lines in found.items()}
