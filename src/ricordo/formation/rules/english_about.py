"""English rules of the second line: who the user is and how they are, in other words.

They are asked only where no closer rule reads the clause.
"""

import re
from typing import Final

from ricordo.formation.rules.descriptions import date_in_full, field_of_work
from ricordo.formation.rules.english_personal import allergen, any_of
from ricordo.formation.rules.rule import Rule, Thing, nothing_more, starting, whatever_follows
from ricordo.formation.rules.tastes import taste
from ricordo.formation.rules.things import known_or_capitalised_place, name
from ricordo.formation.rules.trimming import cut_at, has_pronoun, trimmed
from ricordo.formation.rules.word_lists import DEMONYMS, DIETS, LANGUAGES, RELATIONS, RELIGIONS
from ricordo.formation.rules.word_sets import words
from ricordo.model.vocabulary import MemoryType

_PEOPLES: Final = (DEMONYMS - RELIGIONS - DIETS - words("latin african asian european")) | words(
    "scottish english welsh irish dutch french spanish portuguese swiss filipino"
)
_RELATION = rf"my (?P<relation>{any_of(RELATIONS)})"
_YEAR = r"(?:first|second|third|fourth|fifth|final|last|1st|2nd|3rd|4th)"
_AFTER = re.compile(
    r"[,\s]+(?:so|but|because|and|at|in|for|with|which|who|now|on|since|when|if|or)\b.*|,.*",
    re.IGNORECASE,
)
_ILL = (
    r"(?:always )?(?:makes?|made) me (?:(?:really|very|so|feel) ){0,2}(?P<ill>ill|sick|"
    r"bloated|queasy|"
    r"nauseous|itchy|wheeze|sneeze|itch|swell up|throw up|break out(?: in hives| in a "
    r"rash)?)(?! to\b)"
)
_NOT_A_CAUSE: Final = words("""
this that it he she they what which who thinking work job boss life news people everything nothing
reading seeing looking watching stress heat politics code something hearing
""")
_CONDITION_NOUN = (
    r"(?:[a-z'-]+ ){0,2}?(?:[a-z]+(?:itis|osis|emia|aemia|algia|lepsy|phobia|pathy|plegia|oma)|"
    r"alzheimer's|parkinson's|dementia|cancer|asthma|diabetes|adhd|autism|dyslexia|eczema|migraines|"
    r"allergies|hay fever|tinnitus|gout|lupus|ibs|pcos|gerd|crohn's|a pacemaker|"
    r"a (?:[a-z]+ ){1,2}(?:allergy|intolerance|condition))"
)


def _short(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER))
    return bare if 1 <= len(bare.split()) <= 4 and not has_pronoun(bare) else None


def _people(text: str) -> str | None:
    bare = trimmed(cut_at(text, _AFTER))
    if bare.lower() not in _PEOPLES or not bare[:1].isupper():
        return None
    return bare


def _line_of_work(text: str) -> str | None:
    return field_of_work(cut_at(text, _AFTER))


def _first_name(text: str) -> str | None:
    """A name between a relative and what is told of them."""
    found = re.match(r"([A-Z][a-z]{1,14})(?= [a-z']|$|,)", text)
    is_day = found and re.fullmatch(r"\w+day|English|God", found[1])
    return name(found[1]) if found and not is_day else None


def _rule(
    begins: str, content: str, thing: Thing = whatever_follows, key: str | None = None,
    theme: str = "profile",
) -> Rule:  # fmt: skip
    return Rule(
        begins=starting(begins), thing=thing, content=content, key=key, theme=theme, importance=3
    )


def _liking(begins: str, content: str, thing: Thing = taste, key: str = "taste:{slug}") -> Rule:
    return Rule(
        begins=starting(begins), thing=thing, content=content, key=key, theme="preferences",
        type=MemoryType.PREFERENCE,
    )  # fmt: skip


