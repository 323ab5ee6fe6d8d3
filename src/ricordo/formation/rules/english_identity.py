"""English rules: identity. Clauses are regular: "im" is "I am", "favorite" "favourite"."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import date_in_full, own_age, year
from ricordo.formation.rules.english_tastes import any_of
from ricordo.formation.rules.rule import Rule, nothing_more, starting, trimmed, whatever_follows
from ricordo.formation.rules.things import (
    home,
    known_or_capitalised_place,
    name,
    place_moved_to,
    place_of_youth,
)
from ricordo.formation.rules.word_lists import ALLERGENS, DIETS, RELIGIONS

_PRONOUNS = (
    r"(?P<pronouns>(?:he|she|they|ze|xe)\s?/\s?(?:him|her|them|they|zir|"
    r"xem)(?:\s?/\s?(?:his|hers|theirs))?)"
)
_SOME_TIME = r"(?: (?:back|over|out|here))?"


def _religion(text: str) -> str | None:
    bare = trimmed(text.split(" and ", maxsplit=1)[0].split(",", maxsplit=1)[0])
    return bare[:1].upper() + bare[1:] if bare.lower() in RELIGIONS else None


NAMES: Final = (
    Rule(
        begins=starting(r"my (?:(?:first|full|real|given|actual) )?name is(?: actually| really)?"),
        thing=name,
        content="User's name is {thing}.",
        key="preferred_name",
        importance=4,
    ),
    Rule(
        begins=starting(
            r"(?:(?:please|just|pls|you can|you may|you should|feel free to) ){0,3}call me"
        ),
        thing=name,
        content="User wants to be called {thing}.",
        key="preferred_name",
        importance=4,
        is_explicit=True,
    ),
    Rule(
        begins=starting(
            r"(?:everyone|everybody|people|friends|my friends|most people) calls? me|I go by|"
            r"I prefer to be called|my (?:nickname|preferred name) is"
        ),
        thing=name,
        content="User goes by {thing}.",
        key="preferred_name",
        importance=4,
    ),
    Rule(
        begins=starting(
            rf"(?:my (?:preferred )?pronouns are|I use|I go by|"
            rf"my pronouns:?) {_PRONOUNS}(?: pronouns)?"
        ),
        thing=nothing_more,
        content="User's pronouns are {pronouns}.",
        key="pronouns",
        importance=4,
    ),
)

PLACES: Final = (
    Rule(
        begins=starting(
            r"I (?:live|am living|have lived|have been living|reside|am based|am residing|"
            r"am located)(?: here| over)?(?: out| up| down)? in|my home is in|my home ?town is now|"
            r"I (?:have )?settled(?: down)? in"
        ),
        thing=home,
        content="User lives in {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"I (?:have )?(?:just |recently |finally )?(?:moved|"
            rf"relocated){_SOME_TIME}(?: from [\w .'-]{{2,40}}?)? to"
        ),
        thing=place_moved_to,
        content="User lives in {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:live|am based) (?:near|close to|just outside|outside)(?: of)?"),
        thing=known_or_capitalised_place,
        content="User lives near {thing}.",
        key="home_area",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:am|come) (?:originally )?from|my home ?town is"),
        thing=known_or_capitalised_place,
        content="User is from {thing}.",
        key="hometown",
        importance=3,
    ),
    Rule(
        begins=starting(r"I was born in"),
        thing=known_or_capitalised_place,
        content="User was born in {thing}.",
        key="birthplace",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:no longer live|do not live) in(?=.*\bany ?more)"),
        thing=lambda text: known_or_capitalised_place(text.split(" any")[0]),
        content="User no longer lives in {thing}.",
        importance=3,
    ),
    Rule(
        begins=starting(r"I no longer live in"),
        thing=known_or_capitalised_place,
        content="User no longer lives in {thing}.",
        importance=3,
    ),
)

YEARS: Final = (
    Rule(
        begins=starting(r"my birthday is|my birthday falls|I was born|my date of birth is"),
        thing=date_in_full,
        content="User's birthday is {thing}.",
        key="birthday",
        importance=3,
    ),
    Rule(
        begins=starting(r"I was born"),
        thing=year,
        content="User was born in {thing}.",
        key="birth_year",
        importance=3,
    ),
    Rule(
        begins=starting(r"I am|my age is|I (?:have )?(?:just |recently )?turned"),
        thing=own_age,
        content="User is {thing} years old.",
        key="age",
        importance=3,
    ),
    Rule(
        begins=starting(r"I am(?: an?)?(?: practi[cs]ing)?"),
        thing=_religion,
        content="User is {thing}.",
        key="religion",
    ),
)

PROFILE_RULES: Final = (*NAMES, *PLACES, *YEARS)


_PRONOUN_SETS = r"(?P<pronouns>(?:he|she|they|ze|xe)\s?/\s?(?:him|her|them|they|zir|xem))"
_SINCE = re.compile(
    r",? (?:(?:last|this) \w+|yesterday|in (?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December)|a (?:few )?(?:days?|weeks?|months?) ago|recently)\b.*"
)
# A bare small number may count anything: "I make three coffees a day".
_AMOUNT = (
    r"(?:about |around |roughly |approximately |just over |"
    r"just under )?(?P<amount>[$€£¥] ?\d[\d.,]{0,11}k?|"
    r"\d[\d.,]{0,11} ?(?:k|thousand|million|euros?|dollars?|pounds|usd|eur|gbp|[$€£¥])(?!\w)|"
    r"\d[\d.,]{2,11}|\d{2}(?= (?:an|per) hour)) ?(?P<per>(?:an?|per|every) (?:month|year|week|hour|"
    r"day))"
)


def _age_turned(text: str) -> str | None:
    return own_age(_SINCE.sub("", text))


def _party(text: str) -> str | None:
    found = re.match(r"((?:[\w'’-]+ ){0,4}party)(?! (?:tonight|planning))\b", text, re.IGNORECASE)
    return found[1] if found and trimmed(found[1]) == found[1] else None


SELF: Final = (
    Rule(
        begins=starting(
            rf"(?:(?:please|pls|always) ){{0,2}}(?:refer to me (?:as|with)|use) {_PRONOUN_SETS}"
            rf"(?: pronouns)?(?: for me| with me| when \w+ (?:about|to) me|(?=,|$| in | please))"
        ),
        thing=whatever_follows,
        content="User's pronouns are {pronouns}.",
        key="pronouns",
        importance=4,
        is_explicit=True,
    ),
    Rule(
        begins=starting(
            r"my (?:flat|apartment|house|place|home) is (?:right |just )?(?:in|in central)"
        ),
        thing=known_or_capitalised_place,
        content="User lives in {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(r"we (?:live|are living|are based|have been living|have lived) in"),
        thing=home,
        content="User lives in {thing}.",
        key="home_city",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:grew up|was (?:born and )?(?:raised|bred)|was brought up|spent my childhood) in"
        ),
        thing=place_of_youth,
        content="User is from {thing}.",
        key="hometown",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:have )?(?:just |recently |finally )?turned"),
        thing=_age_turned,
        content="User is {thing} years old.",
        key="age",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:as an? (?P<age>[1-9]\d)[- ]?(?:year-old|yo)(?=,? (?:\w+ )?I\b)|"
            r"I am an? (?P<years>[1-9]\d)[- ]?(?:year-old|yo)(?! (?:account|bug|version)))"
        ),
        thing=whatever_follows,
        content="User is {age}{years} years old.",
        key="age",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"as an? (?:practi[cs]ing |devout |"
            rf"observant )?(?P<faith>{any_of(RELIGIONS)})(?=,? I\b)"
        ),
        thing=whatever_follows,
        content="User is {faith}.",
        key="religion",
    ),
    Rule(
        begins=starting(rf"as an? (?:strict )?(?P<diet>{any_of(DIETS)})(?=,? I\b)"),
        thing=whatever_follows,
        content="User is {diet}.",
        key="diet",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(
            r"I am (?:openly )?(?:an? )?(?P<what>gay|lesbian|bisexual|pansexual|asexual|queer|"
            r"transgender|trans|non-?binary)(?: (?:man|woman|person|guy))?"
        ),
        thing=nothing_more,
        content="User is {what}.",
        key="sexuality",
    ),
    Rule(
        begins=starting(
            r"I am (?:an? )?(?:active |registered |longtime |card-carrying )?member of the"
        ),
        thing=_party,
        content="User is a member of the {thing}.",
        key="party",
    ),
    Rule(
        begins=starting(rf"I (?P<verb>make|earn|get paid|take home) {_AMOUNT}"),
        thing=whatever_follows,
        content="User earns {amount} {per}.",
        key="income",
    ),
    Rule(
        begins=starting(
            rf"my (?P<what>salary|income|rent|mortgage|pension|pay) is (?:currently )?{_AMOUNT}"
        ),
        thing=whatever_follows,
        content="User's {what} is {amount} {per}.",
        key="{what}",
    ),
)

REACTIONS: Final = (
    Rule(
        begins=starting(
            rf"(?P<what>{any_of(ALLERGENS)}) (?:always )?(?:gives?|brings?) me (?P<reaction>hives|"
            r"a rash|rashes|an itchy (?:throat|mouth)|cramps|stomach cramps|migraines)"
        ),
        thing=whatever_follows,
        content="{what} gives User {reaction}.",
        key="allergy:{what}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(
            rf"(?P<what>{any_of(ALLERGENS)}) makes? me (?:break out|itch|swell)(?! to)"
        ),
        thing=whatever_follows,
        content="User reacts badly to {what}.",
        key="allergy:{what}",
        theme="health",
        importance=4,
    ),
    Rule(
        begins=starting(
            r"I (?:am|have gone) (?P<what>colou?r[- ]?blind|deaf|hard of hearing|coeliac|celiac|"
            r"diabetic|epileptic|asthmatic|dyslexic|autistic|pregnant|(?:left|right)[- ]handed)"
        ),
        thing=nothing_more,
        content="User is {what}.",
        key="condition:{what}",
        theme="health",
        importance=4,
    ),
)

SELF_RULES: Final = (*SELF, *REACTIONS)
