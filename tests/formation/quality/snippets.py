"""The labelled snippets of the write-quality suite: what must, may and must not become memory.

One JSON object per line in ``snippets/*.jsonl``. The labels are only worth something when they
are right, so the loader refuses anything that it does not know instead of passing over it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.formation.quality.vocabulary import (
    ATTRIBUTES,
    KEEPING,
    LANGUAGES,
    ROLES,
    SENSITIVE,
    TEMPTING,
    TYPES,
)

FOLDER: Final = Path(__file__).parent / "snippets"
_SNIPPET_FIELDS: Final = frozenset(
    {"id", "language", "category", "turns", "facts", "optional", "nothing", "never", "note"}
)
_FACT_FIELDS: Final = frozenset(
    {"what", "must_contain", "must_not_contain", "type", "explicit", "sensitive"}
)
_TURN_FIELDS: Final = frozenset({"role", "content"})


class BadSnippet(ValueError):
    """A line of the data does not have the format; the message says where and why."""


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
    """All snippets, in the order of the files and their lines.

    Raises:
        BadSnippet: a line does not have the format, or an id occurs twice.
    """
    snippets: dict[str, Snippet] = {}
    for path in sorted(folder.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for number, line in enumerate(lines, start=1):
            where = f"{path.name}:{number}"
            snippet = parse(line, where)
            if snippet.id in snippets:
                raise BadSnippet(f"{where}: the id {snippet.id!r} occurs twice")
            snippets[snippet.id] = snippet
    return tuple(snippets.values())


def parse(line: str, where: str = "line") -> Snippet:
    """One snippet from its line.

    Raises:
        BadSnippet: the line is not JSON, or has a wrong, missing or unknown field.
    """
    try:
        record = json.loads(line, object_pairs_hook=_without_repeats)
        snippet = _snippet(_fields(record, _SNIPPET_FIELDS, optional=frozenset({"optional"})))
        _check_sense(snippet)
    except ValueError as problem:
        raise BadSnippet(f"{where}: {problem}") from None
    return snippet


def _snippet(record: dict[str, object]) -> Snippet:
    language = _one_of("language", record["language"], LANGUAGES)
    category = _one_of("category", record["category"], (*KEEPING, *TEMPTING))
    identity = _text("id", record["id"])
    if not re.fullmatch(rf"{language}-{category.replace('_', '-')}-\d\d", identity):
        raise ValueError(f"id: {identity!r} is not language-category-NN")
    return Snippet(
        id=identity,
        language=language,
        category=category,
        turns=tuple(_turn(entry) for entry in _list("turns", record["turns"])),
        facts=tuple(_fact(entry) for entry in _list("facts", record["facts"])),
        optional=tuple(_fact(entry) for entry in _list("optional", record.get("optional", []))),
        nothing=_flag("nothing", record["nothing"]),
        never=_texts("never", record["never"]),
        note=_text("note", record["note"]),
    )


def _turn(value: object) -> Turn:
    record = _fields(value, _TURN_FIELDS)
    return Turn(_one_of("role", record["role"], ROLES), _text("content", record["content"]))


def _fact(value: object) -> Fact:
    record = _fields(value, _FACT_FIELDS)
    types = tuple(_one_of("type", entry, TYPES) for entry in _list("type", record["type"]))
    sensitive = record["sensitive"]
    fact = Fact(
        what=_one_of("what", record["what"], ATTRIBUTES),
        must_contain=_texts("must_contain", record["must_contain"]),
        must_not_contain=_texts("must_not_contain", record["must_not_contain"], padded=True),
        types=types,
        explicit=_flag("explicit", record["explicit"]),
        sensitive=None if sensitive is None else _one_of("sensitive", sensitive, SENSITIVE),
    )
    if not types or not fact.must_contain:
        raise ValueError(f"{fact.what}: type and must_contain need at least one entry")
    return fact


def _check_sense(snippet: Snippet) -> None:
    """Labels that contradict each other or the conversation could never be met."""
    if not any(turn.role == "user" for turn in snippet.turns):
        raise ValueError("turns: the user says nothing")
    if snippet.nothing == bool(snippet.facts or snippet.optional):
        raise ValueError("nothing: true exactly when there are no facts, not even optional ones")
    by_user, by_anyone = snippet.said("user").casefold(), snippet.said().casefold()
    for word in snippet.never:
        if word.casefold() not in by_anyone:
            raise ValueError(f"never: {word!r} does not occur in the conversation")
    for fact in (*snippet.facts, *snippet.optional):
        wanted = [word.casefold() for word in fact.must_contain]
        for refused in (*fact.must_not_contain, *snippet.never):
            if any(refused.casefold() in word for word in wanted):
                raise ValueError(f"{fact.what}: {refused!r} is both wanted and refused")
        # An optional fact may be put in words of its own ("not" for "don't"), but not wholly.
        unsaid = [word for word in wanted if word not in by_user]
        if unsaid and (fact in snippet.facts or len(unsaid) == len(wanted)):
            raise ValueError(f"{fact.what}: the user did not say {', '.join(unsaid)}")


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a field is given twice")
    return record


def _fields(
    value: object, known: frozenset[str], optional: frozenset[str] = frozenset()
) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type(value).__name__}")
    given = set(value)
    if given - known or known - optional - given:
        unknown, missing = sorted(given - known), sorted(known - optional - given)
        raise ValueError(f"unknown fields {unknown}, missing fields {missing}")
    return value


def _list(field: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{field}: expected a list, got {type(value).__name__}")
    return value


def _text(field: str, value: object, *, padded: bool = False) -> str:
    """A text that is not blank; only ``padded`` ones may mark the edge of a word with a space."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{field}: expected a text, got {value!r}")
    if not padded and value != value.strip():
        raise ValueError(f"{field}: {value!r} has space at an end")
    return value


def _texts(field: str, value: object, *, padded: bool = False) -> tuple[str, ...]:
    entries = tuple(_text(field, entry, padded=padded) for entry in _list(field, value))
    if len(set(entries)) != len(entries):
        raise ValueError(f"{field}: an entry occurs twice")
    return entries


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{field}: expected true or false, got {value!r}")
    return value


def _one_of(field: str, value: object, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{field}: {value!r} is not one of: {', '.join(allowed)}")
    return value
