"""English rules: family, animals and belongings."""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.descriptions import age, employer, known_trade, trade
from ricordo.formation.rules.english_tastes import allergen, any_of, food
from ricordo.formation.rules.rule import cut_at, has_pronoun, nothing_more, rule, trimmed
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
from ricordo.formation.words import alternatives, pattern

_family = partial(rule, theme="family", importance=3)

_RELATION = alternatives("english", "relation", relations=any_of(RELATIONS))
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
    _family(_RELATION, "User's {relation} is called {thing}.", _named_beside, "family:{relation}"),
    _family(rf"{_RELATION}{_NAMED}", "User's {relation} is called {thing}.", name,
        "family:{relation}"),
    _family(rf"my (?P<relation>{any_of(RELATIONS)}) is(?= [A-Z])",
        "User's {relation} is called {thing}.",
        lambda text: name(text) if text[:1].isupper() and len(text.split()) == 1 else None,
        "family:{relation}"),
    _family(rf"{_RELATION} (?:lives|is living) in", "User's {relation} lives in {thing}.",
        known_or_capitalised_place, "family:{relation}-home"),
    _family(rf"{_RELATION} works as", "User's {relation} works as {thing}.", trade,
        "family:{relation}-work"),
    _family(rf"{_RELATION} is (?P<article>an?)", "User's {relation} is {article} {thing}.",
        known_trade, "family:{relation}-work"),
    _family(rf"{_RELATION} works (?:at|for)", "User's {relation} works at {thing}.", employer,
        "family:{relation}-employer"),
    _family(rf"{_RELATION} is(?= \d{{1,2}}(?: years old)?\W*$)",
        "User's {relation} is {thing} years old.", age, "family:{relation}-age"),
    _family(rf"{_RELATION} is (?:\w+ly )?allergic to", "User's {relation} is allergic to {thing}.",
        allergen, importance=4),
    _family(rf"I have {_COUNT} (?:(?:small|young|little|older|younger|adult|"
        rf"grown-up) )?(?P<kind>{any_of(CHILDREN | SIBLINGS)})", "User has {count} {kind}.",
        nothing_more, "family:{kind}"),
    _family(rf"I have (?P<count>an?) (?:(?:younger|older|little|"
        rf"big) )?(?P<relation>{any_of(RELATIONS)}) (?:named|called)",
        "User's {relation} is called {thing}.", name, "family:{relation}"),
    _family(r"I am (?:happily )?(?P<state>married|single|divorced|engaged|widowed)(?! in\b)",
        "User is {state}.", nothing_more, "marital_status"),
    _family(r"I am (?:a |the )?(?:single |proud |new )?(?P<parent>mother|father|mom|mum|dad|"
        r"parent) (?:of|to) (?P<count>two|three|four|five|twins|one)",
        "User is the {parent} of {count}.", nothing_more, "family:children"),
    _family(rf"{_PET}{_NAMED}", "User's {pet} is called {thing}.", name, "pet:{pet}"),
    _family(rf"I have (?P<count>an?) (?:[a-z]+ ){{0,2}}(?P<pet>{any_of(PETS)}) (?:named|called)",
        "User has a {pet} called {thing}.", name, "pet:{pet}"),
    rule(rf"I have {_COUNT} (?P<pet>{any_of(PETS)})(?P<plural>s?)(?! (?:named|called)|"
        rf",? and (?:{any_of(NUMBER_WORDS)}|\d))", "User has {count} {pet}{plural}.", nothing_more,
        "pet:{pet}", theme="family"),
)  # fmt: skip

POSSESSIONS: Final = (
    rule(r"I drive (?P<article>an?)", "User drives {article} {thing}.", _vehicle, "car",
        theme="profile"),
    rule(r"I use", "User uses {thing}.", _tool, theme="work"),
)  # fmt: skip

FAMILY_RULES: Final = (*FAMILY, *POSSESSIONS)


