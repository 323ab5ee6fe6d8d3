"""English rules: likes, dislikes and diet."""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.noun_phrases import taste
from ricordo.formation.rules.rule import (
    CONDITIONS,
    DIETS,
    FOODS_NOT_EATEN,
    SPORTS_AND_INSTRUMENTS,
    Reader,
    Rule,
    any_of,
    cut_at,
    has_pronoun,
    nothing_more,
    phrase,
    rule,
    trimmed,
)
from ricordo.model.vocabulary import MemoryType

_health = partial(rule, theme="health", importance=4)

_AFTER_WHAT_IS_EATEN = re.compile(
    r"[,\s]+(?:because|so|but|since|for|at|in|anymore|any more|or (?=anything))\b.*"
)
_AFTER_AN_ALLERGEN = re.compile(
    r"[,\s]+(?:so|but|because|since|which|by|especially|like|such|and (?=i\b|my\b|can))"
)
_NO_ALLERGEN = re.compile(
    r"\b(?:work|monday|mondays|bullshit|stupid\w*|nonsense|drama|people|or|this|that|being|doing|"
    r"waking|\w+ing)\b",
    re.IGNORECASE,
)
_AFTER_A_CONDITION = re.compile(
    r"[,\s]+(?:so|and (?!high)|but|since|which|last|this|in|when|as|at|two|three|a|from|for)\b"
)
_COMPARED = re.compile(r"\s+(?:over|to|rather than|instead of|more than|than)\s.*")


def food(text: str) -> str | None:
    """Something that one may not eat or drink."""
    bare = trimmed(cut_at(text, _AFTER_WHAT_IS_EATEN))
    words = bare.lower().replace(",", "").split()
    known = words and set(words) - {"or", "and", "meat", "food", "products"} <= FOODS_NOT_EATEN
    return bare if known and len(words) <= 4 else None


def allergen(text: str) -> str | None:
    """A real allergen."""
    bare = phrase(text, _AFTER_AN_ALLERGEN, 6)
    return None if bare is None or _NO_ALLERGEN.search(bare) else bare


def _condition(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER_A_CONDITION))
    return bare if bare.lower() in CONDITIONS else None


def _answers(text: str) -> str | None:
    kind = re.match(
        r"((?:(?:your|my|the|more|very|to get|to have|getting) ){0,2}(?:[a-z-]{3,14}(?:,| and|"
        r") ){1,4}(?:answers|responses|replies|explanations))(?![ ](?:to|about|on|in this|here))",
        text,
        re.IGNORECASE,
    )
    if kind is None:
        return None
    bare = re.sub(r"\b(?:your|my|the|to get|to have|getting) ", "", kind[1], flags=re.IGNORECASE)
    return bare if bare and not has_pronoun(bare) else None


def _favourite(text: str) -> str | None:
    bare = trimmed(text)
    is_title = re.fullmatch(r"(?:The |the )?[A-Z][\w'’-]*(?: [\w'’-]+){0,4}", bare)
    return taste(text) or (bare if is_title and not has_pronoun(text) else None)


def _rather(text: str) -> str | None:
    return taste(text if text.lower().startswith("to ") else cut_at(text, _COMPARED))


def _preference(begins: str, content: str, reader: Reader = taste) -> Rule:
    return rule(begins, content, reader, "taste:{slug}", "preferences", type=MemoryType.PREFERENCE)


TASTES: Final = (
    _preference(r"I (?P<verb>like|love|enjoy|adore|hate|dislike|detest|despise|"
        r"loathe)(?! (?:it|that)\b)", "User {verb} {thing}."),
    _preference(r"I prefer(?!.*\b(?:answers|responses|replies|explanations)\b)",
        "User prefers {thing}.", _rather),
    _preference(r"I do not (?:like|enjoy|care for)", "User does not like {thing}."),
    _preference(r"I (?:cannot|could not) stand|I am not (?:a (?:big |huge )?fan of|fond of|into|"
        r"keen on)", "User does not like {thing}."),
    _preference(r"I am (?:a (?:big |huge |massive |great )?fan of|fond of|keen on|into|"
        r"passionate about|crazy about)", "User likes {thing}."),
    rule(r"my (?:all-time )?favourite (?P<kind>[a-z]+(?: [a-z]+){0,2}?) (?:is|are|has always been)",
        "User's favourite {kind} is {thing}.", _favourite, "favourite:{kind}", theme="preferences",
        type=MemoryType.PREFERENCE),
    rule(r"my (?:main )?(?P<hobby>hobby is|hobbies are|hobbies include)", "User's {hobby} {thing}.",
        taste, "hobbies", theme="preferences", type=MemoryType.PREFERENCE),
    rule(rf"I play(?: the)? (?P<game>{any_of(SPORTS_AND_INSTRUMENTS)})", "User plays {game}.",
        nothing_more, "plays:{game}", theme="preferences"),
    rule(r"I (?:prefer|like|want|love)", "User prefers {thing}.", _answers, "tone",
        theme="instructions", importance=4, type=MemoryType.PREFERENCE),
)  # fmt: skip

HEALTH: Final = (
    _health(r"I am (?:very |severely |highly |deadly |slightly )?allergic to|I have an allergy to|"
        r"I have allergies to", "User is allergic to {thing}.", allergen, "allergy:{slug}"),
    _health(r"I have an? (?:severe |bad |serious |mild )?(?P<what>[a-z]+(?: [a-z]+)?) allergy",
        "User has a {what} allergy.", nothing_more, "allergy:{what}"),
    _health(r"I am (?P<what>lactose|gluten|histamine|fructose)[- ]intolerant",
        "User is {what} intolerant.", nothing_more, "allergy:{what}"),
    _health(rf"I (?:am|have been(?=.* (?:for|since) )) (?:a |"
        rf"an )?(?:strict )?(?P<diet>{any_of(DIETS)})", "User is {diet}.", nothing_more, "diet"),
    _health(r"I (?:do not|never|cannot) (?P<do>eat|drink)", "User does not {do} {thing}.", food,
        "diet:{slug}", importance=3),
    _health(r"I (?:have|suffer from|have been diagnosed with|was diagnosed with|"
        r"live with)(?: chronic| severe| mild)?", "User has {thing}.", _condition,
        "condition:{slug}"),
)  # fmt: skip

PERSONAL_RULES: Final = (*TASTES, *HEALTH)
