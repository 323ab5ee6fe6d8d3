"""English rules: likes, dislikes and diet."""

import re
from typing import Final

from ricordo.formation.rules.rule import (
    Rule,
    Thing,
    cut_at,
    has_pronoun,
    nothing_more,
    starting,
    trimmed,
    whatever_follows,
)
from ricordo.formation.rules.things import taste
from ricordo.formation.rules.word_lists import (
    CONDITIONS,
    DIETS,
    FOODS_NOT_EATEN,
    SPORTS_AND_INSTRUMENTS,
)
from ricordo.formation.words import words
from ricordo.model.vocabulary import MemoryType


def any_of(words: frozenset[str]) -> str:
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
    """A real allergen."""
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
            r"[,\s]+(?:so|and (?!high)|but|since|which|last|this|in|when|as|at|two|three|a|from|"
            r"for)\b",
            text,
        )[0]
    )
    return bare if bare.lower() in CONDITIONS else None


def _answers(text: str) -> str | None:
    kind = re.match(
        r"((?:(?:your|my|the|more|very|to get|to have|getting) ){0,2}(?:[a-z-]{3,14}(?:,| and|"
        r") ){1,4}(?:answers|responses|replies|explanations))(?![ ](?:to|about|on|in this|here))",
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
        r"I am (?:a (?:big |huge |massive |great )?fan of|fond of|keen on|into|passionate about|"
        r"crazy about)",
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
            r"I am (?:very |severely |highly |deadly |slightly )?allergic to|I have an allergy to|"
            r"I have allergies to"
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

PERSONAL_RULES: Final = (*TASTES, *HEALTH)


# They are asked only where no closer rule reads the clause.

_MAX_WORDS: Final = 5
_AFTER_FOOD = re.compile(
    r"[,\s]+(?:because|so|but|since|for|at|in|on|after|before|when|if|any ?more|"
    r"or (?=i\b|anything)|(?:an?|one|two|three|four|five|some|several|\d+) (?:\w+ )?(?:days?|"
    r"weeks?|months?|years?)|years|last|this|and (?=i\b|my\b|still|feel)|due|during|unless|as|"
    r"with|altogether|completely|entirely|whatsoever|ever)\b.*|,.*",
    re.IGNORECASE,
)
_NO_FOOD: Final = words("rules", "no food")
_NOT_GIVEN_UP: Final = words("rules", "not given up")
_FELT = re.compile(
    r"(?P<what>[\w'’-]+(?: [\w'’-]+){0,4}?) (?P<how>(?:really |so |very |too |quite |deeply |"
    r"a bit |incredibly |extremely |rather |pretty )?(?:[a-z]{4,}ing|stressful|dull|tedious|cosy|"
    r"cozy|delicious|painful|hard to (?:follow|read|enjoy|bear|sit through)|delightful|wonderful|"
    r"beautiful|fascinating|unbearable|too (?:loud|sweet|slow|salty|bright|long|noisy|spicy|"
    r"crowded)))(?=$|,| and | but | because | so | after )",
    re.IGNORECASE,
)
_NOT_FELT: Final = words("rules", "not felt")
_THE_ONE = re.compile(r"(?:the |my )", re.IGNORECASE)
_OVER = re.compile(
    r"(?P<what>[\w'’-]+(?: [\w'’-]+){0,3}?) over (?P<other>[\w'’-]+(?: [\w'’-]+){0,3}?),? "
    r"any ?(?:day|time)\b.*",
    re.IGNORECASE,
)


def _not_eaten(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER_FOOD))
    found = bare.lower().split()
    if not 1 <= len(found) <= _MAX_WORDS or set(found) & _NO_FOOD or has_pronoun(bare):
        return None
    return bare if re.fullmatch(r"[^\W\d_][\w '’-]*", bare) else None


def _given_up(text: str) -> str | None:
    bare = _not_eaten(text)
    if bare is None or len(bare.split()) > 2 or set(bare.lower().split()) & _NOT_GIVEN_UP:
        return None
    return bare


def _felt(text: str) -> str | None:
    found = _FELT.match(text)
    if found is None or _THE_ONE.match(found["what"]) or taste(found["what"]) is None:
        return None
    if found["how"].split()[-1].lower() in _NOT_FELT:
        return None
    return f"{found['what']} {found['how']}"


def _general_rather(text: str) -> str | None:
    found = _OVER.match(text)
    if found is None or has_pronoun(found["what"]) or has_pronoun(found["other"]):
        return None
    return f"{found['what']} to {found['other']}"


