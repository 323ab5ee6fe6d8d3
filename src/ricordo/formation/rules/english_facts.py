"""English rules: identity, family, belongings, work and studies.

Clauses are regular: "im" is "I am", "favorite" is "favourite".
"""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.english_tastes import allergen, food
from ricordo.formation.rules.noun_phrases import (
    age,
    date_in_full,
    employer,
    field_of_work,
    home,
    known_or_capitalised_place,
    known_trade,
    languages,
    name,
    own_age,
    place_moved_to,
    place_of_youth,
    school,
    subject_of_study,
    taste,
    trade,
    year,
)
from ricordo.formation.rules.regular_forms import english_in_third_person
from ricordo.formation.rules.rule import (
    ALLERGENS,
    BELONGINGS,
    BUSINESSES,
    CHILDREN,
    DIETS,
    LANGUAGES,
    NUMBER_WORDS,
    PETS,
    RELATIONS,
    RELIGIONS,
    SIBLINGS,
    SPORTS_AND_INSTRUMENTS,
    any_of,
    capitalised,
    cut_at,
    has_pronoun,
    nothing_more,
    phrase,
    rule,
    trimmed,
)
from ricordo.formation.words import alternatives, pattern, words
from ricordo.model.vocabulary import MemoryType

_health = partial(rule, theme="health", importance=4)
_fact = partial(rule, importance=3)

_PRONOUNS = alternatives("english", "pronouns")
_SOME_TIME = r"(?: (?:back|over|out|here))?"

_PRONOUN_SETS = r"(?P<pronouns>(?:he|she|they|ze|xe)\s?/\s?(?:him|her|them|they|zir|xem))"
_SINCE = pattern("english", "since")
_AMOUNT = alternatives("english", "amount")

_family = partial(rule, theme="family", importance=3)

_RELATION = alternatives("english", "relation", relations=any_of(RELATIONS))
_PET = rf"my (?:(?:little|old|new) )?(?P<pet>{any_of(PETS)})"
_NAMED = r"(?: is (?:called|named)|'s (?:called|named)|'s name is)"
_COUNT = rf"(?P<count>{any_of(NUMBER_WORDS)}|\d{{1,2}})"

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

_work = partial(rule, theme="work", importance=3)

_TRADE = r"I (?:work|am working|am employed|have been working|worked and still work) as"

_MAX_WORDS: Final = 6
_END = pattern("english", "after a pursuit", re.IGNORECASE)
_TOOL = re.compile(
    r"([A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,2} (?:for|as) (?:my )?[\w -]{3,40}|"
    r"[A-Z][\w.+#-]*(?: [A-Z\d][\w.+#-]*){0,2}) ?(?:every day|daily|at work)?"
)
_HERE_AND_NOW = re.compile(
    r"\b(?:this|that|these|the|it|here|now|today|you\w*|we|our)\b", re.IGNORECASE
)
_AFTER_A_VEHICLE = re.compile(r"[,\s]+(?:to|and|so|but|for|because|from|with|that|which)\b")
_AFTER_A_BUSINESS = re.compile(r" (?:in|at|near|by|outside|on|from|for|with|and) |,")
_AFTER_A_TASK = re.compile(r"[,\s]+(?:so|because|but|which|for|at|in)\b.*|,.*")
_AFTER_A_COMPANY = re.compile(r"[,\s]+(?:in|and|but|so|who|which|that|near)\b.*|,.*")
_COMPANY = re.compile(r"(?:(?:an?|the) (?:[\w&'’-]+ ?){1,5}|[A-Z][\w&'’.-]*(?: [\w&'’.-]+){0,4})")
_NAME_BEFORE_VERB = pattern("english", "name before a verb")
# "My job is getting harder": how it goes, not what it is.
_HOW_IT_GOES: Final = words("rules", "how it goes")
_NOT_TAUGHT: Final = words("rules", "not taught")
_NOT_COLLECTED: Final = words("rules", "not collected")


def _religion(text: str) -> str | None:
    bare = trimmed(re.split(" and |,", text, maxsplit=1)[0])
    return capitalised(bare) if bare.lower() in RELIGIONS else None


def _party(text: str) -> str | None:
    found = re.match(r"((?:[\w'’-]+ ){0,4}party)(?! (?:tonight|planning))\b", text, re.IGNORECASE)
    return found[1] if found and trimmed(found[1]) == found[1] else None


def _tool(text: str) -> str | None:
    found = _TOOL.fullmatch(trimmed(text))
    if not found or _HERE_AND_NOW.search(text):
        return None
    bare = found[0].strip()
    return bare.replace(" my ", " User's ")


