"""English rules: family, animals and belongings."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import age, employer, known_trade, trade
from ricordo.formation.rules.english_tastes import allergen, any_of, food
from ricordo.formation.rules.rule import (
    Rule,
    cut_at,
    has_pronoun,
    nothing_more,
    starting,
    trimmed,
    whatever_follows,
)
from ricordo.formation.rules.things import known_or_capitalised_place, name, place_moved_to
from ricordo.formation.rules.word_lists import (
    BELONGINGS,
    CHILDREN,
    DIETS,
    NUMBER_WORDS,
    PETS,
    RELATIONS,
    SIBLINGS,
)

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
            rf"I have {_COUNT} (?P<pet>{any_of(PETS)})(?P<plural>s?)(?! (?:named|called)|"
            rf",? and (?:{any_of(NUMBER_WORDS)}|\d))"
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

FAMILY_RULES: Final = (*FAMILY, *POSSESSIONS)


_HOUSE_PET = rf"(?:{any_of(PETS)})(?:e?s)?"
_ANIMAL = re.compile(
    rf"(?:{any_of(NUMBER_WORDS)}|\d{{1,2}}|some|a few|a couple of) (?:[a-z-]+ ){{0,2}}{_HOUSE_PET}",
    re.IGNORECASE,
)
_HOME_RELATION = r"(?P<relation>wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse)"
_AFTER_A_BELONGING = re.compile(
    r"[,\s]+(?:that|which|that['’]?s|thats|with|and|but|so|for|from|since|at|in|because|yesterday|"
    r"last|now|today|who|on|to|this|whose|already)\b.*|,.*",
    re.IGNORECASE,
)
_KIND = (
    r"(?P<kind>car|van|truck|phone|laptop|computer|pc|tablet|camera|bike|bicycle|motorbike|"
    r"motorcycle|scooter|guitar|piano|printer|router|monitor|tv|oven|boat|watch|console|e-?reader|"
    r"keyboard|drone|telescope)"
)
_COLOUR = (
    r"(?:red|blue|black|white|gr[ea]y|green|silver|yellow|orange|purple|brown|(?:19|20)\d\d|'\d\d)"
)


def _animals(text: str) -> str | None:
    """One or several kinds of animals: "three hens and an elderly greyhound"."""
    bare = trimmed(cut_at(text, re.compile(r",? (?:so|but|which|that|who|called|named|in|at)\b.*")))
    pieces = [piece for piece in re.split(r",? and |, ", bare) if piece]
    if not 2 <= len(pieces) <= 4 or not all(_ANIMAL.fullmatch(piece) for piece in pieces):
        return None
    return bare


def _belonging(text: str) -> str | None:
    """A lasting possession: its last word is in the list."""
    bare = trimmed(cut_at(text, _AFTER_A_BELONGING))
    found = bare.lower().split()
    if not 1 <= len(found) <= 4 or has_pronoun(bare):
        return None
    is_known = found[-1] in BELONGINGS or " ".join(found[-2:]) in BELONGINGS
    return bare if is_known and found[0] not in ("broken", "rental", "rented", "good") else None


def _model(text: str) -> str | None:
    """A make or model: a capital or a number distinguishes it from an opinion."""
    bare = trimmed(cut_at(text, _AFTER_A_BELONGING))
    found = bare.split()
    if not 1 <= len(found) <= 6 or has_pronoun(bare) or "%" in bare:
        return None
    named = any(word[:1].isupper() or any(map(str.isdigit, word)) for word in found[1:])
    return bare if named and found[0].lower() in ("a", "an") else None


def _vehicle_by_name(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER_A_BELONGING))
    named = re.fullmatch(rf"{_COLOUR} (?:[A-Z][\w-]+)(?: [\w-]+){{0,2}}", bare)
    is_day = bare.lower().endswith("day")
    return bare if named and not is_day and not has_pronoun(bare) else None


def _name_before_verb(text: str) -> str | None:
    beside = re.match(
        r"(?P<name>[A-Z][a-z]+)(?=$|,| (?:is|keeps?|has|loves?|likes?|hates?|won['’]?t|refuses?|"
        r"does|cannot|always|just|needs?|eats?|ate|got|was|wants?|sleeps?|and I|will|started|"
        r"gets?))",
        text,
    )
    return name(beside["name"]) if beside else None


HOUSEHOLD: Final = (
    Rule(
        begins=starting(
            r"we (?:have )?(?:just |recently |finally |all )?(?:moved|relocated)(?: back| over|"
            r" out)?(?: here)?(?: from [\w .'-]{2,40}?)? to"
        ),
        thing=place_moved_to,
        content="User lives in {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(rf"my {_HOME_RELATION}(?: and (?:I|me))(?= \w)"),
        thing=whatever_follows,
        content="User has a {relation}.",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"my (?:(?:older|younger|little|big|elder|eldest|oldest|youngest|twin) )?"
            rf"(?P<relation>{any_of(RELATIONS)}) (?P<name>(?-i:[A-Z])[a-z]+) is (?P<article>an?)"
        ),
        thing=known_trade,
        content="User's {relation} {name} is {article} {thing}.",
        key="family:{relation}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I am an? (?P<kind>(?:single |proud |new |working )?(?:mother|father|mom|mum|dad|"
            r"parent))(?= (?:of (?!(?:two|three|four|five|twins|one)\b)|with (?:an?|two|three|\d))|"
            r"\W*$)"
        ),
        thing=whatever_follows,
        content="User is a {kind}.",
        key="parent",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:I|we) (?:have )?(?:just |recently |finally )?got married(?! to (?:the|this|an?)\b)"
        ),
        thing=whatever_follows,
        content="User is married.",
        key="marital_status",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"we have (?P<count>{any_of(NUMBER_WORDS)}|\d{{1,2}}) (?:(?:small|young|little|adult|"
            rf"teenage) )?(?P<kind>{any_of(CHILDREN)})"
        ),
        thing=nothing_more,
        content="User has {count} {kind}.",
        key="family:{kind}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(rf"we are (?:all )?(?P<diet>{any_of(DIETS)})(?: at home)?"),
        thing=nothing_more,
        content="User's household is {diet}.",
        key="diet",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(r"we (?:do not|never) (?P<do>eat|drink)"),
        thing=food,
        content="User does not {do} {thing} at home.",
        key="diet:{slug}",
        theme="health",
        importance=3,
    ),
)  # fmt: skip

ANIMALS: Final = (
    Rule(
        begins=starting(r"(?:I|we) (?:have|keep|own)"),
        thing=_animals,
        content="User has {thing}.",
        key="pets",
        theme="family",
    ),
    Rule(
        begins=starting(
            rf"we have (?P<count>{any_of(NUMBER_WORDS)}|\d{{1,2}}) (?P<pet>{_HOUSE_PET})"
            rf"(?! (?:named|called|food|video|show)|,? and (?:{any_of(NUMBER_WORDS)}|\d))"
        ),
        thing=nothing_more,
        content="User has {count} {pet}.",
        key="pet:{pet}",
        theme="family",
    ),
    Rule(
        begins=starting(
            rf"(?:I|we) (?:have )?(?:just |recently |finally )?(?:got|have|adopted|own|"
            rf"have adopted|"
            rf"rescued) (?P<count>an?) (?:[a-z-]+ ){{0,2}}(?P<pet>{any_of(PETS)}) (?:named|called)"
        ),
        thing=name,
        content="User has a {pet} called {thing}.",
        key="pet:{pet}",
        theme="family",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"(?:my|our) (?:(?:little|old|new|elderly) )?(?P<pet>{any_of(PETS)})(?= )"
        ),
        thing=_name_before_verb,
        content="User's {pet} is called {thing}.",
        key="pet:{pet}",
        theme="family",
        importance=3,
    ),
)

BELONGING: Final = (
    Rule(
        begins=starting(rf"my (?:new |old |current |main )?{_KIND} is"),
        thing=_model,
        content="User's {kind} is {thing}.",
        key="possession:{kind}",
    ),
    Rule(
        begins=starting(r"(?:I|we) (?:have|own) (?P<article>an?)"),
        thing=_belonging,
        content="User has {article} {thing}.",
        key="possession:{slug}",
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:just |recently |finally )?(?:got|bought) (?P<article>an?)"
        ),
        thing=_belonging,
        content="User has {article} {thing}.",
        key="possession:{slug}",
    ),
    Rule(
        begins=starting(r"I (?:have|own|ride|got|bought) (?P<article>an?)"),
        thing=_vehicle_by_name,
        content="User has {article} {thing}.",
        key="possession:{slug}",
    ),
)

HOUSEHOLD_RULES: Final = (*HOUSEHOLD, *ANIMALS, *BELONGING)