def _without_place(text: str) -> str | None:
    return taste(re.sub(r" (?:on|in|with) (?:everything|anything)\b.*| here$", "", text))


GENERAL_TASTES: Final = (
    _preference(
        r"I (?P<verb>like|love|enjoy|adore|hate|dislike)(?=.* (?:everything|anything)\b)",
        "User {verb} {thing}.",
        _without_place,
    ),
    _preference(
        r"I (?:cannot|could never) (?:be doing with|bear|abide|tolerate|be bothered with|"
        r"get on with|get along with|get into)|I have never (?:liked|enjoyed|cared for|got into)|"
        r"I (?:could not|do not) care less (?:about|for)|I no longer (?:like|love|enjoy)|"
        r"I (?:have )?(?:gone|went) off|I am (?:so |very |pretty )?(?:sick|tired) of(?= \w+s\b)",
        "User does not like {thing}.",
    ),
    _preference(
        r"(?:I am )?(?:an? )?(?:big|huge|massive|great|lifelong|long-?time|avid) fan of|"
        r"I am (?:an? )?(?:big|huge|massive|great|avid) (?:lover|reader|collector|follower) of|"
        r"I am (?:obsessed with|hooked on|mad about|nuts about|addicted to|really into|big on|"
        r"partial to)|I have (?:always|long) (?:liked|loved|enjoyed)|I swear by|"
        r"I have a (?:soft spot|weakness|thing|passion) for",
        "User likes {thing}.",
        _without_place,
    ),
    _preference(r"I find", "User finds {thing}.", _felt),
    _preference(
        r"I (?:would|'d) (?:always )?(?:take|choose|pick)", "User prefers {thing}.", _general_rather
    ),
    Rule(
        begins=starting(
            r"(?P<what>[a-z][a-z'-]+(?: [a-z'-]+){0,2}) (?P<how>keeps me (?:sane|calm|going|"
            r"grounded|happy|balanced|young|fit|motivated)|"
            r"helps me (?:relax|unwind|switch off|wind down)|calms me(?: down)?|relaxes me|"
            r"makes me happy|bores me|drives me (?:crazy|mad|nuts|up the wall)|stresses me out)"
        ),
        thing=whatever_follows,
        content="{what} {how}.",
        key="taste:{what}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(
            r"(?:of all (?:the )?[\w -]{3,30}, )?(?P<what>[\w'-]+(?: [\w'-]+){0,2}) is (?:the one|"
            r"what|the (?P<kind>[a-z]+)) I (?P<verb>love|like|enjoy|hate) (?:the )?(?:most|best)"
        ),
        thing=whatever_follows,
        content="User {verb} {what} most.",
        key="taste:{what}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(
            r"(?P<what>[a-z-]+ [a-z-]+) (?:everywhere|always|every time|all the way|"
            r"wherever possible) for me"
        ),
        thing=whatever_follows,
        content="User prefers {what}.",
        key="taste:{what}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
)

DIET: Final = (
    Rule(
        begins=starting(
            r"I (?:have )?(?:completely |recently |just |finally )?(?:stopped|quit|given up|"
            r"gave up) (?P<do>eating|drinking)"
        ),
        thing=_not_eaten,
        content="User stopped {do} {thing}.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:completely |recently |just |finally )?(?:given up|gave up|cut out|"
            r"quit)"
        ),
        thing=_given_up,
        content="User has given up {thing}.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:do not|never|cannot|no longer|have not) (?P<do>eat|drink)(?:en)?"),
        thing=_not_eaten,
        content="User does not {do} {thing}.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:no|zero) (?P<what>[a-z-]+(?: [a-z-]+)?) for me(?! (?:today|tonight|now|this|yet|"
            r"right))"
        ),
        thing=whatever_follows,
        content="User wants no {what}.",
        key="diet:{what}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(
            rf"(?:(?:we are|I live in|ours is) an? )?(?:all-)?(?P<diet>{any_of(DIETS)}|halal|"
            rf"kosher|"
            r"gluten-free|dairy-free) (?:household|family|home|house|couple)(?=$|,|"
            r" (?:here|of|with|so|and|but|,))"
        ),
        thing=whatever_follows,
        content="User's household is {diet}.",
        key="diet:household",
        theme="health",
        importance=3,
    ),
)

GENERAL_TASTE_RULES: Final = (*GENERAL_TASTES, *DIET)
