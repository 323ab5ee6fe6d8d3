"""Reading the documentation: its pages, their blocks of code, headings and links."""

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = ("python", "console", "output")
"""Blocks that the test of their page runs."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what is in it, and the line where that begins."""

    language: str
    text: str
    line: int

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]


def pages() -> list[Path]:
    """Every page that readers see; the README may not be there."""
    readme = ROOT / "README.md"
    return [*([readme] if readme.exists() else []), *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start(2)) + 1)


@functools.cache
def anchors(page: Path) -> set[str]:
    """What a link may name after ``#``, as code forges make it from headings."""
    seen: Counter[str] = Counter()
    made = set()
    for heading in _HEADING.findall(_without_blocks(page)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        made.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return made


def links(page: Path) -> list[str]:
    return _LINK.findall(_INLINE_CODE.sub("", _without_blocks(page)))


def _without_blocks(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))