def _vehicle(text: str) -> str | None:
    bare = phrase(text, _AFTER_A_VEHICLE, 5)
    is_idiom = bare and re.search(r"\b(?:bargain|lot|mile|while|bit|long)\b", bare)
    return None if is_idiom else bare


def _named_beside(text: str) -> str | None:
    """The name in "my wife Ana works at home"."""
    beside = re.match(
        r"([A-Z][a-z]+)(?:$| (?:is|loves|likes|hates|has|works|lives|was|wants|and I)\b)", text
    )
    return name(beside[1]) if beside else None


def _animals(text: str) -> str | None:
    """One or several kinds of animals: "three hens and an elderly greyhound"."""
    bare = trimmed(cut_at(text, re.compile(r",? (?:so|but|which|that|who|called|named|in|at)\b.*")))
    pieces = [piece for piece in re.split(r",? and |, ", bare) if piece]
    if not 2 <= len(pieces) <= 4 or not all(_ANIMAL.fullmatch(piece) for piece in pieces):
        return None
    return bare


def _belonging(text: str) -> str | None:
    """A lasting possession: its last word is in the list."""
    bare = phrase(text, _AFTER_A_BELONGING, 4)
    if bare is None:
        return None
    found = bare.lower().split()
    is_known = found[-1] in BELONGINGS or " ".join(found[-2:]) in BELONGINGS
    return bare if is_known and found[0] not in ("broken", "rental", "rented", "good") else None


def _model(text: str) -> str | None:
    """A make or model: a capital or a number distinguishes it from an opinion."""
    bare = phrase(text, _AFTER_A_BELONGING, 6)
    if bare is None or "%" in bare:
        return None
    found = bare.split()
    named = any(word[:1].isupper() or any(map(str.isdigit, word)) for word in found[1:])
    return bare if named and found[0].lower() in ("a", "an") else None


def _vehicle_by_name(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER_A_BELONGING))
    named = re.fullmatch(rf"{_COLOUR} (?:[A-Z][\w-]+)(?: [\w-]+){{0,2}}", bare)
    is_day = bare.lower().endswith("day")
    return bare if named and not is_day and not has_pronoun(bare) else None


def _name_before_verb(text: str) -> str | None:
    beside = _NAME_BEFORE_VERB.match(text)
    return name(beside["name"]) if beside else None


def _business(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER_A_BUSINESS))
    words = bare.lower().split()
    return bare if 1 <= len(words) <= 4 and words[-1] in BUSINESSES else None


def _city_of_work(text: str) -> str | None:
    found = known_or_capitalised_place(text)
    return None if found and found.lower() in LANGUAGES else found


def _task(text: str) -> str | None:
    """What a job consists of: "fixing lifts"."""
    bare = phrase(text, _AFTER_A_TASK, _MAX_WORDS, least=2)
    first = bare.split()[0].lower() if bare else ""
    return bare if first.endswith("ing") and first not in _HOW_IT_GOES else None


def _living(text: str) -> str | None:
    """What is done for a living, in the third person."""
    done = text.split(" for a living", maxsplit=1)[0]
    says_what = len(done.split()) > 1 and not re.search(r"\bnot\b|n't\b", done)
    return english_in_third_person(f"I {done}") if says_what else None


def _taught(text: str) -> str | None:
    bare = subject_of_study(text)
    return None if bare is None or set(bare.lower().split()) & _NOT_TAUGHT else bare


def _collected(text: str) -> str | None:
    bare = taste(text)
    if bare is None or set(bare.lower().split()) & _NOT_COLLECTED:
        return None
    return None if bare.lower().startswith(("the ", "to ")) else bare


def _taken_up(text: str) -> str | None:
    bare = re.sub(r" and \w+ it$", "", trimmed(cut_at(text, _END)))
    found = bare.lower().split()
    if not 1 <= len(found) <= 3 or has_pronoun(bare):
        return None
    return bare if found[0].endswith("ing") or found[-1] in SPORTS_AND_INSTRUMENTS else None


def _named_or_described(text: str) -> str | None:
    """An employer with an article or a capital, cut short."""
    bare = trimmed(cut_at(text, _AFTER_A_COMPANY))
    fits = _COMPANY.fullmatch(bare)
    vague = re.search(r"\b(?:mess|joke|nightmare|jerk|idiot|bit|same|one|kind|cheap)\b", bare)
    return bare if fits and not vague and not has_pronoun(bare) else None


