"""The prompts in ``prompts/*.md``, each with its version in its name."""

import functools
from importlib import resources
from string import Template
from typing import Final

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
