"""The prompts in ``prompts/*.md`` and the word lists and patterns in ``words/*.txt``."""

import functools
import re
from functools import cache
from importlib import resources
from string import Template
from typing import Final

from ricordo.text.normalise import lazy_pattern

_TITLE: Final = re.compile(r"\[([a-z][\w ]*)\]")
_REFERENCE: Final = re.compile(r"\{([a-z][\w ]*)\}")


def words(file: str, section: str) -> frozenset[str]:
    return frozenset(_sections(file)[section].split())


def phrases(file: str, section: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in listing(file, section).split(","))


def lines(file: str, section: str) -> list[str]:
    return _sections(file)[section].splitlines()


def listing(file: str, section: str) -> str:
    """The text of a section on one line."""
    return _sections(file)[section].replace("\n", " ")


def alternatives(file: str, section: str) -> str:
    """What goes into a group of a regular expression."""
    text = _sections(file)[section].replace(" |\n", "|").replace(" | ", "|")
    return _REFERENCE.sub(lambda found: alternatives(file, found[1]), text)


def pattern(file: str, section: str, flags: int = 0) -> re.Pattern[str]:
    """A section as a pattern that is compiled on first use."""
    return lazy_pattern(alternatives(file, section), flags)


def patterns(file: str, start: str, flags: int = 0) -> dict[str, re.Pattern[str]]:
    """Those of all sections whose titles begin so, in order."""
    return {
        title: pattern(file, title, flags) for title in _sections(file) if title.startswith(start)
    }


@cache
def _sections(file: str) -> dict[str, str]:
    path = resources.files("ricordo.formation").joinpath("words", f"{file}.txt")
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if title := _TITLE.fullmatch(line):
            lines = found.setdefault(title[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return {section: "\n".join(lines) for section, lines in found.items()}


EXTRACT: Final = "extract.v2"
JUDGE: Final = "judge.v1"
SUMMARISE: Final = "summarise.v1"
INSIGHTS: Final = "insights.v1"
COMPACT: Final = "compact.v1"
WORK: Final = "work.v1"
PROMPTS: Final = ("extract.v1", EXTRACT, JUDGE, SUMMARISE, INSIGHTS, COMPACT, WORK)


def render(name: str, **values: object) -> str:
    """A prompt with its values filled in. Raises KeyError: a value is missing."""
    return _template(name).substitute(values)


@functools.cache
def _template(name: str) -> Template:
    file = resources.files("ricordo.formation").joinpath("prompts", f"{name}.md")
    return Template(file.read_text(encoding="utf-8"))
