"""English rules of the second line: people, animals and things that belong to the user's life.

They are asked only where no closer rule reads the clause.
"""

import re
from typing import Final

from ricordo.formation.rules.descriptions import date_in_full
from ricordo.formation.rules.english_personal import allergen, any_of
from ricordo.formation.rules.rule import Rule, starting, whatever_follows
from ricordo.formation.rules.tastes import taste
from ricordo.formation.rules.things import name
from ricordo.formation.rules.trimming import cut_at, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import CHILDREN, NUMBER_WORDS, PETS, RELATIONS
from ricordo.formation.rules.word_sets import words

_MAX_WORDS: Final = 6
_RELATION = (
    rf"my (?:(?:older|younger|little|big|elder|eldest|oldest|youngest|middle|twin) )?"
    rf"(?P<relation>{any_of(RELATIONS)}|youngest|eldest|oldest)(?: one)?"
)
_COUNT = rf"(?:{any_of(NUMBER_WORDS)}|\d{{1,2}})"
_AFTER = re.compile(
    r"[,\s]+(?:that|which|who|with|and (?=i\b|my\b|we\b|it\b|now|want|need)|but|so|for|from|"
    r"since|at|"
    r"in|because|yesterday|last|now|today|on|to|this|whose|already|when|as|if|after|before|every|"
    r"off|online|secondhand|second-hand|and (?:i|my|we))\b.*|,.*",
    re.IGNORECASE,
)
# What one "has" or "calls" something without keeping it.
_NO_BELONGING: Final = words("""
function variable file table column class method script folder directory repo repository project app
application character server bug song book movie film show game branch package module library field
tool api endpoint database model company colleague coworker question problem issue thing plan idea
ticket tickets few lot couple bunch bit copy version sandwich coffee meal drink present gift pizza
snack lunch dress shirt pair bottle packet bag box pack piece course subscription plane bus train
taxi cab uber wave roller bargain hard mile night day while lift flight domain bugger
""")
_PROBLEM: Final = words("""
leak leaks mould mold mice damp crack cracks smell rats ants noise problem problems issue issues
draught flea fleas moths wasps been no not a
""")
_ABOUT_THEM = (
    r"(?P<does>loves|likes|hates|enjoys|plays|speaks|studies|teaches|collects|dislikes|adores)"
)
_MEDICINE = re.compile(
    r"(?:\d+ ?mg (?:of )?)?[a-z]{3,}(?:ine|ol|lin|cin|tin|pin|fin|nin|min|rin|sin|ium|ide|one|"
    r"ate|pam|lam|pril|tan|ole|ril|ast|ax|mab|xin|oxin|parin|phen|fen|cet|zac)"
    r"(?=$|,| (?:and|for|daily|every|twice|once|at|in|so|but|because|since|\d))"
)
_NO_MEDICINE: Final = words("""
online everyone someone alone phone time line wine medicine magazine caffeine routine vitamin
machine offline anyone one pole climate private late role mate rate state control school pole
separate ride side pride guide inside outside roadside quinine cabin basin cuisine vaccine
""")


def _thing(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER))
    found = bare.lower().split()
    if not 1 <= len(found) <= _MAX_WORDS or set(found) & _NO_BELONGING or has_pronoun(bare):
        return None
    return bare if re.fullmatch(r"[\w][\w '’./&+-]*", bare) else None


def _make(text: str) -> str | None:
    """A thing told by its make or model: a capital or a number stands in it."""
    bare = _thing(text)
    if bare is None:
        return None
    is_named = any(word[:1].isupper() and len(word) > 1 for word in bare.split())
    is_day = bare.lower().endswith("day")
    return bare if is_named and not is_day and len(bare.split()) >= 2 else None


def _kept(text: str) -> str | None:
    """Animals or a tank: with a number or an article, or in the plural."""
    bare = trimmed(cut_at(text, _AFTER))
    with_what = re.match(r".{3,40}? with (?:[\w-]+ ){0,2}?[\w-]+s(?: and (?:[\w-]+ "
        r")?[\w-]+)?(?=$|,|\.)",
                         text)  # fmt: skip
    bare = with_what.group() if with_what else bare
    found = bare.lower().split()
    if (
        not 1 <= len(found) <= 10
        or has_pronoun(bare)
        or any(word.endswith("ing") for word in found)
    ):
        return None
    counted = re.match(rf"{_COUNT} \w", bare, re.IGNORECASE)
    if counted:
        return None if set(found) & (_NO_BELONGING | _KEPT_OTHERWISE) else bare
    plural = len(found) <= 2 and found[-1].endswith("s") and found[-1] not in _KEPT_OTHERWISE
    return bare if plural and found[0] not in ("the", "my", "your") else None


_KEPT_OTHERWISE: Final = words("""
tabs notes records secrets things receipts logs diary journal list log eye promises friends track
backups fingers losing running close low mess lots eggs leftovers spares record hold low-profile
hours snacks spreadsheet calendar budget tally note copies errors tidy books
""")


def _house(text: str) -> str | None:
    bare = trimmed(re.split(r",| and (?=i\b|we\b|it\b)| but | so | which ", text, maxsplit=1)[0])
    found = bare.lower().split()
    if not 2 <= len(found) <= 9 or has_pronoun(bare):
        return None
    return None if set(found) - {"a"} & _PROBLEM or found[0] in ("been", "no", "to") else bare


