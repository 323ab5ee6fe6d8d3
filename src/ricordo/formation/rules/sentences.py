"""Sentences of a passage with their places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules.screening import BLANKED

MAX_SENTENCE_CHARS: Final = 400
MAX_SENTENCES: Final = 500
_WRAPPED_LINE_CHARS: Final = 60  # a line so long without a full stop goes on in the next one

_BREAK = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[;\n]|(?<=[a-z\d])[!?]+(?=[A-Z])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:dr|mr|mrs|ms|prof|st|mt|ft|jr|sr|vs|e\.g|i\.e|approx|jl|jln|tgl|dll|dsb|"
    r"pt|cv|tbk|ir|drs|hj|bpk|sdr|[a-z]|(?:[a-z]\.)+[a-z])$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:(?:[-*•–+]|\(?\d{1,3}[.)])\s+)?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of the passage; ``ending`` is the sign that closes it, if any."""

    text: str
    start: int
    ending: str

    @property
    def end(self) -> int:
        """Where it ends in the passage, its sign not included."""
        return self.start + len(self.text)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text, over-long ones left out: they are hardly chat."""
    found = []
    for start, end, ending in _pieces(text):
        bullet = _BULLET.match(text, start, end)
        body_start = bullet.end() if bullet else start
        body = text[body_start:end].rstrip()
        if body and len(body) <= MAX_SENTENCE_CHARS:
            found.append(Sentence(body, body_start, ending))
            if len(found) == MAX_SENTENCES:
                break
    return found


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for sign in _BREAK.finditer(text):
        if sign.group() == "." and _ABBREVIATION.search(
            text[max(start, sign.start() - 12) : sign.start()]
        ):
            continue
        if sign.group() == "\n" and _goes_on(text, start, sign.start()):
            continue
        yield start, sign.start(), sign.group().strip()
        start = sign.end()
    yield start, len(text), ""


def _goes_on(text: str, start: int, line_end: int) -> bool:
    """Whether a line break only wraps a long line."""
    line_start = max(start, text.rfind("\n", start, line_end) + 1)
    following = text[line_end + 1 : line_end + 2]
    return (
        line_end - line_start >= _WRAPPED_LINE_CHARS
        and following.isalnum()
        and BLANKED not in text[line_start:line_end]
    )
