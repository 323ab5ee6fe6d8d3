"""English rules: who the user is. Clauses are regular: "im" is "I am", "favorite" "favourite"."""

from typing import Final

from ricordo.formation.rules.descriptions import (
    date_in_full,
    own_age,
    year,
)
from ricordo.formation.rules.rule import Rule, nothing_more, starting
from ricordo.formation.rules.things import home, known_or_capitalised_place, name, place_moved_to
from ricordo.formation.rules.trimming import trimmed
from ricordo.formation.rules.word_lists import RELIGIONS

_PRONOUNS = (
    r"(?P<pronouns>(?:he|she|they|ze|xe)\s?/\s?(?:him|her|them|they|zir|xem)(?:\s?/\s?(?:his|"
    r"hers|theirs))?)"
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
            r"am located)"
            r"(?: here| over)?(?: out| up| down)? in|my home is in|my home ?town is now|"
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

RULES: Final = (*NAMES, *PLACES, *YEARS)
