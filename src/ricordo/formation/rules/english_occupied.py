"""English rules: more ways of saying what one does all day, for money or for fun."""

import re
from typing import Final

from ricordo.formation.rules.descriptions import employer, languages, subject_of_study, trade
from ricordo.formation.rules.english_person import in_third_person
from ricordo.formation.rules.rule import Rule, starting, whatever_follows
from ricordo.formation.rules.tastes import taste
from ricordo.formation.rules.trimming import cut_at, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import SPORTS_AND_INSTRUMENTS
from ricordo.formation.rules.word_sets import words
from ricordo.model.vocabulary import MemoryType

_MAX_WORDS: Final = 6
_END = re.compile(
    r"[,\s]+(?:for|at|in|on|because|so|since|with|when|where|which|who|that|but|like|as|by|"
    r"from|and "
    r"(?=i\b|my\b|we\b|love|hate|like))\b.*|,.*",
    re.IGNORECASE,
)
# "My job is getting harder": how it goes, not what it is.
_HOW_IT_GOES: Final = words("""
getting becoming killing driving going being starting ending changing looking feeling stressing
boring tiring draining exhausting demanding interesting paying wearing taking coming
""")
_NOT_TAUGHT: Final = words("how what people it lessons there here you everyone others classes")
_NOT_COLLECTED: Final = words("""
data logs metrics information info feedback samples payments rent money stats events responses
dust unemployment points tickets errors requests
""")


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
            r"I (?:have )?(?:just |recently )?retired(?= (?:last|this|in \d{4}|after|"
            r"early|two|three|"
            r"a few|\d)\b|\W*$)"
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
            r"started (?:work|working|a (?:new )?job)|got a (?:new )?job|have a (?:new )?job)"
            r"(?:(?: as an? [\w -]{3,30}?)? (?:at|with)(?! (?:\d|level|version)))"
        ),
        thing=employer,
        content="User works at {thing}.",
        key="employer",
        theme="work",
        importance=3,
    ),
    Rule(
        begins=starting(
            r"I (?:have )?(?:just |recently )?(?:started(?: working)?|work|am working|"
            r"am employed|joined) "
            r"(?:at |for |with )?(?-i:[A-Z])[\w &.'’-]{1,40}? as(?= an? )"
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
            r"my) (?:part[- ]time |"
            r"full[- ]time |online |second |first )(?P<degree>phd|master'?s|bachelor'?s|mba|"
            r"doctorate|degree)(?: degree)? in"
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
            r"crossfit|archery|meditation|calligraphy|pottery|gymnastics)"
            r"(?=\W*$|,| (?:every|on|in|at|twice|once|daily|three|and|to|since|regularly|with|for))"
        ),
        thing=whatever_follows,
        content="User does {what}.",
        key="pursuit:{what}",
        theme="preferences",
    ),
    Rule(
        begins=starting(
            r"I (?P<verb>play|sing) in (?P<what>an? (?:[\w-]+ ){0,2}(?:band|orchestra|choir|"
            r"quartet|"
            r"ensemble|league|team))"
        ),
        thing=whatever_follows,
        content="User {verb} in {what}.",
        key="pursuit:{what}",
        theme="preferences",
    ),
)

RULES: Final = (*OCCUPIED, *PURSUITS)
