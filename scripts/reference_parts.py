"""Pieces of Markdown that the pages of docs/reference are made of."""

import inspect
import re
from collections.abc import Iterable
from typing import Final

NOTE: Final = "<!-- Written by scripts/reference.py. Change the code it reads, not this page. -->"


def page(title: str, *parts: str) -> str:
    """A whole page; parts that are empty are left out."""
    return "\n\n".join([f"# {title}", NOTE, *filter(None, parts)]) + "\n"


def text_of(docstring: str | None) -> str:
    """A docstring as Markdown: paragraphs joined, ``Raises`` as a list."""
    text = re.sub(r":\w+:`(\w+)`", r"`\1`", inspect.cleandoc(docstring or "")).replace("``", "`")
    said, _, raised = text.partition("Raises:")
    joined = [" ".join(part.split()) for part in said.split("\n\n")]
    paragraphs = [re.sub(r"^Example: (.+)$", r"Example: `\1`", part) for part in joined]
    entries = re.sub(r"\n {5,}", " ", raised).strip().splitlines()
    if entries:
        paragraphs.append("Raises:\n\n" + "\n".join(f"- {_raised(line)}" for line in entries))
    return "\n\n".join(filter(None, paragraphs))


def _raised(line: str) -> str:
    names, colon, why = line.strip().rstrip(".").partition(":")
    return re.sub(r"\w+", r"`\g<0>`", names) + colon + why


def table(headings: list[str], rows: Iterable[list[str]]) -> str:
    """Rows below headings."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
