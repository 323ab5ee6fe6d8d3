"""One rule: how a statement begins, what it is about, and what is remembered of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ricordo.formation.rules.english_verbs import third_person
from ricordo.formation.rules.trimming import trimmed
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, MemoryType
from ricordo.text.normalise import folded, slug

Thing = Callable[[str], str | None]
_MAX_SLUG_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Statement:
    """What a clause says about the user, before it is tied to the passage."""

    content: str
    type: MemoryType = MemoryType.FACT
    theme: str = "profile"
    key: str | None = None
    importance: int = DEFAULT_IMPORTANCE
    is_explicit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``begins`` matches from the start of a regular clause; ``thing`` reads what follows it.

    ``content`` and ``key`` are templates: ``{thing}`` is what was read and ``{slug}`` its short
    form; groups of the pattern stand under their names, ``{verb}`` in the third person.
    """

    begins: re.Pattern[str]
    thing: Thing
    content: str
    key: str | None = None
    theme: str = "profile"
    importance: int = DEFAULT_IMPORTANCE
    type: MemoryType = MemoryType.FACT
    is_explicit: bool = False

    def read(self, clause: str) -> Statement | None:
        """What the clause states by this rule, or None."""
        begun = self.begins.match(clause)
        if begun is None:
            return None
        thing = self.thing(clause[begun.end() :].strip())
        if thing is None:
            return None
        words = _words(begun.groupdict(), thing)
        content = self.content.format_map(words)
        return Statement(
            content=content[:1].upper() + content[1:],
            type=self.type,
            theme=self.theme,
            key=self.key.format_map({name: _slug(word) for name, word in words.items()})
            if self.key
            else None,
            importance=self.importance,
            is_explicit=self.is_explicit,
        )


def starting(pattern: str) -> re.Pattern[str]:
    """A pattern for the start of a clause, ending where a word ends."""
    return re.compile(rf"(?:{pattern})(?!\w)", re.IGNORECASE)


_ASIDE = re.compile(
    r"^(?:,|(?:and|dan|since|sejak|selama|that['’]?s|so|but|because|jadi|dari kecil)\b|"
    r"with (?:an?|my|one|two|three|\d)\b|"
    r"for (?:\w+ ){0,3}(?:years?|months?|decades?|ages)\b|(?:at|in|for) (?:[A-Z]|an? ))",
)


def nothing_more(text: str) -> str | None:
    """Refuses what follows, except an aside."""
    is_filler = trimmed(f"- {text}") in ("", "-")
    return "" if is_filler or _ASIDE.match(text) else None


def whatever_follows(text: str) -> str:
    """Takes what follows as no part of the statement: the beginning alone makes it."""
    del text
    return ""


def _words(groups: Mapping[str, str | None], thing: str) -> dict[str, str]:
    words = {name: _as_shown(name, value or "") for name, value in groups.items()}
    if "verb" in words:
        words["verb"] = third_person(words["verb"])
    return words | {"thing": thing, "slug": thing}


def _as_shown(group: str, value: str) -> str:
    """What a pattern caught, in small letters unless it is a name or a faith."""
    flat = " ".join(value.split())
    if group in ("name", "faith"):
        return flat[:1].upper() + flat[1:]
    return flat.lower()


def _slug(word: str) -> str:
    return slug(folded(word))[:_MAX_SLUG_CHARS].strip("-_")
