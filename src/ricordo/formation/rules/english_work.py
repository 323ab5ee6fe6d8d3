"""English rules: occupation, studies and languages."""

import re
from functools import partial
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
from ricordo.formation.rules.english_forms import in_third_person
from ricordo.formation.rules.rule import cut_at, has_pronoun, nothing_more, rule, trimmed
from ricordo.formation.rules.things import known_or_capitalised_place, taste
from ricordo.formation.rules.word_lists import BUSINESSES, LANGUAGES, SPORTS_AND_INSTRUMENTS
from ricordo.formation.words import pattern, words
from ricordo.model.vocabulary import MemoryType

_work = partial(rule, theme="work", importance=3)


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
    _work(r"I work in(?= an? )", "User works in {thing}.", employer, "employer"),
    _work(_TRADE, "User works as {thing}.", trade, "occupation"),
    _work(r"(?:I am|I have been(?=.* (?:for|since) )|my (?:job|profession|"
        r"occupation) is(?: being)?) (?P<article>an?)", "User is {article} {thing}.", known_trade,
        "occupation"),
    _work(r"I am (?P<state>retired|self-employed|unemployed|a freelancer|"
        r"a stay-at-home (?:mom|mum|dad|parent))", "User is {state}.", nothing_more, "occupation"),
    _work(r"I (?:work|am working|am employed|have worked|have been working)(?: full[- ]time|"
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


_MAX_WORDS: Final = 6
_END = pattern("english", "after a pursuit", re.IGNORECASE)
# "My job is getting harder": how it goes, not what it is.
_HOW_IT_GOES: Final = words("rules", "how it goes")
_NOT_TAUGHT: Final = words("rules", "not taught")
_NOT_COLLECTED: Final = words("rules", "not collected")


def _task(text: str) -> str | None:
    """What a job consists of: "fixing lifts"."""
    bare = trimmed(cut_at(text, re.compile(r"[,\s]+(?:so|because|but|which|for|at|in)\b.*|,.*")))
    found = bare.split()
    if not 2 <= len(found) <= _MAX_WORDS or has_pronoun(bare):
        return None
    first = found[0].lower()
    return bare if first.endswith("ing") and first not in _HOW_IT_GOES else None


def _living(text: str) -> str | None:
    """What is done for a living, in the third person."""
    done = text.split(" for a living", maxsplit=1)[0]
    says_what = len(done.split()) > 1 and not re.search(r"\bnot\b|n't\b", done)
    return in_third_person(f"I {done}") if says_what else None


def _taught(text: str) -> str | None:
    bare = subject_of_study(text)
    return None if bare is None or set(bare.lower().split()) & _NOT_TAUGHT else bare


def _collected(text: str) -> str | None:
    bare = taste(text)
    if bare is None or set(bare.lower().split()) & _NOT_COLLECTED:
        return None
    return None if bare.lower().startswith(("the ", "to ")) else bare


def _taken_up(text: str) -> str | None:
    bare = trimmed(cut_at(text, _END))
    bare = re.sub(r" and \w+ it$", "", bare)
    found = bare.split()
    is_thing = 1 <= len(found) <= 3 and not has_pronoun(bare)
    is_pursuit = is_thing and (
        found[0].lower().endswith("ing") or found[-1].lower() in SPORTS_AND_INSTRUMENTS
    )
    return bare if is_pursuit else None


def _named_or_described(text: str) -> str | None:
    """An employer with an article or a capital, cut short."""
    bare = trimmed(cut_at(text, re.compile(r"[,\s]+(?:in|and|but|so|who|which|that|near)\b.*|,.*")))
    fits = re.fullmatch(
        r"(?:(?:an?|the) (?:[\w&'’-]+ ?){1,5}|[A-Z][\w&'’.-]*(?: [\w&'’.-]+){0,4})", bare
    )
    vague = re.search(r"\b(?:mess|joke|nightmare|jerk|idiot|bit|same|one|kind|cheap)\b", bare)
    return bare if fits and not vague and not has_pronoun(bare) else None


def _language_alone(text: str) -> str | None:
    return languages(cut_at(text, _END))


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
        "User is learning {thing}.", _language_alone, "learning:{slug}"),
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
