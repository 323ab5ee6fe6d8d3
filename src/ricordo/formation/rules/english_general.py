"""English fallback rules: identity, health, family, belongings and work.

They apply only if no more specific rule reads the clause.
"""

import re
from functools import partial
from typing import Final

from ricordo.formation.rules.english_tastes import allergen
from ricordo.formation.rules.noun_phrases import (
    date_in_full,
    field_of_work,
    known_or_capitalised_place,
    languages,
    name,
    subject_of_study,
    taste,
    trade,
)
from ricordo.formation.rules.rule import (
    CHILDREN,
    DEMONYMS,
    DIETS,
    LANGUAGES,
    NUMBER_WORDS,
    OCCUPATIONS,
    PETS,
    RELATIONS,
    RELIGIONS,
    Reader,
    Rule,
    any_of,
    cut_at,
    has_pronoun,
    nothing_more,
    phrase,
    rule,
    trimmed,
    whatever_follows,
)
from ricordo.formation.words import alternatives, pattern, words
from ricordo.model.vocabulary import MemoryType

_PEOPLES: Final = (
    DEMONYMS - RELIGIONS - DIETS - {"latin", "african", "asian", "european"}
) | words("rules", "peoples")
_RELATION = rf"my (?P<relation>{any_of(RELATIONS)})"
_YEAR = r"(?:first|second|third|fourth|fifth|final|last|1st|2nd|3rd|4th)"
_AFTER = pattern("english", "after a phrase", re.IGNORECASE)
_ILL = alternatives("english", "ill")
_NOT_A_CAUSE: Final = words("rules", "not a cause")
_CONDITION_NOUN = alternatives("english", "condition")

_rule = partial(rule, importance=3)

_MAX_WORDS: Final = 6
_KIN = alternatives("english", "kin", relations=any_of(RELATIONS))
_COUNT = rf"(?:{any_of(NUMBER_WORDS)}|\d{{1,2}})"
_AFTER_HELD = pattern("english", "after a possession", re.IGNORECASE)
# What one "has" or "calls" without owning it.
_NO_BELONGING: Final = words("rules", "no belonging")
_PROBLEM: Final = words("rules", "problem")
_ABOUT_THEM = (
    r"(?P<does>loves|likes|hates|enjoys|plays|speaks|studies|teaches|collects|dislikes|adores)"
)
_MEDICINE = pattern("english", "medicine")
_NO_MEDICINE: Final = words("rules", "no medicine")

_KEPT_OTHERWISE: Final = words("rules", "kept otherwise")

_MAX_ROLE_WORDS: Final = 5
# Nouns for people that are no occupation, though they end like one.
_NO_TRADE: Final = words("rules", "no trade")
_TRADE_ENDINGS: Final = tuple(words("rules", "trade endings"))
_BY_TRADE = re.compile(r" by (?:trade|profession)")
_AFTER_A_HOUSE = re.compile(r",| and (?=i\b|we\b|it\b)| but | so | which ")
_AFTER_A_TOPIC = re.compile(r",| and (?=i\b|my\b)| but | so | due ")
_AFTER_THE_LED = re.compile(
    r"[,\s]+(?:in|at|for|on|with|and|but|so|that|which|who|where|near|from|because|every|to|out|as)"
    r"\b.*|,.*",
    re.IGNORECASE,
)
_LOOSE: Final = words("rules", "loose")
_COURSE = alternatives("english", "course")
_NOT_RUN: Final = words("rules", "not run")


def _short(text: str) -> str | None:
    return phrase(text, _AFTER, 4)


def _people(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER))
    return bare if bare.lower() in _PEOPLES and bare[:1].isupper() else None


def _first_name(text: str) -> str | None:
    """A name between a relative and what is said about them."""
    found = re.match(r"([A-Z][a-z]{1,14})(?= [a-z']|$|,)", text)
    is_day = found and re.fullmatch(r"\w+day|English|God", found[1])
    return name(found[1]) if found and not is_day else None


def _liking(begins: str, content: str, reader: Reader = taste, key: str = "taste:{slug}") -> Rule:
    return rule(begins, content, reader, key, "preferences", type=MemoryType.PREFERENCE)