SELF: Final = (
    _rule(r"(?:everyone|everybody|people|(?:my )?friends|most people) (?:just |always |usually )?"
          r"calls? me|you are (?:talking|speaking|chatting) (?:to|with)", "User goes by "
          "{thing}.", name,
          "preferred_name"),
    _rule(r"(?P<name>[a-z]{2,14}) is (?:the|my) name(?=$|,|\W*$)", "User's name is {name}.",
          whatever_follows, "preferred_name"),
    _rule(r"(?:my|our) (?:flat|house|home|apartment|place|garden|allotment) (?:is )?in(?= [A-Z])|"
          r"here in(?= [A-Z])|(?:I|we) (?:still |both |all )?live (?:by|on|near|close to|next to) "
          r"the [\w ]{3,20}? in|we (?:live|are based) (?:just |right )?(?:outside|in|near)|"
          r"I am (?:living|posted|stationed|settled) (?:\w+ )?in",
          "User lives in {thing}.",
          lambda text: known_or_capitalised_place(re.split(r" (?:is|are|has|we|it|it's|"
              r"the)\b", text)[0]),
          "home_city"),
    _rule(r"(?:as a|I am a) (?:native|local) of", "User is from {thing}.",
          lambda text: known_or_capitalised_place(re.split(r",| I ", text)[0]), "hometown"),
    _rule(r"I am(?: half| originally)?", "User is {thing}.", _people, "nationality"),
    _rule(rf"{_RELATION} is(?: half| originally)?", "User's {relation} is {thing}.", _people,
          "family:{relation}-nationality", "family"),
    _rule(r"my job is in|I am in(?= [a-z])", "User works in "
        "{thing}.", _line_of_work, "field_of_work",
          "work"),
    _rule(r"I am a (?P<what>stay[- ]at[- ]home (?:mom|mum|dad|parent|mother|father)|housewife|"
          r"full[- ]time (?:carer|parent|mum|mom|dad))", "User is a {what}.", whatever_follows,
          "occupation", "work"),
    _rule(rf"I am in (?:my|the) (?P<year>{_YEAR}) year (?P<of>of|at|in)",
          "User is in the {year} year {of} {thing}.", _short, "studies", "work"),
    _rule(rf"I am (?P<who>an? (?:{_YEAR}[- ]year|sophomore|freshman|senior|grad|graduate|phd|"
        rf"high school|"
          r"postgrad)(?: [\w-]+){0,2}?(?: student)?(?: majoring in| studying)?)"
          r"(?= [\w ]+$|$|,)", "User is {who} {thing}.",
          lambda text: None if text == "in" else _short(text) or "", "studies", "work"),
    _rule(rf"(?P<name>{any_of(LANGUAGES)}) is my (?P<which>first|second|"
          r"third|native) language", "{name} is User's {which} language.",
          whatever_follows, "language:{name}"),
    _rule(rf"my (?P<name>{any_of(LANGUAGES)}) is (?:(?:very|quite|still|a bit|pretty|really) "
        rf")?(?P<how>rusty|fluent|basic|poor|good|bad|"
          r"terrible|weak|limited|ok|okay|decent)", "User's {name} is {how}.", whatever_follows,
          "language:{name}"),
    _rule(r"I (?:turn|am turning|will be turning) (?P<age>\d\d) (?P<when>(?:in|on|this|next) "
        r".{3,20})",
          "User turns {age} {when}.", whatever_follows, "age"),
    _rule(r"(?:my|our) (?:wedding )?anniversary is(?: on)?", "User's anniversary is {thing}.",
          date_in_full, "anniversary", "family"),
    _rule(r"I am (?P<which>the (?:eldest|oldest|youngest|middle)(?: child| one)?(?: of (?:two|"
        r"three|four|"
          r"five|six|seven|eight))?|an only child|an? (?:identical )?twin)(?! in)",
          "User is {which}.", whatever_follows, "family:siblings", "family"),
    _rule(r"I am (?P<tall>\d(?:'|ft ?|foot ?)\d{0,2}\"?|1[.,]?\d\d ?(?:cm|m))(?: tall)?",
          "User is {tall} tall.", whatever_follows, "height"),
    _rule(r"I (?:usually |always |tend to )?vote(?: for)?(?= (?:the )?[A-Z])", "User votes "
        "{thing}.",
          _short, "party"),
)  # fmt: skip

