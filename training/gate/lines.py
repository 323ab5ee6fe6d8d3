"""The written lines: a user's message with a label for each of its segments.

``{home}i live in Leeds {-}so {ask}which courier is fastest``; ``{U}`` and ``{A}`` before it are the
user's and the assistant's messages before, which have no labels. See ``README.md``.
"""

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

KEPT = [
    "name",
    "pronouns",
    "home",
    "origin",
    "job",
    "study",
    "language",
    "birthday",
    "age",
    "like",
    "dislike",
    "diet",
    "health",
    "faith",
    "sexuality",
    "politics",
    "money",
    "identifier",
    "family",
    "pet",
    "own",
    "habit",
    "plan",
    "goal",
    "event",
    "trait",
    "team",
    "rule",
    "note",
    "steps",
]
DROPPED = [
    "remember",
    "ask",
    "oneoff",
    "hypo",
    "wish",
    "unsure",
    "reported",
    "other",
    "quote",
    "fiction",
    "irony",
    "mood",
    "chat",
    "deictic",
    "past",
    "denied",
    "world",
    "claim",
    "secret",
    "inject",
]
LABELS = ("-", *KEPT, *DROPPED)
INDEX = {label: place for place, label in enumerate(LABELS)}

_TAG = re.compile(r"\{(" + "|".join(("U", "A", *LABELS)) + r")\}")
CONTEXT_CHARS = 200


@dataclass(frozen=True)
class Line:
    """A message with the labels of its characters' spans, and the two messages before it."""

    language: str
    earlier: str
    asked: str
    text: str
    spans: tuple[tuple[int, int, int], ...]

    def header(self) -> str:
        context = ("U " if self.earlier else "") + ("A " if self.asked else "")
        labels = " ".join(LABELS[label] for _, _, label in self.spans if label)
        return f"{self.language}: {context}{labels}\n"

    def tagged(self) -> str:
        context = (f"{{U}}{self.earlier} " if self.earlier else "") + (
            f"{{A}}{self.asked} " if self.asked else ""
        )
        said = "".join(
            f"{{{LABELS[label]}}}{self.text[start:end]}" for start, end, label in self.spans
        )
        return (context + said).replace("\n", "\\n")


def parse(language: str, line: str) -> Line | None:
    """One line; None if it begins with no label."""
    first, *rest = _TAG.split(line.strip().replace("\\n", "\n"))
    if first or not rest:
        return None
    context = {"U": "", "A": ""}
    text = ""
    spans = []
    for tag, said in zip(rest[::2], rest[1::2], strict=True):
        if tag in context:
            if text:
                return None
            context[tag] = said.strip()[-CONTEXT_CHARS:]
        elif said:
            spans.append((len(text), len(text) + len(said), INDEX[tag]))
            text += said
    if not text.strip():
        return None
    return Line(language, context["U"], context["A"], text, tuple(spans))


def read(folder: Path) -> list[Line]:
    """All lines of a folder of ``LANGUAGE-NN.txt`` files."""
    lines = []
    for path in sorted(folder.glob("*.txt")):
        language = path.name.split("-")[0].removeprefix("x")
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip() and (parsed := parse(language, line)):
                lines.append(parsed)
    return lines


def joined(lines: Iterable[Line]) -> Line:
    """Several messages as one long one, with the context of the first."""
    parts = list(lines)
    text, spans = "", []
    separator = random.choice([" ", "\n", " "])
    for place, part in enumerate(parts):
        if place:
            spans.append((len(text), len(text) + len(separator), 0))
            text += separator
        spans += [(start + len(text), end + len(text), label) for start, end, label in part.spans]
        text += part.text
    return Line(parts[0].language, parts[0].earlier, parts[0].asked, text, tuple(spans))


def plainer(line: Line) -> Line:
    """As it is typed in a hurry: lower case, without the stops and commas between segments."""
    text, spans = "", []
    for start, end, label in line.spans:
        said = line.text[start:end].lower()
        said = re.sub(r"[.,;:!?。，、！？]+(\s*)$", r"\1", said) or " "
        spans.append((len(text), len(text) + len(said), label))
        text += said
    return Line(line.language, line.earlier, line.asked, text, tuple(spans))


def varied(lines: list[Line], seed: int) -> Iterator[Line]:
    """Some of them plainer, some joined with others of their language."""
    chance = random.Random(seed)
    by_language: dict[str, list[Line]] = {}
    for line in lines:
        by_language.setdefault(line.language, []).append(line)
    for line in lines:
        draw = chance.random()
        if draw < 0.15:
            yield plainer(line)
        elif draw < 0.30:
            yield joined(
                [line, *chance.choices(by_language[line.language], k=chance.choice([1, 1, 2, 4]))]
            )
        else:
            yield line


# What these say holds without the words around them, unlike a quotation or a story.
_STANDS_ALONE = {
    *(label for label in KEPT if label != "remember"),
    *("ask", "mood", "chat", "past", "hypo", "wish", "unsure", "world", "other", "reported"),
    *("denied", "secret"),
}


def bare(lines: Iterable[Line], seed: int) -> Iterator[Line]:
    """Single segments as whole messages, half of them with a capital letter and a full stop."""
    chance = random.Random(seed)
    for line in lines:
        if line.asked or line.earlier or len(line.spans) < 2:
            continue
        start, end, label = chance.choice(line.spans)
        said = line.text[start:end].strip(" ,;:\n-–—")
        if LABELS[label] not in _STANDS_ALONE or len(said) < 4:
            continue
        if chance.random() < 0.5:
            stop = "。" if line.language in ("ja", "zh") else "."
            said = said[0].upper() + said[1:] + ("" if said[-1] in ".!?。！？" else stop)
        yield Line(line.language, "", "", said, ((0, len(said), label),))
