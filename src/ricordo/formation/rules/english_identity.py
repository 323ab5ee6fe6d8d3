"""English rules: identity. Clauses are regular: "im" is "I am", "favorite" "favourite"."""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.descriptions import date_in_full, own_age, year
from ricordo.formation.rules.english_tastes import any_of
from ricordo.formation.rules.rule import nothing_more, rule, trimmed
from ricordo.formation.rules.things import (
    home,
    known_or_capitalised_place,
    name,
    place_moved_to,
    place_of_youth,
)
from ricordo.formation.rules.word_lists import ALLERGENS, DIETS, RELIGIONS
from ricordo.formation.words import alternatives, pattern

_health = partial(rule, theme="health", importance=4)
_fact = partial(rule, importance=3)

_PRONOUNS = alternatives("english", "pronouns")
_SOME_TIME = r"(?: (?:back|over|out|here))?"


def _religion(text: str) -> str | None:
    bare = trimmed(text.split(" and ", maxsplit=1)[0].split(",", maxsplit=1)[0])
    return bare[:1].upper() + bare[1:] if bare.lower() in RELIGIONS else None


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


_PRONOUN_SETS = r"(?P<pronouns>(?:he|she|they|ze|xe)\s?/\s?(?:him|her|them|they|zir|xem))"
_SINCE = pattern("english", "since")
_AMOUNT = alternatives("english", "amount")


def _age_turned(text: str) -> str | None:
    return own_age(_SINCE.sub("", text))


def _party(text: str) -> str | None:
    found = re.match(r"((?:[\w'’-]+ ){0,4}party)(?! (?:tonight|planning))\b", text, re.IGNORECASE)
    return found[1] if found and trimmed(found[1]) == found[1] else None


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
        _age_turned, "age"),
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
