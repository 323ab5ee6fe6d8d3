"""A rule: a pattern for the start of a clause, a reader for the rest, and a template."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ricordo.formation.words import alternatives, words
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, MemoryType
from ricordo.text.normalise import folded, slug

_STRONG_STOP = re.compile(r"[.!?;:(){}\[\]\"<>|…]|\s[-–—]\s")
_DECORATION = re.compile(r"[^\w%+#'’)]+$")
_FILLER_TAIL = re.compile(rf"[,\s]+(?:{alternatives('rules', 'filler tails')})$", re.IGNORECASE)
_TIMES: Final = 4


def trimmed(text: str) -> str:
    """The text up to the first strong punctuation, without filler, smileys and signs at its end."""
    stop = _STRONG_STOP.search(text)
    kept = text[: stop.start()] if stop else text
    for _ in range(_TIMES):
        shorter = _FILLER_TAIL.sub("", _DECORATION.sub("", kept).strip())
        if shorter == kept:
            break
        kept = shorter
    return kept.strip(" ,'’")


def cut_at(text: str, words: re.Pattern[str]) -> str:
    """The text before the first match."""
    found = words.search(text)
    return text[: found.start()] if found else text


_PERSON = re.compile(rf"\b(?:{alternatives('rules', 'unresolved pronouns')})\b")
_INDONESIAN_POSSESSIVE = re.compile(r"\b\w{3,}(?:mu|nya)\b", re.IGNORECASE)
_NO_POSSESSIVE: Final = words("rules", "no possessive")


def has_pronoun(text: str) -> bool:
    """Whether it has a pronoun that another reader could not resolve."""
    without_country = re.sub(r"\b(?:US|IT)\b", "", text)
    return bool(_PERSON.search(without_country.lower()))


def has_indonesian_possessive(text: str) -> bool:
    """Whether a word ends in "your" or "its"."""
    found = (word.group().lower() for word in _INDONESIAN_POSSESSIVE.finditer(text))
    return any(word not in _NO_POSSESSIVE for word in found)


BASE_FORMS: Final = words("rules", "base forms")

PAST_FORMS: Final = words("rules", "past forms")

MODALS: Final = words("rules", "modals")

ADVERBS: Final = words("rules", "adverbs")

_ODD: Final = {"have": "has", "do": "does", "go": "goes", "am": "is", "be": "is"}


def third_person(verb: str) -> str:
    """``try`` gives ``tries``."""
    if verb in _ODD:
        return _ODD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


Thing = Callable[[str], str | None]
_MAX_SLUG_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """What a clause says about the user, without its position in the passage."""

    content: str
    type: MemoryType = MemoryType.FACT
    theme: str = "profile"
    key: str | None = None
    importance: int = DEFAULT_IMPORTANCE
    is_explicit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``begins`` matches the start of a regular clause; ``thing`` reads what follows.

    ``content`` and ``key`` are templates: ``{thing}`` is what was read and ``{slug}`` its slug;
    groups of the pattern are available by name, ``{verb}`` in the third person.
    """

    begins: re.Pattern[str]
    thing: Thing
    content: str
    key: str | None = None
    theme: str = "profile"
    importance: int = DEFAULT_IMPORTANCE
    type: MemoryType = MemoryType.FACT
    is_explicit: bool = False

    def read(self, clause: str) -> RuleMatch | None:
        begun = self.begins.match(clause)
        if begun is None:
            return None
        thing = self.thing(clause[begun.end() :].strip())
        if thing is None:
            return None
        words = _words(begun.groupdict(), thing)
        content = self.content.format_map(words)
        return RuleMatch(
            content=content[:1].upper() + content[1:],
            type=self.type,
            theme=self.theme,
            key=self.key.format_map({name: _slug(word) for name, word in words.items()})
            if self.key
            else None,
            importance=self.importance,
            is_explicit=self.is_explicit,
        )


def rule(
    begins: str,
    content: str,
    thing: Thing | None = None,
    key: str | None = None,
    theme: str = "profile",
    importance: int = DEFAULT_IMPORTANCE,
    type: MemoryType = MemoryType.FACT,
    is_explicit: bool = False,
) -> Rule:
    """Without ``thing``, the rest of the clause does not matter."""
    return Rule(
        begins=starting(begins),
        thing=thing or whatever_follows,
        content=content,
        key=key,
        theme=theme,
        importance=importance,
        type=type,
        is_explicit=is_explicit,
    )


def starting(pattern: str) -> re.Pattern[str]:
    """A pattern for the start of a clause that ends at the end of a word."""
    return re.compile(rf"(?:{pattern})(?!\w)", re.IGNORECASE)


_ASIDE = re.compile(
    r"^(?:,|(?:and|dan|since|sejak|selama|that['’]?s|so|but|because|jadi|dari kecil)\b|"
    r"with (?:an?|my|one|two|three|\d)\b|for (?:\w+ ){0,3}(?:years?|months?|decades?|ages)\b|"
    r"(?:at|in|for) (?:[A-Z]|an? ))"
)


def nothing_more(text: str) -> str | None:
    """Refuses what follows, except an aside."""
    is_filler = trimmed(f"- {text}") in ("", "-")
    return "" if is_filler or _ASIDE.match(text) else None


def whatever_follows(text: str) -> str:
    """Ignores what follows."""
    del text
    return ""


def _words(groups: Mapping[str, str | None], thing: str) -> dict[str, str]:
    words = {name: _as_shown(name, value or "") for name, value in groups.items()}
    if "verb" in words:
        words["verb"] = third_person(words["verb"])
    return words | {"thing": thing, "slug": thing}


def _as_shown(group: str, value: str) -> str:
    """In lower case unless it is a name or a faith."""
    flat = " ".join(value.split())
    if group in ("name", "faith"):
        return flat[:1].upper() + flat[1:]
    return flat.lower()


def _slug(word: str) -> str:
    return slug(folded(word))[:_MAX_SLUG_CHARS].strip("-_")