_HOUSE_PET = alternatives("english", "house pet", pets=any_of(PETS))
_ANIMAL = pattern(
    "english", "animal", re.IGNORECASE, number_words=any_of(NUMBER_WORDS), house_pet=_HOUSE_PET
)
_HOME_RELATION = r"(?P<relation>wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse)"
_AFTER_A_BELONGING = pattern("english", "after a belonging", re.IGNORECASE)
_KIND = alternatives("english", "kind of belonging")
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
    rule(r"we (?:have )?(?:just |recently |finally |all )?(?:moved|relocated)(?: back| over|"
        r" out)?(?: here)?(?: from [\w .'-]{2,40}?)? to", "User lives in {thing}.", place_moved_to,
        "home_city", importance=3),
    _family(rf"my {_HOME_RELATION}(?: and (?:I|me))(?= \w)", "User has a {relation}."),
    _family(rf"my (?:(?:older|younger|little|big|elder|eldest|oldest|youngest|"
        rf"twin) )?(?P<relation>{any_of(RELATIONS)}) (?P<name>(?-i:[A-Z])[a-z]+) is "
        rf"(?P<article>an?)", "User's {relation} {name} is {article} {thing}.", known_trade,
        "family:{relation}"),
    _family(r"I am an? (?P<kind>(?:single |proud |new |working )?(?:mother|father|mom|mum|dad|"
        r"parent))(?= (?:of (?!(?:two|three|four|five|twins|one)\b)|with (?:an?|two|three|\d))|"
        r"\W*$)", "User is a {kind}.", key="parent"),
    _family(r"(?:I|we) (?:have )?(?:just |recently |finally )?got married(?! to (?:the|this|"
        r"an?)\b)", "User is married.", key="marital_status"),
    _family(rf"we have (?P<count>{any_of(NUMBER_WORDS)}|\d{{1,2}}) (?:(?:small|young|little|adult|"
        rf"teenage) )?(?P<kind>{any_of(CHILDREN)})", "User has {count} {kind}.", nothing_more,
        "family:{kind}"),
    rule(rf"we are (?:all )?(?P<diet>{any_of(DIETS)})(?: at home)?", "User's household is {diet}.",
        nothing_more, "diet", theme="health", importance=4),
    rule(r"we (?:do not|never) (?P<do>eat|drink)", "User does not {do} {thing} at home.", food,
        "diet:{slug}", theme="health", importance=3),
)  # fmt: skip

ANIMALS: Final = (
    rule(r"(?:I|we) (?:have|keep|own)", "User has {thing}.", _animals, "pets", theme="family"),
    rule(rf"we have (?P<count>{any_of(NUMBER_WORDS)}|\d{{1,2}}) (?P<pet>{_HOUSE_PET})(?! (?:named|"
        rf"called|food|video|show)|,? and (?:{any_of(NUMBER_WORDS)}|\d))",
        "User has {count} {pet}.", nothing_more, "pet:{pet}", theme="family"),
    _family(rf"(?:I|we) (?:have )?(?:just |recently |finally )?(?:got|have|adopted|own|"
        rf"have adopted|"
        rf"rescued) (?P<count>an?) (?:[a-z-]+ ){{0,2}}(?P<pet>{any_of(PETS)}) (?:named|called)",
        "User has a {pet} called {thing}.", name, "pet:{pet}"),
    _family(rf"(?:my|our) (?:(?:little|old|new|elderly) )?(?P<pet>{any_of(PETS)})(?= )",
        "User's {pet} is called {thing}.", _name_before_verb, "pet:{pet}"),
)  # fmt: skip

BELONGING: Final = (
    rule(rf"my (?:new |old |current |main )?{_KIND} is", "User's {kind} is {thing}.", _model,
        "possession:{kind}"),
    rule(r"(?:I|we) (?:have|own) (?P<article>an?)", "User has {article} {thing}.", _belonging,
        "possession:{slug}"),
    rule(r"I (?:have )?(?:just |recently |finally )?(?:got|bought) (?P<article>an?)",
        "User has {article} {thing}.", _belonging, "possession:{slug}"),
    rule(r"I (?:have|own|ride|got|bought) (?P<article>an?)", "User has {article} {thing}.",
        _vehicle_by_name, "possession:{slug}"),
)  # fmt: skip

HOUSEHOLD_RULES: Final = (*HOUSEHOLD, *ANIMALS, *BELONGING)
