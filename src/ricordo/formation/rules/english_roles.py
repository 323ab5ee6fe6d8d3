"""English rules of the second line: work and study, told by the form of the sentence.

They are asked only where no closer rule reads the clause.
"""

import re
from typing import Final

from ricordo.formation.rules.descriptions import languages, subject_of_study, trade
from ricordo.formation.rules.rule import Rule, Thing, starting, whatever_follows
from ricordo.formation.rules.trimming import cut_at, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import LANGUAGES, OCCUPATIONS
from ricordo.formation.rules.word_sets import words

_MAX_WORDS: Final = 5
# Nouns of people that name no trade, though they end like one.
_NO_TRADE: Final = words("""
beginner starter newcomer learner lover hater user customer member buyer owner player smoker drinker
thinker believer eater sleeper riser helper follower reader listener viewer speaker winner loser
sucker stranger outsider insider foreigner number matter father mother brother sister daughter
grandfather grandmother teenager kisser fighter survivor sufferer patient parent client resident
tenant adult child person human optimist pessimist perfectionist feminist realist minimalist
idealist narcissist racist sexist tourist vegetarian christian librarian's italian indian
asian american canadian australian brazilian russian norwegian hungarian austrian egyptian
nigerian giant savant
applicant participant migrant immigrant descendant dependant mess bit holder keeper hoarder gamer
walker talker stickler spender saver picker dreamer wanderer traveller traveler commuter neighbour
neighbor visitor investor donor voter supporter subscriber contender sitter quitter goner late-comer
disaster monster transfer order error minor major senior junior elder boomer homeowner landowner
zoomer backer cancer diabetic extrovert introvert right-hander left-hander procrastinator newlywed
nonsmoker non-smoker maker heavy sponsor survivor worrier over-thinker overthinker outlier
""")
_TRADE_ENDINGS: Final = (
    "er", "or", "ist", "ician", "arian", "ographer", "man", "woman", "wright", "smith", "keeper",
    "monger", "nurse", "guide", "vet", "medic", "clerk", "agent", "attendant", "assistant", "chef",
    "host", "hostess", "apprentice", "guard", "cook", "coach", "pilot", "rep", "dev", "scientist",
    "captain", "consultant", "accountant", "analyst",
)  # fmt: skip
_LOOSE: Final = words("""
good great bad better terrible big huge slow fast quick real team lazy poor happy proud fussy picky
light late early fellow former ex first-time aspiring wannabe would-be future bit total complete
fast keen born natural sore hard hardcore long longtime avid
""")
_COURSE = (
    r"(?P<course>(?:[\w'-]+ ){0,4}?(?:degree|diploma|certificate|course|apprenticeship|phd|"
    r"master's|"
    r"masters|bachelor's|bachelors|mba|doctorate|internship|traineeship|residency|a-levels|"
    r"bootcamp|evening class|night class|qualification|minor|major))"
)
_NOT_RUN: Final = words("""
script test tests server program query job command container cluster loop function fever risk errand
mac pc computer machine windows model version instance build check scan report campaign simulation
marathon race bath cold temperature few lot lower higher query node process service vm docker
benchmark line line-by-line survey experiment pipeline migration search linux ship smile life
""")


def role(text: str) -> str | None:
    """An occupation by its ending: "harbour pilot", "luthier's apprentice"."""
    bare = trade(f"a {text}")
    if bare is None or len(bare.split()) > _MAX_WORDS:
        return None
    found = bare.lower().split()[1:]
    last = found[-1]
    if last in _NO_TRADE or set(found) & (_LOOSE | LANGUAGES) or not last.isascii():
        return None
    is_trade = last in OCCUPATIONS or (len(last) > 4 and last.endswith(_TRADE_ENDINGS))
    return bare[2:] if is_trade else None


def _with_article(text: str) -> str | None:
    found = role(text)
    return f"{'an' if found[0].lower() in 'aeiou' else 'a'} {found}" if found else None


def _any_trade(text: str) -> str | None:
    """What stands before "by trade", which says by itself what it is."""
    bare = trimmed(re.split(r" by (?:trade|profession)", text, maxsplit=1)[0])
    return bare if 1 <= len(bare.split()) <= _MAX_WORDS and not has_pronoun(bare) else None


def _means(text: str) -> str | None:
    return _with_article(re.split(r" (?:means|is|makes|has)\b|,", text, maxsplit=1)[0])


def _named(text: str) -> str | None:
    """A name after "a company called"."""
    found = re.match(r"(?P<name>[A-Z][\w&'’.-]*(?: [A-Z][\w&'’.-]*){0,3})", text)
    return found["name"].rstrip(".") if found else None