def _medicine(text: str) -> str | None:
    found = _MEDICINE.match(text.lower())
    if found is None or found.group().split()[-1] in _NO_MEDICINE:
        return None
    return text[: found.end()]


def _pet_word(text: str) -> str | None:
    return name(text) if text[:1].isupper() else None


FAMILY: Final = (
    Rule(begins=starting(rf"{_RELATION} is (?:\w+ly )?(?P<how>allergic to|intolerant to)"),
         thing=allergen, content="User's {relation} is {how} "
             "{thing}.", theme="family", importance=4),
    Rule(begins=starting(rf"{_RELATION} (?:turns|will turn|will be|is turning) (?P<age>\d{{1,3}})"),
         thing=date_in_full, content="User's {relation} turns {age} on {thing}.",
         key="family:{relation}-birthday", theme="family", importance=3),
    Rule(begins=starting(rf"{_RELATION}(?:'s birthday is| was born| has (?:his|her) birthday)"),
         thing=date_in_full, content="User's {relation} has a birthday on {thing}.",
         key="family:{relation}-birthday", theme="family", importance=3),
    Rule(begins=starting(rf"{_RELATION}(?: [A-Z][a-z]+)? {_ABOUT_THEM}"), thing=taste,
         content="User's {relation} {does} {thing}.", theme="family"),
    Rule(begins=starting(rf"I (?:look after|care for|am (?:the )?carer for|am caring for|take "
        rf"care of|"
                         rf"live with) {_RELATION}"),
         thing=whatever_follows, content="User looks after or lives with their {relation}.",
         key="family:{relation}-care", theme="family", importance=3),
    Rule(begins=starting(rf"(?:I|we) have (?P<count>{_COUNT}) (?:(?:small|young|little|adult|"
        rf"teenage|"
                         rf"grown-up) )?(?P<kind>{any_of(CHILDREN)}|boys|girls|teenagers|"
                         rf"toddlers|twins)"
                         r"(?=$|,| (?:under|aged|and|between|in|at|who|so|but|with|over|now))"),
         thing=whatever_follows, content="User has {count} {kind}.", key="family:children",
         theme="family", importance=3),
    Rule(begins=starting(r"I have the (?P<kind>kids|boys|girls|children|twins) (?P<when>every "
        r"other "
                         r"(?:week|weekend)|half the week|(?:on|at) weekends|every weekend|"
                         r"part[- ]time|"
                         r"full[- ]time)"),
         thing=whatever_follows, content="User has the {kind} {when}.", key="family:custody",
         theme="family", importance=3),
)  # fmt: skip

HELD: Final = (
    Rule(
        begins=starting(
            r"(?:I|we) (?:have|(?:just |recently )?(?:adopted|rescued|got)) (?P<article>an?) "
            rf"(?P<pet>(?:[a-z-]+ ){{0,2}}?(?:{any_of(PETS)}))"
            r"(?=$|,| (?:who|that|which|and|from|last|this|with|so|but|at))"
        ),
        thing=whatever_follows,
        content="User has {article} {pet}.",
        key="pet:{pet}",
        theme="family",
    ),
    Rule(begins=starting(rf"(?:I|we) have (?P<article>an?) (?!(?:[a-z-]+ "
        rf"){{0,2}}(?:{any_of(_NO_BELONGING)}) )"
                         r"(?P<pet>(?:[a-z-]+ ){0,2}?[a-z-]+) "
                         r"(?:called|named|by the name of)"),
         thing=_pet_word, content="User has {article} {pet} called {thing}.", key="pet:{pet}",
         theme="family", importance=3),
    Rule(begins=starting(r"(?:I|we) (?:keep|raise|breed)(?! (?:on|up|in|at|to|it|going|"
        r"getting)\b)"),
         thing=_kept, content="User keeps {thing}.", key="keeps:{slug}", theme="family"),
    Rule(begins=starting(r"(?:I|we) (?:own|ride|have (?:just |recently |finally )?bought|"
                         r"(?:just |recently |finally )(?:bought|got)) (?P<article>an?)"),
         thing=_thing, content="User has {article} {thing}.", key="possession:{slug}"),
    Rule(begins=starting(r"(?:I|we) (?:have|use|bought|got|drive) (?P<article>an?)"),
         thing=_make, content="User has {article} {thing}.", key="possession:{slug}"),
    Rule(begins=starting(r"(?:my|our) (?P<home>house|flat|apartment|home|garden|kitchen|bathroom) "
                         r"(?:still |only |also )?has(?: got)?"),
         thing=_house, content="User's {home} has {thing}.", key="home:{home}"),
    Rule(begins=starting(r"I (?:take|am (?:on|taking)|have been (?:on|taking))"), thing=_medicine,
         content="User takes {thing}.", key="medication:{slug}", theme="health", importance=4),
    Rule(begins=starting(r"(?:my )?(?P<what>take[- ]home(?: pay)?|salary|rent|mortgage|"
        r"pension|income) "
                         r"is (?:about |around |roughly |just over |just under |only )?"
                         r"(?P<amount>[$€£]? ?\d[\d.,]{2,9}\d(?:k| euros?| dollars| pounds)?)"
                         r"(?P<per>(?: (?:an?|per|every) (?:month|year|week))?)"),
         thing=whatever_follows, content="User's {what} is {amount} {per}.", key="{what}"),
)  # fmt: skip

RULES: Final = (*FAMILY, *HELD)