def _thing(text: str) -> str | None:
    bare = phrase(text, _AFTER_HELD, _MAX_WORDS)
    if bare is None or set(bare.lower().split()) & _NO_BELONGING:
        return None
    return bare if re.fullmatch(r"[\w][\w '’./&+-]*", bare) else None


def _make(text: str) -> str | None:
    """A thing by its make or model: it has a capital or a number."""
    bare = _thing(text)
    if bare is None:
        return None
    is_named = any(word[:1].isupper() and len(word) > 1 for word in bare.split())
    is_day = bare.lower().endswith("day")
    return bare if is_named and not is_day and len(bare.split()) >= 2 else None


def _kept(text: str) -> str | None:
    """Animals or a tank: with a number or an article, or in the plural."""
    bare = trimmed(cut_at(text, _AFTER_HELD))
    with_what = re.match(
        r".{3,40}? with (?:[\w-]+ ){0,2}?[\w-]+s(?: and (?:[\w-]+ )?[\w-]+)?(?=$|,|\.)", text
    )
    bare = with_what.group() if with_what else bare
    found = bare.lower().split()
    if not 1 <= len(found) <= 10 or has_pronoun(bare):
        return None
    if any(word.endswith("ing") for word in found):
        return None
    if re.match(rf"{_COUNT} \w", bare, re.IGNORECASE):
        return None if set(found) & (_NO_BELONGING | _KEPT_OTHERWISE) else bare
    plural = len(found) <= 2 and found[-1].endswith("s") and found[-1] not in _KEPT_OTHERWISE
    return bare if plural and found[0] not in ("the", "my", "your") else None


def _house(text: str) -> str | None:
    bare = phrase(text, _AFTER_A_HOUSE, 9, least=2)
    found = bare.lower().split() if bare else []
    return (
        None if set(found) - {"a"} & _PROBLEM or found[:1] in (["been"], ["no"], ["to"]) else bare
    )


def _medicine(text: str) -> str | None:
    found = _MEDICINE.match(text.lower())
    if found is None or found.group().split()[-1] in _NO_MEDICINE:
        return None
    return text[: found.end()]


def role(text: str) -> str | None:
    """An occupation by its ending: "harbour pilot", "luthier's apprentice"."""
    bare = trade(f"a {text}")
    if bare is None or len(bare.split()) > _MAX_ROLE_WORDS:
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
    """An occupation before "by trade"."""
    return phrase(text, _BY_TRADE, _MAX_ROLE_WORDS)


def _named(text: str) -> str | None:
    """A name after "a company called"."""
    found = re.match(r"(?P<name>[A-Z][\w&'’.-]*(?: [A-Z][\w&'’.-]*){0,3})", text)
    return found["name"].rstrip(".") if found else None


def _led(text: str) -> str | None:
    """What one leads or runs: people or a place, not a program."""
    bare = phrase(text, _AFTER_THE_LED, 6)
    if bare is None or set(bare.lower().split()) & _NOT_RUN:
        return None
    return None if any(map(str.isdigit, bare.split()[0])) else bare


def _topic(text: str) -> str | None:
    return phrase(text, _AFTER_A_TOPIC, 8)


def _spoken(text: str) -> str | None:
    """The languages in "Thai with my parents and Lao at work"."""
    first = text.split(maxsplit=1)[0].lower() if text else ""
    if first not in LANGUAGES and first not in ("fluent", "some", "both", "good", "basic"):
        return None
    said = re.findall(r"[A-Za-z]+", text.split(",", maxsplit=1)[0])
    known = [word for word in said if word.lower() in LANGUAGES]
    return languages(" and ".join(dict.fromkeys(known[:4]))) if known else None


def _work(begins: str, content: str, reader: Reader = role, key: str = "occupation") -> Rule:
    return _rule(begins, content, reader, key, "work")