def _led(text: str) -> str | None:
    """What one leads or runs: people or a place, not a program."""
    bare = trimmed(
        cut_at(text, re.compile(r"[,\s]+(?:in|at|for|on|with|and|but|so|that|which|who|where|near|"
                                r"from|because|every|to|out|as)\b.*|,.*", re.IGNORECASE))
    )  # fmt: skip
    found = bare.lower().split()
    if not 1 <= len(found) <= 6 or set(found) & _NOT_RUN or has_pronoun(bare):
        return None
    return bare if not any(map(str.isdigit, found[0])) else None


def _topic(text: str) -> str | None:
    bare = trimmed(re.split(r",| and (?=i\b|my\b)| but | so | due ", text, maxsplit=1)[0])
    return bare if 1 <= len(bare.split()) <= 8 and not has_pronoun(bare) else None


def _spoken(text: str) -> str | None:
    """The languages in "Thai with my parents and Lao at work"."""
    known = [
        word for word in re.findall(r"[A-Za-z]+", text.split(",", maxsplit=1)[0])
        if word.lower() in LANGUAGES
    ]  # fmt: skip
    first = text.split(maxsplit=1)[0].lower() if text else ""
    if first not in LANGUAGES and first not in ("fluent", "some", "both", "good", "basic"):
        return None
    return languages(" and ".join(dict.fromkeys(known[:4]))) if known else None


def _work(begins: str, content: str, thing: Thing = role, key: str = "occupation") -> Rule:
    return Rule(
        begins=starting(begins), thing=thing, content=content, key=key, theme="work", importance=3
    )


ROLES: Final = (
    _work(r"I am (?P<article>an?)", "User is {article} {thing}."),
    _work(r"I am (?P<article>an?)(?= .{3,50} by (?:trade|profession)\b)",
          "User is {article} {thing} by trade.", _any_trade),
    _work(r"(?:speaking )?as (?P<article>an?)(?=[\w ,-]{4,50},? (?:I|my)\b)",
          "User is {article} {thing}.",
          lambda text: role(re.split(r",? (?:I|my)\b", text, maxsplit=1)[0])),
    _work(r"being (?P<article>an?)(?= .{3,40} (?:means|is|makes|has)\b.*\b(?:I|me|my)\b)",
          "User is {thing}.", _means),
    _work(r"(?:I am )?(?:a )?(?:retired|ex-|semi-retired)(?= )", "User is a retired {thing}."),
    _work(r"[^.!?]{0,120}?\bwhere I am(?: the| an?)?", "User is {thing}.", _with_article),
    _work(r"I (?:have )?(?:just |recently )?(?:qualified|trained|retrained|started(?: out)?|"
          r"got (?:hired|promoted)(?: to)?) as an?", "User is {thing}.", _with_article),
    _work(r"I am (?:on|in|part of|with) (?:the|an?) (?:[\w-]+ ){0,4}(?:team|department|office|"
        r"crew) "
          r"(?:at|of|for)(?: an? (?:[\w-]+ ){0,4}(?:called|named))?(?= )",
          "User works at {thing}.", _named, "employer"),
    _work(r"I (?:work|am working|am employed) (?:at|for|with|in) (?:an?|the) (?:[\w-]+ ){0,4}"
          r"(?:called|named)", "User works at {thing}.", _named, "employer"),
    _work(r"I (?P<verb>manage|lead|coach|conduct|chair|run|own|co-own|head|direct) "
        r"(?P<article>an?)",
          "User {verb} {article} {thing}.", _led, "leads:{slug}"),
)  # fmt: skip

STUDIES: Final = (
    _work(
        r"I am (?:currently )?(?:doing|taking|pursuing|finishing|studying for|working (?:on|"
        r"towards?)|"
        rf"enrolled (?:in|on)|in the middle of|halfway through) (?:an?|my) {_COURSE}"
        r"(?! (?:project|assignment|work))",
        "User is doing a {course}.", whatever_follows, "studies"),
    _work(r"my (?P<work>thesis|dissertation|phd|master's thesis|doctorate|degree|major|research|"
          r"bachelor's thesis) is (?P<about>on|about|in)",
          "User's {work} is {about} {thing}.", _topic, "studies"),
    _work(r"I (?:have )?(?:studied|majored in|got a degree in|have a degree in|"
          r"did a (?:degree|master's|phd) in)", "User studied "
          "{thing}.", subject_of_study, "education"),
    Rule(begins=starting(r"I (?:can )?(?:speak|am fluent in)"), thing=_spoken,
         content="User speaks {thing}.", key="language"),
)  # fmt: skip

RULES: Final = (*ROLES, *STUDIES)
