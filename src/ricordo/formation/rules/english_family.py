"""English rules: family, animals and belongings."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import age, employer, known_trade, trade
from ricordo.formation.rules.english_personal import allergen, any_of
from ricordo.formation.rules.rule import Rule, nothing_more, starting
from ricordo.formation.rules.things import known_or_capitalised_place, name
from ricordo.formation.rules.trimming import has_pronoun, trimmed
from ricordo.formation.rules.word_lists import CHILDREN, NUMBER_WORDS, PETS, RELATIONS, SIBLINGS

_RELATION = (
    rf"my (?:(?:older|younger|little|big|elder|late|eldest|oldest|youngest|"
    rf"twin) )?(?P<relation>{any_of(RELATIONS)})"
)
_PET = rf"my (?:(?:little|old|new) )?(?P<pet>{any_of(PETS)})"
_NAMED = r"(?: is (?:called|named)|'s (?:called|named)|'s name is)"
_COUNT = rf"(?P<count>{any_of(NUMBER_WORDS)}|\d{{1,2}})"


def _tool(text: str) -> str | None:
    found = re.fullmatch(
        r"([A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,2} (?:for|as) (?:my )?[\w -]{3,40}|"
        r"[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,2}) ?(?:every day|daily|at work)?",
        trimmed(text),
    )
    if not found or re.search(
        r"\b(?:this|that|these|the|it|here|now|today|you\w*|we|our)\b", text, re.IGNORECASE
    ):
        return None
    bare = found[0].strip()
    return (
        bare.replace(" my ", " User's ")
        if re.search(r" (?:for|as) | (?:every day|daily|at work)$", bare)
        else None
    )


def _vehicle(text: str) -> str | None:
    bare = trimmed(re.split(r"[,\s]+(?:to|and|so|but|for|because|from|with|that|which)\b", text)[0])
    idiom = re.search(r"\b(?:bargain|lot|mile|while|bit|long)\b", bare)
    return bare if 1 <= len(bare.split()) <= 5 and not idiom and not has_pronoun(bare) else None


def _named_beside(text: str) -> str | None:
    """The name in "my wife Ana works at home"."""
    beside = re.match(
        r"([A-Z][a-z]+)(?:$| (?:is|loves|likes|hates|has|works|lives|was|wants|and I)\b)", text
    )
    return name(beside[1]) if beside else None


FAMILY: Final = (
    Rule(
        begins=starting(_RELATION),
        thing=_named_beside,
        content="User's {relation} is called {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION}{_NAMED}"),
        thing=name,
        content="User's {relation} is called {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"my (?P<relation>{any_of(RELATIONS)}) is(?= [A-Z])"),
        thing=lambda text: name(text) if text[:1].isupper() and len(text.split()) == 1 else None,
        content="User's {relation} is called {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} (?:lives|is living) in"),
        thing=known_or_capitalised_place,
        content="User's {relation} lives in {thing}.",
        key="family:{relation}-home",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} works as"),
        thing=trade,
        content="User's {relation} works as {thing}.",
        key="family:{relation}-work",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} is (?P<article>an?)"),
        thing=known_trade,
        content="User's {relation} is {article} {thing}.",
        key="family:{relation}-work",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} works (?:at|for)"),
        thing=employer,
        content="User's {relation} works at {thing}.",
        key="family:{relation}-employer",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} is(?= \d{{1,2}}(?: years old)?\W*$)"),
        thing=age,
        content="User's {relation} is {thing} years old.",
        key="family:{relation}-age",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_RELATION} is (?:\w+ly )?allergic to"),
        thing=allergen,
        content="User's {relation} is allergic to {thing}.",
        theme="family",
        importance=4,
    ),
    Rule(
        begins=starting(
            rf"I have {_COUNT} (?:(?:small|young|little|older|younger|adult|"
            rf"grown-up) )?(?P<kind>{any_of(CHILDREN | SIBLINGS)})"
        ),
        thing=nothing_more,
        content="User has {count} {kind}.",
        key="family:{kind}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"I have (?P<count>an?) (?:(?:younger|older|little|"
            rf"big) )?(?P<relation>{any_of(RELATIONS)}) (?:named|called)"
        ),
        thing=name,
        content="User's {relation} is called {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I am (?:happily )?(?P<state>married|single|divorced|engaged|widowed)(?! in\b)"
        ),
        thing=nothing_more,
        content="User is {state}.",
        key="marital_status",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I am (?:a |the )?(?:single |proud |new )?(?P<parent>mother|father|mom|mum|dad|"
            r"parent) (?:of|to) (?P<count>two|three|four|five|twins|one)"
        ),
        thing=nothing_more,
        content="User is the {parent} of {count}.",
        key="family:children",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"{_PET}{_NAMED}"),
        thing=name,
        content="User's {pet} is called {thing}.",
        key="pet:{pet}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"I have (?P<count>an?) (?:[a-z]+ ){{0,2}}(?P<pet>{any_of(PETS)}) (?:named|called)"
        ),
        thing=name,
        content="User has a {pet} called {thing}.",
        key="pet:{pet}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"I have {_COUNT} (?P<pet>{any_of(PETS)})(?P<plural>s?)"
            rf"(?! (?:named|called)|,? and (?:{any_of(NUMBER_WORDS)}|\d))"
        ),
        thing=nothing_more,
        content="User has {count} {pet}{plural}.",
        key="pet:{pet}",
        theme="family",
    ),
)

POSSESSIONS: Final = (
    Rule(
        begins=starting(r"I drive (?P<article>an?)"),
        thing=_vehicle,
        content="User drives {article} {thing}.",
        key="car",
        theme="profile",
    ),
    Rule(begins=starting(r"I use"), thing=_tool, content="User uses {thing}.", theme="work"),
)

RULES: Final = (*FAMILY, *POSSESSIONS)