SELF: Final = (
    _rule(r"(?:everyone|everybody|people|(?:my )?friends|most people) (?:just |always |"
        r"usually )?calls? me|you are (?:talking|speaking|chatting) (?:to|with)",
        "User goes by {thing}.", name, "preferred_name"),
    _rule(r"(?P<name>[a-z]{2,14}) is (?:the|my) name(?=$|,|\W*$)", "User's name is {name}.",
        whatever_follows, "preferred_name"),
    _rule(r"(?:my|our) (?:flat|house|home|apartment|place|garden|allotment) (?:is )?in(?= [A-Z])|"
        r"here in(?= [A-Z])|(?:I|we) (?:still |both |all )?live (?:by|on|near|close to|"
        r"next to) the [\w ]{3,20}? in|we (?:live|are based) (?:just |right )?(?:outside|in|near)|"
        r"I am (?:living|posted|stationed|settled) (?:\w+ )?in", "User lives in {thing}.",
        lambda text: known_or_capitalised_place(
            re.split(r" (?:is|are|has|we|it|it's|the)\b", text)[0]
        ), "home_city"),
    _rule(r"(?:as a|I am a) (?:native|local) of", "User is from {thing}.",
        lambda text: known_or_capitalised_place(re.split(r",| I ", text)[0]), "hometown"),
    _rule(r"I am(?: half| originally)?", "User is {thing}.", _people, "nationality"),
    _rule(rf"{_RELATION} is(?: half| originally)?", "User's {relation} is {thing}.", _people,
        "family:{relation}-nationality", "family"),
    _rule(r"my job is in|I am in(?= [a-z])", "User works in {thing}.",
        lambda text: field_of_work(cut_at(text, _AFTER)), "field_of_work", "work"),
    _rule(r"I am a (?P<what>stay[- ]at[- ]home (?:mom|mum|dad|parent|mother|father)|housewife|"
        r"full[- ]time (?:carer|parent|mum|mom|dad))", "User is a {what}.", whatever_follows,
        "occupation", "work"),
    _rule(rf"I am in (?:my|the) (?P<year>{_YEAR}) year (?P<of>of|at|in)",
        "User is in the {year} year {of} {thing}.", _short, "studies", "work"),
    _rule(rf"I am (?P<who>an? (?:{_YEAR}[- ]year|sophomore|freshman|senior|grad|graduate|phd|"
        rf"high school|"
        r"postgrad)(?: [\w-]+){0,2}?(?: student)?(?: majoring in| studying)?)(?= [\w ]+$|$|,)",
        "User is {who} {thing}.", lambda text: None if text == "in" else _short(text) or "",
        "studies", "work"),
    _rule(rf"(?P<name>{any_of(LANGUAGES)}) is my (?P<which>first|second|third|native) language",
        "{name} is User's {which} language.", whatever_follows, "language:{name}"),
    _rule(rf"my (?P<name>{any_of(LANGUAGES)}) is (?:(?:very|quite|still|a bit|pretty|"
        rf"really) )?(?P<how>rusty|fluent|basic|poor|good|bad|terrible|weak|limited|ok|okay|"
        rf"decent)", "User's {name} is {how}.", whatever_follows, "language:{name}"),
    _rule(r"I (?:turn|am turning|will be turning) (?P<age>\d\d) (?P<when>(?:in|on|this|"
        r"next) .{3,20})", "User turns {age} {when}.", whatever_follows, "age"),
    _rule(r"(?:my|our) (?:wedding )?anniversary is(?: on)?", "User's anniversary is {thing}.",
        date_in_full, "anniversary", "family"),
    _rule(r"I am (?P<which>the (?:eldest|oldest|youngest|middle)(?: child|"
        r" one)?(?: of (?:two|three|four|five|six|seven|eight))?|an only child|"
        r"an? (?:identical )?twin)(?! in)", "User is {which}.", whatever_follows, "family:siblings",
        "family"),
    _rule(r"I am (?P<tall>\d(?:'|ft ?|foot ?)\d{0,2}\"?|1[.,]?\d\d ?(?:cm|m))(?: tall)?",
        "User is {tall} tall.", whatever_follows, "height"),
    _rule(r"I (?:usually |always |tend to )?vote(?: for)?(?= (?:the )?[A-Z])",
        "User votes {thing}.", _short, "party"),
)  # fmt: skip

