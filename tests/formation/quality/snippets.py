"""The labelled snippets of the write-quality suite: what must, may and must not become memory.

One JSON object per line in ``snippets/*.jsonl``.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "snippets"
_WORDS: Final = json.loads(FOLDER.with_name("vocabulary.json").read_text(encoding="utf-8"))
LANGUAGES: Final = _WORDS["languages"]
ROLES: Final = _WORDS["roles"]
TYPES: Final = _WORDS["types"]
"""The types that formation from a conversation may give."""
ATTRIBUTES: Final = _WORDS["attributes"]
SENSITIVE: Final = _WORDS["sensitive"]
"""What needs consent before it is stored."""
KEEPING: Final = _WORDS["keeping"]
TEMPTING: Final = _WORDS["tempting"]
"""What a snippet is mainly about: things worth keeping, or things that only look like it."""


@dataclass(frozen=True)
class Turn:
    """One message of a conversation."""

    role: str
    content: str


@dataclass(frozen=True)
class Fact:
    """One thing that should, or may, be stored or proposed.

    ``explicit`` is true when the user asked to remember it or gave a standing instruction;
    ``sensitive`` names the field that asks for consent, if any.
    """

    what: str
    must_contain: tuple[str, ...]
    must_not_contain: tuple[str, ...]
    types: tuple[str, ...]
    explicit: bool
    sensitive: str | None


@dataclass(frozen=True)
class Snippet:
    """A conversation with what has to come of it.

    ``facts`` are expected, ``optional`` are allowed, everything else is wrong; the words of
    ``never`` may stand in no stored content at all.
    """

    id: str
    language: str
    category: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    optional: tuple[Fact, ...]
    nothing: bool
    never: tuple[str, ...]
    note: str

    def said(self, *roles: str) -> str:
        """The text of all turns, or of those with one of the roles."""
        return "\n".join(turn.content for turn in self.turns if not roles or turn.role in roles)


def load(folder: Path = FOLDER) -> tuple[Snippet, ...]:
    """All snippets, in the order of the files and their lines; their ids must differ."""
    snippets: dict[str, Snippet] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
            snippet = parse(line)
            assert snippet.id not in snippets
            snippets[snippet.id] = snippet
    return tuple(snippets.values())


def parse(line: str) -> Snippet:
    """One snippet from its line, which has exactly the fields of one."""
    record = json.loads(line)
    turns = tuple(Turn(**turn) for turn in record.pop("turns"))
    facts = tuple(_fact(**fact) for fact in record.pop("facts"))
    optional = tuple(_fact(**fact) for fact in record.pop("optional", []))
    never = tuple(record.pop("never"))
    return Snippet(turns=turns, facts=facts, optional=optional, never=never, **record)


def _fact(*, type: Collection[str], **given: Any) -> Fact:
    words = {name: tuple(given.pop(name)) for name in ("must_contain", "must_not_contain")}
    return Fact(types=tuple(type), **words, **given)
