"""English rules of the second line: likes, dislikes and diet, told by the form of the sentence.

They are asked only where no closer rule reads the clause.
"""

import re
from typing import Final

from ricordo.formation.rules.english_personal import any_of
from ricordo.formation.rules.rule import Rule, Thing, starting, whatever_follows
from ricordo.formation.rules.tastes import taste
from ricordo.formation.rules.trimming import cut_at, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import DIETS
from ricordo.formation.rules.word_sets import words
from ricordo.model.vocabulary import MemoryType

_MAX_WORDS: Final = 5
_AFTER_FOOD = re.compile(
    r"[,\s]+(?:because|so|but|since|for|at|in|on|after|before|when|if|any ?more|or (?=i\b|"
    r"anything)|"
    r"(?:an?|one|two|three|four|five|some|several|\d+) (?:\w+ )?(?:days?|weeks?|months?|years?)|"
    r"years|last|this|and (?=i\b|my\b|still|feel)|due|during|unless|as|with|altogether|completely|"
    r"entirely|whatsoever|ever)\b.*|,.*",
    re.IGNORECASE,
)
_NO_FOOD: Final = words("""
breakfast lunch dinner supper much enough out anything well more less here late early too very so
that this it them there a an the my your any all properly alone food at before after like until up
what every only just lots today yet together meals snacks tonight right often regularly as from
healthy healthily normally fast slowly
""")
_NOT_GIVEN_UP: Final = words("""
hope job jobs trying looking on and when my the a it this that today already because early working
twitter facebook halfway
""")
_FELT = re.compile(
    r"(?P<what>[\w'’-]+(?: [\w'’-]+){0,4}?) (?P<how>(?:really |so |very |too |quite |deeply |"
    r"a bit |"
    r"incredibly |extremely |rather |pretty )?(?:[a-z]{4,}ing|stressful|dull|tedious|cosy|cozy|"
    r"delicious|painful|hard to (?:follow|read|enjoy|bear|sit through)|delightful|wonderful|"
    r"beautiful|"
    r"fascinating|unbearable|too (?:loud|sweet|slow|salty|bright|long|noisy|spicy|crowded)))"
    r"(?=$|,| and | but | because | so | after )",
    re.IGNORECASE,
)
_NOT_FELT: Final = words("""
missing working looking lacking confusing wanting existing following interesting matching something
anything myself misleading nothing everything conflicting
""")
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


def _rather(text: str) -> str | None:
    found = _OVER.match(text)
    if found is None or has_pronoun(found["what"]) or has_pronoun(found["other"]):
        return None
    return f"{found['what']} to {found['other']}"


def _without_place(text: str) -> str | None:
    return taste(re.sub(r" (?:on|in|with) (?:everything|anything)\b.*| here$", "", text))


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
        r"I (?:would|'d) (?:always )?(?:take|choose|pick)", "User prefers {thing}.", _rather
    ),
    Rule(
        begins=starting(
            r"(?P<what>[a-z][a-z'-]+(?: [a-z'-]+){0,2}) (?P<how>keeps me (?:sane|calm|going|"
            r"grounded|"
            r"happy|balanced|young|fit|motivated)|helps me (?:relax|unwind|switch off|wind down)|"
            r"calms me(?: down)?|relaxes me|makes me happy|bores me|drives me (?:crazy|mad|nuts|"
            r"up the wall)|stresses me out)"
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
            r"(?P<what>[a-z-]+ [a-z-]+) (?:everywhere|always|every time|all the way|wherever "
            r"possible) "
            r"for me"
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
            r"gave up) "
            r"(?P<do>eating|drinking)"
        ),
        thing=_not_eaten,
        content="User stopped {do} {thing}.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:completely |recently |just |finally )?(?:given up|gave up|cut "
            r"out|quit)"
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
            r"gluten-free|dairy-free) (?:household|family|home|house|couple)"
            r"(?=$|,| (?:here|of|with|so|and|but|,))"
        ),
        thing=whatever_follows,
        content="User's household is {diet}.",
        key="diet:household",
        theme="health",
        importance=3,
    ),
)

RULES: Final = (*TASTES, *DIET)