HEALTH: Final = (
    _rule(rf"(?!(?:\w+ )?(?:{any_of(_NOT_A_CAUSE)})\b)(?P<what>[a-z]+(?: [a-z]+)?) {_ILL}",
        "{what} makes User {ill}.", whatever_follows, "allergy:{what}", "health"),
    _rule(r"I (?:react badly|am sensitive|have a bad reaction|have a sensitivity|am intolerant) to",
        "User reacts badly to {thing}.", allergen, "allergy:{slug}", "health"),
    _rule(rf"{_RELATION} has (?P<what>{_CONDITION_NOUN})(?!\w)", "User's {relation} has {what}.",
        whatever_follows, "family:{relation}-health", "family"),
    _rule(rf"I (?:have|suffer from|live with|got diagnosed with|"
        rf"was diagnosed with) (?P<what>{_CONDITION_NOUN})(?!\w)", "User has {what}.",
        whatever_follows, "condition:{what}", "health"),
    _rule(r"I am (?P<what>hiv[- ]positive|bipolar|blind|partially sighted|anaemic|anemic|"
        r"an amputee|schizophrenic|immunocompromised|in recovery|in a wheelchair|disabled|"
        r"neurodivergent)(?! to\b)", "User is {what}.", whatever_follows, "condition:{what}",
        "health"),
    _rule(r"I (?P<verb>wear|use|have) (?P<what>(?:a |an )?(?:hearing aids?|wheelchair|"
        r"contact lenses|contacts|glasses|cochlear implant|walking stick|insulin pump|inhaler|"
        r"pacemaker|prosthetic \w+|cpap(?: machine)?))", "User {verb} {what}.", whatever_follows,
        "aid:{what}", "health"),
    _rule(r"I keep (?P<diet>kosher|halal)|I (?:only )?eat (?P<only>halal|kosher|plant-based|raw)",
        "User keeps {diet}{only}.", whatever_follows, "diet", "health"),
    _rule(r"I am (?:on|doing|following|trying) (?:an? )?(?:strict )?(?P<diet>keto|paleo|low-carb|"
        r"low carb|gluten-free|mediterranean|low-fodmap|carnivore|whole30|vegan|low-sodium|"
        r"dairy-free)(?: diet)?", "User's diet is {diet}.", whatever_follows, "diet", "health"),
    _rule(rf"I (?:have )?(?:recently |just )?(?:went|gone|turned|became|"
        rf"become) (?P<diet>{any_of(DIETS)})", "User is {diet}.", whatever_follows, "diet",
        "health"),
    _rule(r"I do not do (?P<what>dairy|gluten|meat|alcohol|caffeine|sugar|spicy(?: food)?|seafood|"
        r"carbs)", "User does not eat or drink {what}.", nothing_more, "diet:{what}", "health"),
)  # fmt: skip

LIKINGS: Final = (
    _liking(r"(?P<what>[a-z][\w'-]*(?: [\w'-]+){0,3}?) (?:is|are) (?:not|"
        r"never) (?:really )?(?:my thing|my cup of tea|for me|my style|my jam)",
        "User does not like {what}.", whatever_follows, "taste:{what}"),
    _liking(r"(?:nothing beats|you cannot beat)(?=.*)(?! (?:the|this|that|a good)\b)",
        "User loves {thing}.",
        lambda text: taste(
            re.sub(r"^an? (?:long |good |nice )?| for me\b.*| any ?day\b.*", "", text)
        )),
    _liking(r"I am (?:more of )?an? (?P<what>(?:early )?(?:morning|night|evening|cat|dog|tea|"
        r"coffee|beach|mountain|city|country|people|wine|beer|book|summer|winter|outdoor|savou?ry|"
        r"sweet|[a-z]+)) person", "User is a {what} person.", whatever_follows, "taste:{what}"),
    _liking(r"my (?P<kind>guilty pleasure|go-to (?:[a-z]+ ){0,2}?[a-z]+|comfort food|"
        r"usual (?:order|drink)|happy place|passion|obsession|pet peeve|biggest fear|fear|"
        r"hobby) (?:is|are)", "User's {kind} is {thing}.", taste, "favourite:{kind}"),
    _liking(r"I (?:have )?(?:liked|loved|enjoyed|adored)(?=.*(?:$|since|for years))(?=\s\w+(?:ing|"
        r"s)?\b)(?! (?:the|that|this|it|your|how|our|my|every|all|a)\b)(?=.*(?<!ed)$)",
        "User likes {thing}.", taste),
)  # fmt: skip