NAMES: Final = (
    rule(r"my (?:(?:first|full|real|given|actual) )?name is(?: actually| really)?",
        "User's name is {thing}.", name, "preferred_name", importance=4),
    rule(r"(?:(?:please|just|pls|you can|you may|you should|feel free to) ){0,3}call me",
        "User wants to be called {thing}.", name, "preferred_name", importance=4, is_explicit=True),
    rule(r"(?:everyone|everybody|people|friends|my friends|most people) calls? me|I go by|"
        r"I prefer to be called|my (?:nickname|preferred name) is", "User goes by {thing}.", name,
        "preferred_name", importance=4),
    rule(rf"(?:my (?:preferred )?pronouns are|I use|I go by|"
        rf"my pronouns:?) {_PRONOUNS}(?: pronouns)?", "User's pronouns are {pronouns}.",
        nothing_more, "pronouns", importance=4),
)  # fmt: skip

PLACES: Final = (
    _fact(r"I (?:live|am living|have lived|have been living|reside|am based|am residing|"
        r"am located)(?: here| over)?(?: out| up| down)? in|my home is in|my home ?town is now|"
        r"I (?:have )?settled(?: down)? in", "User lives in {thing}.", home, "home_city"),
    _fact(rf"I (?:have )?(?:just |recently |finally )?(?:moved|"
        rf"relocated){_SOME_TIME}(?: from [\w .'-]{{2,40}}?)? to", "User lives in {thing}.",
        place_moved_to, "home_city"),
    _fact(r"I (?:live|am based) (?:near|close to|just outside|outside)(?: of)?",
        "User lives near {thing}.", known_or_capitalised_place, "home_area"),
    _fact(r"I (?:am|come) (?:originally )?from|my home ?town is", "User is from {thing}.",
        known_or_capitalised_place, "hometown"),
    _fact(r"I was born in", "User was born in {thing}.", known_or_capitalised_place, "birthplace"),
    _fact(r"I (?:no longer live|do not live) in(?=.*\bany ?more)",
        "User no longer lives in {thing}.",
        lambda text: known_or_capitalised_place(text.split(" any")[0])),
    _fact(r"I no longer live in", "User no longer lives in {thing}.", known_or_capitalised_place),
)  # fmt: skip

YEARS: Final = (
    _fact(r"my birthday is|my birthday falls|I was born|my date of birth is",
        "User's birthday is {thing}.", date_in_full, "birthday"),
    _fact(r"I was born", "User was born in {thing}.", year, "birth_year"),
    _fact(r"I am|my age is|I (?:have )?(?:just |recently )?turned", "User is {thing} years old.",
        own_age, "age"),
    rule(r"I am(?: an?)?(?: practi[cs]ing)?", "User is {thing}.", _religion, "religion"),
)  # fmt: skip

PROFILE_RULES: Final = (*NAMES, *PLACES, *YEARS)

SELF: Final = (
    rule(rf"(?:(?:please|pls|always) ){{0,2}}(?:refer to me (?:as|with)|"
        rf"use) {_PRONOUN_SETS}(?: pronouns)?(?: for me| with me| when \w+ (?:about|to) me|"
        rf"(?=,|$| in | please))", "User's pronouns are {pronouns}.", key="pronouns", importance=4,
        is_explicit=True),
    _fact(r"my (?:flat|apartment|house|place|home) is (?:right |just )?(?:in|in central)",
        "User lives in {thing}.", known_or_capitalised_place, "home_city"),
    _fact(r"we (?:live|are living|are based|have been living|have lived) in",
        "User lives in {thing}.", home, "home_city"),
    _fact(r"I (?:grew up|was (?:born and )?(?:raised|bred)|was brought up|spent my childhood) in",
        "User is from {thing}.", place_of_youth, "hometown"),
    _fact(r"I (?:have )?(?:just |recently |finally )?turned", "User is {thing} years old.",
        lambda text: own_age(_SINCE.sub("", text)), "age"),
    _fact(r"(?:as an? (?P<age>[1-9]\d)[- ]?(?:year-old|yo)(?=,? (?:\w+ )?I\b)|"
        r"I am an? (?P<years>[1-9]\d)[- ]?(?:year-old|yo)(?! (?:account|bug|version)))",
        "User is {age}{years} years old.", key="age"),
    rule(rf"as an? (?:practi[cs]ing |devout |observant )?(?P<faith>{any_of(RELIGIONS)})(?=,? I\b)",
        "User is {faith}.", key="religion"),
    _health(rf"as an? (?:strict )?(?P<diet>{any_of(DIETS)})(?=,? I\b)", "User is {diet}.",
        key="diet"),
    rule(r"I am (?:openly )?(?:an? )?(?P<what>gay|lesbian|bisexual|pansexual|asexual|queer|"
        r"transgender|trans|non-?binary)(?: (?:man|woman|person|guy))?", "User is {what}.",
        nothing_more, "sexuality"),
    rule(r"I am (?:an? )?(?:active |registered |longtime |card-carrying )?member of the",
        "User is a member of the {thing}.", _party, "party"),
    rule(rf"I (?P<verb>make|earn|get paid|take home) {_AMOUNT}", "User earns {amount} {per}.",
        key="income"),
    rule(rf"my (?P<what>salary|income|rent|mortgage|pension|pay) is (?:currently )?{_AMOUNT}",
        "User's {what} is {amount} {per}.", key="{what}"),
)  # fmt: skip

