"""English rules: occupation, studies and languages."""

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
from ricordo.formation.rules.english_forms import in_third_person
from ricordo.formation.rules.rule import (
    Rule,
    cut_at,
    has_pronoun,
    nothing_more,
    starting,
    trimmed,
    whatever_follows,
)
from ricordo.formation.rules.things import known_or_capitalised_place, taste
from ricordo.formation.rules.word_lists import BUSINESSES, LANGUAGES, SPORTS_AND_INSTRUMENTS
from ricordo.formation.words import words
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
            rf"(?:{_TRADE} an?|I am an?) (?:[\w-]{{2,20}} ){{0,4}}(?:engineer|developer|manager|"
            rf"nurse|teacher|doctor|"
            r"analyst|designer|scientist|researcher|consultant|accountant|lawyer|assistant|"
            r"professor|lecturer|programmer|chef|editor|architect|officer|technician|director|"
            r"barista|cashier|receptionist|recruiter|administrator|specialist|intern|writer|"
            r"journalist|driver) (?:at|for)"
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

WORK_RULES: Final = (*WORK, *STUDIES)


_MAX_WORDS: Final = 6
_END = re.compile(
    r"[,\s]+(?:for|at|in|on|because|so|since|with|when|where|which|who|that|but|like|as|by|from|"
    r"and (?=i\b|my\b|we\b|love|hate|like))\b.*|,.*",
    re.IGNORECASE,
)
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
    Rule(
        begins=starting(r"I teach"),
        thing=_taught,
        content="User teaches {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"my (?:day )?(?:job|work|profession|occupation) is(?: basically| mainly| mostly|"
            r" essentially)?"
        ),
        thing=_task,
        content="User's job is {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I(?= .{3,60} for a living)"),
        thing=_living,
        content="{thing} for a living.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:just |recently )?retired(?= (?:last|this|in \d{4}|after|early|two|"
            r"three|a few|\d)\b|\W*$)"
        ),
        thing=whatever_follows,
        content="User is retired.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:(?:just|recently) (?:started|begun|joined)(?: work| working)?|"
            r"started (?:work|working|a (?:new )?job)|got a (?:new )?job|"
            r"have a (?:new )?job)(?:(?: as an? [\w -]{3,30}?)? (?:at|"
            r"with)(?! (?:\d|level|version)))"
        ),
        thing=employer,
        content="User works at {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:just |recently )?(?:started(?: working)?|work|am working|am employed|"
            r"joined) (?:at |for |with )?(?-i:[A-Z])[\w &.'’-]{1,40}? as(?= an? )"
        ),
        thing=trade,
        content="User works as {thing}.",
        key="occupation",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"my employer is"),
        thing=_named_or_described,
        content="User's employer is {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I am (?:doing|pursuing|working on|finishing|studying for|in) (?:a|"
            r"my) (?:part[- ]time |full[- ]time |online |second |first )(?P<degree>phd|master'?s|"
            r"bachelor'?s|mba|doctorate|degree)(?: degree)? in"
        ),
        thing=subject_of_study,
        content="User is doing a degree in {thing}.",
        key="studies",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(r"I am (?:slowly |trying to |also )?(?:learning|learn|"
            r"teaching myself)(?= \w+ (?:for|at|on|because|so|since|with|in|and)\b)"),
        thing=_language_alone,
        content="User is learning {thing}.",
        key="learning:{slug}",
    ),
)  # fmt: skip

PURSUITS: Final = (
    Rule(
        begins=starting(r"I collect"),
        thing=_collected,
        content="User collects {thing}.",
        key="collects:{slug}",
        theme="preferences",
        type=MemoryType.PREFERENCE,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:just |recently |finally )?(?:taken up|took up|got into|gotten into)"
        ),
        thing=_taken_up,
        content="User has taken up {thing}.",
        key="pursuit:{slug}",
        theme="preferences",
    ),
    Rule(
        begins=starting(
            r"I (?:do |practi[cs]e )?(?P<what>yoga|pilates|karate|judo|taekwondo|aikido|ballet|"
            r"crossfit|archery|meditation|calligraphy|pottery|gymnastics)(?=\W*$|,|"
            r" (?:every|on|in|at|twice|once|daily|three|and|to|since|regularly|with|for))"
        ),
        thing=whatever_follows,
        content="User does {what}.",
        key="pursuit:{what}",
        theme="preferences",
    ),
    Rule(
        begins=starting(
            r"I (?P<verb>play|sing) in (?P<what>an? (?:[\w-]+ ){0,2}(?:band|orchestra|choir|"
            r"quartet|ensemble|league|team))"
        ),
        thing=whatever_follows,
        content="User {verb} in {what}.",
        key="pursuit:{what}",
        theme="preferences",
    ),
)

OCCUPATION_RULES: Final = (*OCCUPIED, *PURSUITS)