HEALTH: Final = (
    _rule(rf"(?!(?:\w+ )?(?:{any_of(_NOT_A_CAUSE)})\b)(?P<what>[a-z]+(?: [a-z]+)?) "
        rf"{_ILL}", "{what} makes User {ill}.",
          whatever_follows, "allergy:{what}", "health"),
    _rule(r"I (?:react badly|am sensitive|have a bad reaction|have a sensitivity|am intolerant) to",
          "User reacts badly to {thing}.", allergen, "allergy:{slug}", "health"),
    _rule(rf"{_RELATION} has (?P<what>{_CONDITION_NOUN})(?!\w)", "User's {relation} has {what}.",
          whatever_follows, "family:{relation}-health", "family"),
    _rule(rf"I (?:have|suffer from|live with|got diagnosed with|was diagnosed with) "
          rf"(?P<what>{_CONDITION_NOUN})(?!\w)", "User has {what}.", whatever_follows,
          "condition:{what}", "health"),
    _rule(r"I am (?P<what>hiv[- ]positive|bipolar|blind|partially sighted|anaemic|anemic|an "
        r"amputee|"
          r"schizophrenic|immunocompromised|in recovery|in a wheelchair|disabled|"
          r"neurodivergent)(?! to\b)",
          "User is {what}.", whatever_follows, "condition:{what}", "health"),
    _rule(r"I (?P<verb>wear|use|have) (?P<what>(?:a |an )?(?:hearing aids?|wheelchair|contact "
        r"lenses|"
          r"contacts|glasses|cochlear implant|walking stick|insulin pump|inhaler|pacemaker|"
          r"prosthetic \w+|cpap(?: machine)?))", "User {verb} {what}.", whatever_follows,
          "aid:{what}", "health"),
    _rule(r"I keep (?P<diet>kosher|halal)|I (?:only )?eat (?P<only>halal|kosher|plant-based|raw)",
          "User keeps {diet}{only}.", whatever_follows, "diet", "health"),
    _rule(r"I am (?:on|doing|following|trying) (?:an? )?(?:strict )?(?P<diet>keto|paleo|"
        r"low-carb|low carb|"
          r"gluten-free|mediterranean|low-fodmap|carnivore|whole30|vegan|low-sodium|dairy-free)"
          r"(?: diet)?", "User's diet is {diet}.", whatever_follows, "diet", "health"),
    _rule(rf"I (?:have )?(?:recently |just )?(?:went|gone|turned|became|become) "
        rf"(?P<diet>{any_of(DIETS)})",
          "User is {diet}.", whatever_follows, "diet", "health"),
    _rule(r"I do not do (?P<what>dairy|gluten|meat|alcohol|caffeine|sugar|spicy(?: food)?|"
        r"seafood|carbs)",
          "User does not eat or drink {what}.", nothing_more, "diet:{what}", "health"),
)  # fmt: skip

LIKINGS: Final = (
    _liking(r"(?P<what>[a-z][\w'-]*(?: [\w'-]+){0,3}?) (?:is|are) (?:not|never) (?:really "
        r")?(?:my thing|"
            r"my cup of tea|for me|my style|my jam)", "User does not like "
            "{what}.", whatever_follows,
            "taste:{what}"),
    _liking(r"(?:nothing beats|you cannot beat)(?=.*)(?! (?:the|this|that|a good)\b)",
            "User loves {thing}.",
            lambda text: taste(re.sub(r"^an? (?:long |good |nice )?| for me\b.*| any "
                r"?day\b.*", "", text))),
    _liking(r"I am (?:more of )?an? (?P<what>(?:early )?(?:morning|night|evening|cat|dog|tea|"
        r"coffee|beach|"
            r"mountain|city|country|people|wine|beer|book|summer|winter|outdoor|savou?ry|"
            r"sweet|[a-z]+)) "
            r"person", "User is a {what} person.", whatever_follows,
            "taste:{what}"),
    _liking(r"my (?P<kind>guilty pleasure|go-to (?:[a-z]+ ){0,2}?[a-z]+|comfort food|usual "
        r"(?:order|drink)|"
            r"happy place|passion|obsession|pet peeve|biggest fear|fear|hobby) (?:is|are)",
            "User's {kind} is {thing}.", taste, "favourite:{kind}"),
    _liking(r"I (?:have )?(?:liked|loved|enjoyed|adored)(?=.*(?:$|since|for "
        r"years))(?=\s\w+(?:ing|s)?\b)"
            r"(?! (?:the|that|this|it|your|how|our|my|every|all|a)\b)(?=.*(?<!ed)$)",
            "User likes {thing}.", taste),
)  # fmt: skip

FAMILY: Final = (
    _rule(rf"my (?:(?:older|younger|little|big|elder|eldest|oldest|youngest|twin|late) )?"
          rf"(?P<relation>{any_of(RELATIONS)}|best friend|boss|neighbour|neighbor|roommate|"
          rf"flatmate)(?= )",
          "User's {relation} is called {thing}.", _first_name, "family:{relation}", "family"),
    _rule(rf"{_RELATION} works(?= (?P<when>nights|shifts|from home|away|abroad|offshore|weekends))",
          "User's {relation} works {when}.", whatever_follows, "family:{relation}-work", "family"),
    _rule(r"my (?P<relation>parents|grandparents|in-laws|family|siblings|kids|children|"
        r"sisters|brothers) "
          r"(?:all |both |still )?(?:live|are living|are) in", "User's {relation} live in {thing}.",
          known_or_capitalised_place, "family:{relation}-home", "family"),
)  # fmt: skip

RULES: Final = (*SELF, *HEALTH, *LIKINGS, *FAMILY)