REACTIONS: Final = (
    _health(rf"(?P<what>{any_of(ALLERGENS)}) (?:always )?(?:gives?|brings?) me (?P<reaction>hives|"
        rf"a rash|rashes|an itchy (?:throat|mouth)|cramps|stomach cramps|migraines)",
        "{what} gives User {reaction}.", key="allergy:{what}"),
    _health(rf"(?P<what>{any_of(ALLERGENS)}) makes? me (?:break out|itch|swell)(?! to)",
        "User reacts badly to {what}.", key="allergy:{what}"),
    _health(r"I (?:am|have gone) (?P<what>colou?r[- ]?blind|deaf|hard of hearing|coeliac|celiac|"
        r"diabetic|epileptic|asthmatic|dyslexic|autistic|pregnant|(?:left|right)[- ]handed)",
        "User is {what}.", nothing_more, "condition:{what}"),
)  # fmt: skip

SELF_RULES: Final = (*SELF, *REACTIONS)

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

WORK: Final = (
    _work(r"I work in(?= an? )", "User works in {thing}.", employer, "employer"),
    _work(_TRADE, "User works as {thing}.", trade, "occupation"),
    _work(r"(?:I am|I have been(?=.* (?:for|since) )|my (?:job|profession|"
        r"occupation) is(?: being)?) (?P<article>an?)", "User is {article} {thing}.", known_trade,
        "occupation"),
    _work(r"I am (?P<state>retired|self-employed|unemployed|a freelancer|"
        r"a stay-at-home (?:mom|mum|dad|parent))", "User is {state}.", nothing_more, "occupation"),
    _work(r"I (?:work|am working|am employed|(?:have )?(?:just |recently )?started) "
        r"(?:at|for|with) (?:[\w&.'-]+ ){1,4}as(?= an? )", "User works as {thing}.", trade,
        "occupation"),
    _work(r"I (?:have )?(?:just |recently )?(?:switched|moved|changed) from "
        r"(?P<name>[\w.+#-]+(?: [\w.+#-]+)?) to(?= [A-Z])", "User switched from {name} to {thing}.",
        _tool, theme="work"),
    _work(r"I (?:work|am working|am employed|have worked|have been working|"
        r"(?:have )?(?:just |recently )?started)(?: full[- ]time|"
        r" part[- ]time)? (?:at|for)", "User works at {thing}.", employer, "employer"),
    _work(rf"(?:{_TRADE} an?|I am an?) (?:[\w-]{{2,20}} ){{0,4}}(?:engineer|developer|manager|"
        rf"nurse|teacher|doctor|analyst|designer|scientist|researcher|consultant|accountant|lawyer|"
        rf"assistant|professor|lecturer|programmer|chef|editor|architect|officer|technician|"
        rf"director|barista|cashier|receptionist|recruiter|administrator|specialist|intern|writer|"
        rf"journalist|driver) (?:at|for)", "User works at {thing}.", employer, "employer"),
    _work(r"I (?:work|am working|have worked) in", "User works in {thing}.", field_of_work,
        "field_of_work"),
    _work(r"I work in", "User works in {thing}.", _city_of_work, "work_city"),
    rule(r"I work (?P<how>from home|remotely|night shifts|nights)", "User works {how}.",
        nothing_more, "work_arrangement", theme="work"),
    _work(r"I (?P<verb>run|own) (?P<own>an?|my own)", "User {verb} a {thing}.", _business,
        "business"),
    _work(r"I (?:no longer work|do not work(?=.*any ?more)) (?:at|for)",
        "User no longer works at {thing}.", lambda text: employer(text.split(" any")[0])),
    _work(r"I (?:have )?(?:just |recently |finally )?(?P<what>quit|left|"
        r"lost) my job(?: (?:last|this) (?:week|month|year)| yesterday| today)?",
        "User {what} a job.", nothing_more, type=MemoryType.EPISODE),
)  # fmt: skip

