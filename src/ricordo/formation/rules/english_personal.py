"""English rules: what the user likes, how they eat, and their health."""

import re
from typing import Final

from ricordo.formation.rules.rule import Rule, Thing, nothing_more, starting
from ricordo.formation.rules.tastes import taste
from ricordo.formation.rules.trimming import cut_at, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import (
    CONDITIONS,
    DIETS,
    FOODS_NOT_EATEN,
    SPORTS_AND_INSTRUMENTS,
)
from ricordo.model.vocabulary import MemoryType


def any_of(words: frozenset[str]) -> str:
    """A pattern for any of these words."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def food(text: str) -> str | None:
    """Something that one may not eat or drink."""
    bare = trimmed(
        cut_at(
            text,
            re.compile(
                r"[,\s]+(?:because|so|but|since|for|at|in|anymore|any more|or (?=anything))\b.*"
            ),
        )
    )
    words = bare.lower().replace(",", "").split()
    known = words and set(words) - {"or", "and", "meat", "food", "products"} <= FOODS_NOT_EATEN
    return bare if known and len(words) <= 4 else None


def allergen(text: str) -> str | None:
    """What one can be allergic to, in earnest."""
    bare = trimmed(
        re.split(
            r"[,\s]+(?:so|but|because|since|which|by|especially|like|such|and (?=i\b|my\b|can))",
            text,
        )[0]
    )
    vague = re.search(
        r"\b(?:work|monday|mondays|bullshit|stupid\w*|nonsense|drama|people|or|this|that|being|"
        r"doing|waking|\w+ing)\b",
        bare,
        re.IGNORECASE,
    )
    return bare if 1 <= len(bare.split()) <= 6 and not vague and not has_pronoun(bare) else None


def _condition(text: str) -> str | None:
    bare = trimmed(
        re.split(
            r"[,\s]+(?:so|and (?!high)|but|since|which|last|this|in|when|as|at|two|three|a|"
            r"from|for)\b",
            text,
        )[0]
    )
    return bare if bare.lower() in CONDITIONS else None


def _answers(text: str) -> str | None:
    kind = re.match(
        r"((?:(?:your|my|the|more|very|to get|to have|getting) ){0,2}(?:[a-z-]{3,14}(?:,| and|"
        r") ){1,4}(?:answers|responses|replies|explanations))(?![ ](?:to|about|on|in this|"
        r"here))",
        text,
        re.IGNORECASE,
    )
    bare = (
        re.sub(r"\b(?:your|my|the|to get|to have|getting) ", "", kind[1], flags=re.IGNORECASE)
        if kind
        else ""
    )
    return bare if bare and not has_pronoun(bare) else None


def _favourite(text: str) -> str | None:
    bare = taste(text)
    return bare or (
        trimmed(text)
        if re.fullmatch(r"(?:The |the )?[A-Z][\w'’-]*(?: [\w'’-]+){0,4}", trimmed(text))
        and not has_pronoun(text)
        else None
    )


_COMPARED = re.compile(r"\s+(?:over|to|rather than|instead of|more than|than)\s.*")


def _rather(text: str) -> str | None:
    return taste(text if text.lower().startswith("to ") else cut_at(text, _COMPARED))


def _preference(begins: str, content: str, thing: Thing = taste) -> Rule:
    return Rule(
        begins=starting(begins),
        thing=thing,
        content=content,
        key="taste:{slug}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    )


TASTES: Final = (
    _preference(
        r"I (?P<verb>like|love|enjoy|adore|hate|dislike|detest|despise|loathe)(?! (?:it|that)\b)",
        "User {verb} {thing}.",
    ),
    _preference(
        r"I prefer(?!.*\b(?:answers|responses|replies|explanations)\b)",
        "User prefers {thing}.",
        _rather,
    ),
    _preference(r"I do not (?:like|enjoy|care for)", "User does not like {thing}."),
    _preference(
        r"I (?:cannot|could not) stand|I am not (?:a (?:big |huge )?fan of|fond of|into|keen on)",
        "User does not like {thing}.",
    ),
    _preference(
        r"I am (?:a (?:big |huge |massive |great )?fan of|fond of|keen on|into|"
        r"passionate about|crazy about)",
        "User likes {thing}.",
    ),
    Rule(
        begins=starting(
            r"my (?:all-time )?favourite (?P<kind>[a-z]+(?: [a-z]+){0,2}?) (?:is|are|"
            r"has always been)"
        ),
        thing=_favourite,
        content="User's favourite {kind} is {thing}.",
        key="favourite:{kind}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(r"my (?:main )?(?P<hobby>hobby is|hobbies are|hobbies include)"),
        thing=taste,
        content="User's {hobby} {thing}.",
        key="hobbies",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(rf"I play(?: the)? (?P<game>{any_of(SPORTS_AND_INSTRUMENTS)})"),
        thing=nothing_more,
        content="User plays {game}.",
        key="plays:{game}",
        theme="preferences",
    ),
    Rule(
        begins=starting(r"I (?:prefer|like|want|love)"),
        thing=_answers,
        content="User prefers {thing}.",
        key="tone",
        theme="instructions",
        importance=4,
        type=MemoryType.PREFERENCE,
    ),
)

HEALTH: Final = (
    Rule(
        begins=starting(
            r"I am (?:very |severely |highly |deadly |slightly )?allergic to|"
            r"I have an allergy to|I have allergies to"
        ),
        thing=allergen,
        content="User is allergic to {thing}.",
        key="allergy:{slug}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(
            r"I have an? (?:severe |bad |serious |mild )?(?P<what>[a-z]+(?: [a-z]+)?) allergy"
        ),
        thing=nothing_more,
        content="User has a {what} allergy.",
        key="allergy:{what}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(r"I am (?P<what>lactose|gluten|histamine|fructose)[- ]intolerant"),
        thing=nothing_more,
        content="User is {what} intolerant.",
        key="allergy:{what}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(
            rf"I (?:am|have been(?=.* (?:for|since) )) (?:a |"
            rf"an )?(?:strict )?(?P<diet>{any_of(DIETS)})"
        ),
        thing=nothing_more,
        content="User is {diet}.",
        key="diet",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(r"I (?:do not|never|cannot) (?P<do>eat|drink)"),
        thing=food,
        content="User does not {do} {thing}.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have|suffer from|have been diagnosed with|was diagnosed with|"
            r"live with)(?: chronic| severe| mild)?"
        ),
        thing=_condition,
        content="User has {thing}.",
        key="condition:{slug}",
        theme="health",
        importance=4,
    ),
)

RULES: Final = (*TASTES, *HEALTH)