FAMILY: Final = (
    _rule(rf"my (?:(?:older|younger|little|big|elder|eldest|oldest|youngest|twin|"
        rf"late) )?(?P<relation>{any_of(RELATIONS)}|best friend|boss|neighbour|neighbor|roommate|"
        rf"flatmate)(?= )", "User's {relation} is called {thing}.", _first_name,
        "family:{relation}", "family"),
    _rule(rf"{_RELATION} works(?= (?P<when>nights|shifts|from home|away|abroad|offshore|weekends))",
        "User's {relation} works {when}.", whatever_follows, "family:{relation}-work", "family"),
    _rule(r"my (?P<relation>parents|grandparents|in-laws|family|siblings|kids|children|sisters|"
        r"brothers) (?:all |both |still )?(?:live|are living|are) in",
        "User's {relation} live in {thing}.", known_or_capitalised_place, "family:{relation}-home",
        "family"),
)  # fmt: skip

ABOUT_RULES: Final = (*SELF, *HEALTH, *LIKINGS, *FAMILY)

HELD_FAMILY: Final = (
    rule(rf"{_KIN} is (?:\w+ly )?(?P<how>allergic to|intolerant to)",
        "User's {relation} is {how} {thing}.", allergen, theme="family", importance=4),
    _rule(rf"{_KIN} (?:turns|will turn|will be|is turning) (?P<age>\d{{1,3}})",
        "User's {relation} turns {age} on {thing}.", date_in_full, "family:{relation}-birthday",
        theme="family"),
    _rule(rf"{_KIN}(?:'s birthday is| was born| has (?:his|her) birthday)",
        "User's {relation} has a birthday on {thing}.", date_in_full, "family:{relation}-birthday",
        theme="family"),
    rule(rf"{_KIN}(?: [A-Z][a-z]+)? {_ABOUT_THEM}", "User's {relation} {does} {thing}.", taste,
        theme="family"),
    _rule(rf"I (?:look after|care for|am (?:the )?carer for|am caring for|take care of|"
        rf"live with) {_KIN}", "User looks after or lives with their {relation}.",
        key="family:{relation}-care", theme="family"),
    _rule(rf"(?:I|we) have (?P<count>{_COUNT}) (?:(?:small|young|little|adult|teenage|"
        rf"grown-up) )?(?P<kind>{any_of(CHILDREN)}|boys|girls|teenagers|toddlers|twins)(?=$|,|"
        rf" (?:under|aged|and|between|in|at|who|so|but|with|over|now))", "User has {count} {kind}.",
        key="family:children", theme="family"),
    _rule(r"I have the (?P<kind>kids|boys|girls|children|"
        r"twins) (?P<when>every other (?:week|weekend)|half the week|(?:on|at) weekends|"
        r"every weekend|part[- ]time|full[- ]time)", "User has the {kind} {when}.",
        key="family:custody", theme="family"),
)  # fmt: skip

HELD: Final = (
    rule(rf"(?:I|we) (?:have|(?:just |recently )?(?:adopted|rescued|"
        rf"got)) (?P<article>an?) (?P<pet>(?:[a-z-]+ ){{0,2}}?(?:{any_of(PETS)}))(?=$|,|"
        rf" (?:who|that|which|and|from|last|this|with|so|but|at))", "User has {article} {pet}.",
        key="pet:{pet}", theme="family"),
    _rule(rf"(?:I|we) have (?P<article>an?) (?!(?:[a-z-]+ ){{0,2}}(?:{any_of(_NO_BELONGING)}) )"
        r"(?P<pet>(?:[a-z-]+ ){0,2}?[a-z-]+) (?:called|named|by the name of)",
        "User has {article} {pet} called {thing}.",
        lambda text: name(text) if text[:1].isupper() else None, "pet:{pet}", theme="family"),
    rule(r"(?:I|we) (?:keep|raise|breed)(?! (?:on|up|in|at|to|it|going|getting)\b)",
        "User keeps {thing}.", _kept, "keeps:{slug}", theme="family"),
    rule(r"(?:I|we) (?:own|ride|have (?:just |recently |finally )?bought|"
        r"(?:just |recently |finally )(?:bought|got)) (?P<article>an?)",
        "User has {article} {thing}.", _thing, "possession:{slug}"),
    rule(r"(?:I|we) (?:have|use|bought|got|drive) (?P<article>an?)", "User has {article} {thing}.",
        _make, "possession:{slug}"),
    rule(r"(?:my|our) (?P<home>house|flat|apartment|home|garden|kitchen|bathroom) (?:still |only |"
        r"also )?has(?: got)?", "User's {home} has {thing}.", _house, "home:{home}"),
    rule(r"I (?:take|am (?:on|taking)|have been (?:on|taking))", "User takes {thing}.", _medicine,
        "medication:{slug}", theme="health", importance=4),
    rule(r"(?:my )?(?P<what>take[- ]home(?: pay)?|salary|rent|mortgage|pension|"
        r"income) is (?:about |around |roughly |just over |just under |"
        r"only )?(?P<amount>[$€£]? ?\d[\d.,]{2,9}\d(?:k| euros?| dollars|"
        r" pounds)?)(?P<per>(?: (?:an?|per|every) (?:month|year|week))?)",
        "User's {what} is {amount} {per}.", key="{what}"),
)  # fmt: skip

