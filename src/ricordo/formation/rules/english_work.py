"""English rules: what the user does for a living, studies and speaks."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import (
    employer,
    field_of_work,
    known_trade,
    languages,
    school,
    subject_of_study,
    trade,
)
from ricordo.formation.rules.rule import Rule, nothing_more, starting
from ricordo.formation.rules.things import known_or_capitalised_place
from ricordo.formation.rules.trimming import trimmed
from ricordo.formation.rules.word_lists import BUSINESSES, LANGUAGES
from ricordo.model.vocabulary import MemoryType


def _business(text: str) -> str | None:
    bare = trimmed(
        re.split(r" (?:in|at|near|by|outside|on|from|for) ", text, maxsplit=1)[0]
        .split(" with ", maxsplit=1)[0]
        .split(" and ", maxsplit=1)[0]
        .split(",", maxsplit=1)[0]
    )
    words = bare.lower().split()
    return bare if 1 <= len(words) <= 4 and words[-1] in BUSINESSES else None


def _city_of_work(text: str) -> str | None:
    found = known_or_capitalised_place(text)
    return None if found and found.lower() in LANGUAGES else found


_TRADE = r"I (?:work|am working|am employed|have been working|worked and still work) as"

WORK: Final = (
    Rule(
        begins=starting(r"I work in(?= an? )"),
        thing=employer,
        content="User works in {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(_TRADE),
        thing=trade,
        content="User works as {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"(?:I am|I have been(?=.* (?:for|since) )|my (?:job|profession|"
            r"occupation) is(?: being)?) (?P<article>an?)"
        ),
        thing=known_trade,
        content="User is {article} {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I am (?P<state>retired|self-employed|unemployed|a freelancer|"
            r"a stay-at-home (?:mom|mum|dad|parent))"
        ),
        thing=nothing_more,
        content="User is {state}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:work|am working|am employed|have worked|have been working)(?: full[- ]time|"
            r" part[- ]time)? (?:at|for)"
        ),
        thing=employer,
        content="User works at {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            rf"(?:{_TRADE} an?|I am an?) (?:[\w-]{{2,20}} ){{0,4}}(?:engineer|developer|"
            rf"manager|nurse|teacher|doctor|"
            r"analyst|designer|scientist|researcher|consultant|accountant|lawyer|assistant|"
            r"professor|"
            r"lecturer|programmer|chef|editor|architect|officer|technician|director|barista|"
            r"cashier|"
            r"receptionist|recruiter|administrator|specialist|intern|writer|journalist|"
            r"driver) (?:at|for)"
        ),
        thing=employer,
        content="User works at {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:work|am working|have worked) in"),
        thing=field_of_work,
        content="User works in {thing}.",
        key="field_of_work",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I work in"),
        thing=_city_of_work,
        content="User works in {thing}.",
        key="work_city",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I work (?P<how>from home|remotely|night shifts|nights)"),
        thing=nothing_more,
        content="User works {how}.",
        key="work_arrangement",
        theme="work",
    ),
    Rule(
        begins=starting(r"I (?P<verb>run|own) (?P<own>an?|my own)"),
        thing=_business,
        content="User {verb} a {thing}.",
        key="business",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:no longer work|do not work(?=.*any ?more)) (?:at|for)"),
        thing=lambda text: employer(text.split(" any")[0]),
        content="User no longer works at {thing}.",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:just |recently |finally )?(?P<what>quit|left|"
            r"lost) my job(?: (?:last|this) (?:week|month|year)| yesterday| today)?"
        ),
        thing=nothing_more,
        content="User {what} a job.",
        type=MemoryType.EPISODE,
        theme="work",
        importance=3,
    ),
)

STUDIES: Final = (
    Rule(
        begins=starting(r"I (?:study|am studying|am majoring in|major in)"),
        thing=subject_of_study,
        content="User studies {thing}.",
        key="studies",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:study|am studying|am a student|go to (?:college|university|school)|"
            r"am enrolled)(?: [a-z ]{2,40}?)? at"
        ),
        thing=school,
        content="User studies at {thing}.",
        key="school",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I am (?:doing|pursuing|working on|finishing) (?:a|my) (?P<degree>phd|master'?s|"
            r"bachelor'?s|mba|doctorate|degree)(?: degree)? in"
        ),
        thing=subject_of_study,
        content="User is doing a degree in {thing}.",
        key="studies",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I (?:have )?(?:graduated from|went to (?:college|university) at)"),
        thing=school,
        content="User graduated from {thing}.",
        key="education",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I am (?:slowly )?learning(?: to speak)?"),
        thing=languages,
        content="User is learning {thing}.",
        key="learning:{slug}",
    ),
    Rule(
        begins=starting(r"I (?:can )?(?:speak|know how to speak)"),
        thing=languages,
        content="User speaks {thing}.",
        key="language",
    ),
    Rule(
        begins=starting(
            r"my (?:native|first|mother) (?:language|tongue) is|I am a native speaker of"
        ),
        thing=languages,
        content="User's native language is {thing}.",
        key="language:native",
        importance=3,
    ),
    Rule(
        begins=starting(r"I am a native(?= \w+ speaker)"),
        thing=lambda text: languages(text.split()[0]),
        content="User's native language is {thing}.",
        key="language:native",
        importance=3,
    ),
)

RULES: Final = (*WORK, *STUDIES)
