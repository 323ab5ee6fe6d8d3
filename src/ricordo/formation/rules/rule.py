"""A rule: a pattern for the start of a clause, a reader for the rest, and a template."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ricordo.formation.words import alternatives, phrases, words
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, MemoryType
from ricordo.text.normalise import folded, slug

_STRONG_STOP = re.compile(r"[.!?;:(){}\[\]\"<>|…]|\s[-–—]\s")
_DECORATION = re.compile(r"[^\w%+#'’)]+$")
_FILLER_TAIL = re.compile(rf"[,\s]+(?:{alternatives('rules', 'filler tails')})$", re.IGNORECASE)
_TIMES: Final = 4

_PERSON = re.compile(rf"\b(?:{alternatives('rules', 'unresolved pronouns')})\b")
_INDONESIAN_POSSESSIVE = re.compile(r"\b\w{3,}(?:mu|nya)\b", re.IGNORECASE)
_NO_POSSESSIVE: Final = words("rules", "no possessive")

BASE_FORMS: Final = words("rules", "base forms")
PAST_FORMS: Final = words("rules", "past forms")
MODALS: Final = words("rules", "modals")
ADVERBS: Final = words("rules", "adverbs")

_ODD: Final = {"have": "has", "do": "does", "go": "goes", "am": "is", "be": "is"}

Reader = Callable[[str], str | None]
"""Reads the rest of a clause; None if it is not what the rule is about."""
_MAX_SLUG_CHARS: Final = 60

_ASIDE = re.compile(
    r"^(?:,|(?:and|dan|since|sejak|selama|that['’]?s|so|but|because|jadi|dari kecil)\b|"
    r"with (?:an?|my|one|two|three|\d)\b|for (?:\w+ ){0,3}(?:years?|months?|decades?|ages)\b|"
    r"(?:at|in|for) (?:[A-Z]|an? ))"
)

OCCUPATIONS: Final = words("rules", "occupations")
INDONESIAN_OCCUPATIONS: Final = words("rules", "indonesian occupations")
FIELDS_OF_WORK: Final = phrases("rules", "fields of work")
LANGUAGES: Final = words("rules", "languages")
INDONESIAN_LANGUAGES: Final = words("rules", "indonesian languages")
DEMONYMS: Final = LANGUAGES | words("rules", "demonyms")
RELATIONS: Final = words("rules", "relations")
INDONESIAN_RELATIONS: Final = words("rules", "indonesian relations")
PETS: Final = words("rules", "pets")
INDONESIAN_PETS: Final = words("rules", "indonesian pets")
INDONESIAN_BELONGINGS: Final = words("rules", "indonesian belongings")
INDONESIAN_MAKES: Final = words("rules", "indonesian makes")
CHILDREN: Final = words("rules", "children")
SIBLINGS: Final = words("rules", "siblings")
NUMBER_WORDS: Final = words("rules", "number words")
INDONESIAN_NUMBER_WORDS: Final = words("rules", "indonesian number words")
CONDITIONS: Final = phrases("rules", "conditions")
DIETS: Final = words("rules", "diets")
FOODS_NOT_EATEN: Final = words("rules", "foods not eaten")
ALLERGENS: Final = (FOODS_NOT_EATEN - {"red", "spicy", "pedas"}) | words("rules", "allergens")
BELONGINGS: Final = phrases("rules", "belongings")
RELIGIONS: Final = words("rules", "religions")
SPORTS_AND_INSTRUMENTS: Final = words("rules", "sports and instruments")
BUSINESSES: Final = words("rules", "businesses")
KNOWN_PLACES: Final = phrases("rules", "known places")
WRITTEN_IN_CAPITALS: Final = frozenset({"uk", "us", "usa", "uae", "nyc", "la", "sf", "dc"})
NOT_PLACES: Final = phrases("rules", "not places")
PARTS_OF_COMPANIES: Final = words("rules", "parts of companies")
NOT_WHERE_ONE_LIVES: Final = words("rules", "not where one lives")
NOT_WHERE_ONE_LIVES_INDONESIAN: Final = words("rules", "not where one lives indonesian")


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


def phrase(text: str, end: re.Pattern[str], most: int, least: int = 1) -> str | None:
    """The text before ``end``, trimmed; None if it has too many or too few words, or a pronoun."""
    bare = trimmed(cut_at(text, end))
    return bare if least <= len(bare.split()) <= most and not has_pronoun(bare) else None


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def any_of(words: frozenset[str]) -> str:
    """The words as alternatives of a pattern, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def has_pronoun(text: str) -> bool:
    """Whether it has a pronoun that another reader could not resolve."""
    return bool(_PERSON.search(without_acronyms(text).lower()))


def without_acronyms(text: str) -> str:
    """Without those that look like pronouns."""
    return re.sub(r"\b(?:US|IT)\b", "", text)


def has_indonesian_possessive(text: str) -> bool:
    """Whether a word ends in "your" or "its"."""
    found = (word.group().lower() for word in _INDONESIAN_POSSESSIVE.finditer(text))
    return any(word not in _NO_POSSESSIVE for word in found)


def third_person(verb: str) -> str:
    """``try`` gives ``tries``."""
    if verb in _ODD:
        return _ODD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


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
    """``begins`` matches the start of a regular clause; ``reader`` reads what follows.

    ``content`` and ``key`` are templates: ``{thing}`` is what was read and ``{slug}`` its slug;
    groups of the pattern are available by name, ``{verb}`` in the third person.
    """

    begins: re.Pattern[str]
    reader: Reader
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
        thing = self.reader(clause[begun.end() :].strip())
        if thing is None:
            return None
        words = {name: _as_shown(name, value or "") for name, value in begun.groupdict().items()}
        if "verb" in words:
            words["verb"] = third_person(words["verb"])
        words |= {"thing": thing, "slug": thing}
        slugs = {name: short_slug(word) for name, word in words.items()}
        return RuleMatch(
            content=capitalised(self.content.format_map(words)),
            type=self.type,
            theme=self.theme,
            key=self.key.format_map(slugs) if self.key else None,
            importance=self.importance,
            is_explicit=self.is_explicit,
        )


def rule(
    begins: str,
    content: str,
    reader: Reader | None = None,
    key: str | None = None,
    theme: str = "profile",
    importance: int = DEFAULT_IMPORTANCE,
    type: MemoryType = MemoryType.FACT,
    is_explicit: bool = False,
) -> Rule:
    """A rule; without a reader, the rest of the clause does not matter."""
    return Rule(
        begins=re.compile(rf"(?:{begins})(?!\w)", re.IGNORECASE),
        reader=reader or whatever_follows,
        content=content,
        key=key,
        theme=theme,
        importance=importance,
        type=type,
        is_explicit=is_explicit,
    )


def nothing_more(text: str) -> str | None:
    """Refuses what follows, except an aside."""
    is_filler = trimmed(f"- {text}") in ("", "-")
    return "" if is_filler or _ASIDE.match(text) else None


def whatever_follows(text: str) -> str:
    """Ignores what follows."""
    del text
    return ""


def _as_shown(group: str, value: str) -> str:
    """In lower case unless it is a name or a faith."""
    flat = " ".join(value.split())
    return capitalised(flat) if group in ("name", "faith") else flat.lower()


def short_slug(word: str) -> str:
    return slug(folded(word))[:_MAX_SLUG_CHARS].strip("-_")