HOLDING_RULES: Final = (*HELD_FAMILY, *HELD)

ROLES: Final = (
    _work(r"I am (?P<article>an?)", "User is {article} {thing}."),
    _work(r"I am (?P<article>an?)(?= .{3,50} by (?:trade|profession)\b)",
        "User is {article} {thing} by trade.", _any_trade),
    _work(r"(?:speaking )?as (?P<article>an?)(?=[\w ,-]{4,50},? (?:I|my)\b)",
        "User is {article} {thing}.",
        lambda text: role(re.split(r",? (?:I|my)\b", text, maxsplit=1)[0])),
    _work(r"being (?P<article>an?)(?= .{3,40} (?:means|is|makes|has)\b.*\b(?:I|me|my)\b)",
        "User is {thing}.",
        lambda text: _with_article(re.split(r" (?:means|is|makes|has)\b|,", text, maxsplit=1)[0])),
    _work(r"(?:I am )?(?:a )?(?:retired|ex-|semi-retired)(?= )", "User is a retired {thing}."),
    _work(r"[^.!?]{0,120}?\bwhere I am(?: the| an?)?", "User is {thing}.", _with_article),
    _work(r"I (?:have )?(?:just |recently )?(?:qualified|trained|retrained|started(?: out)?|"
        r"got (?:hired|promoted)(?: to)?) as an?", "User is {thing}.", _with_article),
    _work(r"I am (?:on|in|part of|with) (?:the|an?) (?:[\w-]+ ){0,4}(?:team|department|office|"
        r"crew) (?:at|of|for)(?: an? (?:[\w-]+ ){0,4}(?:called|named))?(?= )",
        "User works at {thing}.", _named, "employer"),
    _work(r"I (?:work|am working|am employed) (?:at|for|with|in) (?:an?|"
        r"the) (?:[\w-]+ ){0,4}(?:called|named)", "User works at {thing}.", _named, "employer"),
    _work(r"I (?P<verb>manage|lead|coach|conduct|chair|run|own|co-own|head|"
        r"direct) (?P<article>an?)", "User {verb} {article} {thing}.", _led, "leads:{slug}"),
)  # fmt: skip

STUDIES: Final = (
    _work(rf"I am (?:currently )?(?:doing|taking|pursuing|finishing|studying for|"
        rf"working (?:on|towards?)|enrolled (?:in|on)|in the middle of|halfway through) (?:an?|"
        rf"my) {_COURSE}(?! (?:project|assignment|work))", "User is doing a {course}.",
        whatever_follows, "studies"),
    _work(r"my (?P<work>thesis|dissertation|phd|master's thesis|doctorate|degree|major|research|"
        r"bachelor's thesis) is (?P<about>on|about|in)", "User's {work} is {about} {thing}.",
        _topic, "studies"),
    _work(r"I (?:have )?(?:studied|majored in|got a degree in|have a degree in|"
        r"did a (?:degree|master's|phd) in)", "User studied {thing}.", subject_of_study,
        "education"),
    rule(r"I (?:can )?(?:speak|am fluent in)", "User speaks {thing}.", _spoken, "language"),
)  # fmt: skip

ROLE_RULES: Final = (*ROLES, *STUDIES)