STUDIES: Final = (
    _work(r"I (?:study|am studying|am majoring in|major in)", "User studies {thing}.",
        subject_of_study, "studies"),
    _work(r"I (?:study|am studying|am a student|go to (?:college|university|school)|"
        r"am enrolled)(?: [a-z ]{2,40}?)? at", "User studies at {thing}.", school, "school"),
    _work(r"I am (?:doing|pursuing|working on|finishing) (?:a|my) (?P<degree>phd|master'?s|"
        r"bachelor'?s|mba|doctorate|degree)(?: degree)? in", "User is doing a degree in {thing}.",
        subject_of_study, "studies"),
    _work(r"I (?:have )?(?:graduated from|went to (?:college|university) at)",
        "User graduated from {thing}.", school, "education"),
    rule(r"I am (?:slowly )?learning(?: to speak)?", "User is learning {thing}.", languages,
        "learning:{slug}"),
    rule(r"I (?:can )?(?:speak|know how to speak)", "User speaks {thing}.", languages, "language"),
    rule(r"my (?:native|first|mother) (?:language|tongue) is|I am a native speaker of",
        "User's native language is {thing}.", languages, "language:native", importance=3),
    rule(r"I am a native(?= \w+ speaker)", "User's native language is {thing}.",
        lambda text: languages(text.split()[0]), "language:native", importance=3),
)  # fmt: skip

WORK_RULES: Final = (*WORK, *STUDIES)

OCCUPIED: Final = (
    _work(r"I teach", "User teaches {thing}.", _taught, "occupation"),
    _work(r"my (?:day )?(?:job|work|profession|occupation) is(?: basically| mainly| mostly|"
        r" essentially)?", "User's job is {thing}.", _task, "occupation"),
    _work(r"I(?= .{3,60} for a living)", "{thing} for a living.", _living, "occupation"),
    _work(r"I (?:have )?(?:just |recently )?retired(?= (?:last|this|in \d{4}|after|early|two|three|"
        r"a few|\d)\b|\W*$)", "User is retired.", key="occupation"),
    _work(r"I (?:have )?(?:(?:just|recently) (?:started|begun|joined)(?: work| working)?|"
        r"started (?:work|working|a (?:new )?job)|got a (?:new )?job|"
        r"have a (?:new )?job)(?:(?: as an? [\w -]{3,30}?)? (?:at|with)(?! (?:\d|level|version)))",
        "User works at {thing}.", employer, "employer"),
    _work(r"I (?:have )?(?:just |recently )?(?:started(?: working)?|work|am working|am employed|"
        r"joined) (?:at |for |with )?(?-i:[A-Z])[\w &.'’-]{1,40}? as(?= an? )",
        "User works as {thing}.", trade, "occupation"),
    _work(r"my employer is", "User's employer is {thing}.", _named_or_described, "employer"),
    _work(r"I am (?:doing|pursuing|working on|finishing|studying for|in) (?:a|my) (?:part[- ]time |"
        r"full[- ]time |online |second |first )(?P<degree>phd|master'?s|bachelor'?s|mba|doctorate|"
        r"degree)(?: degree)? in", "User is doing a degree in {thing}.", subject_of_study,
        "studies"),
    rule(r"I am (?:slowly |trying to |also )?(?:learning|learn|"
        r"teaching myself)(?= \w+ (?:for|at|on|because|so|since|with|in|and)\b)",
        "User is learning {thing}.", lambda text: languages(cut_at(text, _END)),
        "learning:{slug}"),
)  # fmt: skip

PURSUITS: Final = (
    rule(r"I collect", "User collects {thing}.", _collected, "collects:{slug}", theme="preferences",
        type=MemoryType.PREFERENCE),
    rule(r"I (?:have )?(?:just |recently |finally )?(?:taken up|took up|got into|gotten into)",
        "User has taken up {thing}.", _taken_up, "pursuit:{slug}", theme="preferences"),
    rule(r"I (?:do |practi[cs]e )?(?P<what>yoga|pilates|karate|judo|taekwondo|aikido|ballet|"
        r"crossfit|archery|meditation|calligraphy|pottery|gymnastics)(?=\W*$|,|"
        r" (?:every|on|in|at|twice|once|daily|three|and|to|since|regularly|with|for))",
        "User does {what}.", key="pursuit:{what}", theme="preferences"),
    rule(r"I (?P<verb>play|sing) in (?P<what>an? (?:[\w-]+ ){0,2}(?:band|orchestra|choir|quartet|"
        r"ensemble|league|team))", "User {verb} in {what}.", key="pursuit:{what}",
        theme="preferences"),
)  # fmt: skip

OCCUPATION_RULES: Final = (*OCCUPIED, *PURSUITS)
