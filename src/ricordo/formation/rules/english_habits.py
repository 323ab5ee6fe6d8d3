"""English: what the user does again and again, or has been doing for long, whatever it is.

The time tells a habit from a remark: "on Tuesdays", "every morning", "for twelve years".
"""

import re
from typing import Final

from ricordo.formation.rules.english_verbs import PAST_FORMS, third_person
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.trimming import has_pronoun, trimmed
from ricordo.formation.rules.word_sets import words
from ricordo.text.normalise import folded, slug

_MAX_WORDS: Final = 16
_MAX_SLUG_CHARS: Final = 60
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PART = r"(?:morning|afternoon|evening|night|lunchtime)"
_OFTEN = (
    rf"(?:every|each) (?:single |other |second )?(?:day|week|weekend|month|year|spring|summer|"
    rf"autumn|"
    rf"fall|winter|{_PART}|{_DAY}(?: {_PART})?)s?|"
    rf"(?:on )?(?:{_DAY}s|{_DAY} {_PART}s|weekdays|weekends|weeknights)|at (?:the )?weekends?|"
    rf"(?:once|twice|(?:two|three|four|five|six|\d) times) (?:a|per|every) (?:day|week|month|year)|"
    rf"most (?:days|weeks|weekends|{_PART}s|{_DAY}s)|daily|in the (?:mornings|evenings|afternoons)"
)
_CLOCK = (
    r"(?:at|by|around|before|after|until|till) (?:\d{1,2}(?::\d\d)?(?: ?[ap]m)?|noon|midnight|dawn)"
)
_USUALLY = r"(?:usually|always|normally|generally|typically|often|mostly)"
_ADVERBS = rf"(?P<adverbs>(?:(?:{_USUALLY}|also|still|now|only|just|currently) )*)"
_HABIT = re.compile(
    rf"(?P<first>(?:{_OFTEN}),? )?(?P<who>I|we) {_ADVERBS}(?P<verb>[a-z]+)(?P<rest>(?: .*)?)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    rf"\b(?:{_OFTEN})(?:(?:,| and|, and) (?:{_DAY}s|{_PART}s|weekends))*(?: {_CLOCK})?\b",
    re.IGNORECASE,
)
_AT_A_TIME = re.compile(rf"\b(?:{_CLOCK})\b", re.IGNORECASE)
# Verbs of the mind, of trouble and of helping others to speak: no habit worth keeping.
_NO_HABIT: Final = words("""
am is are was were be been being have had has do did does don't can cannot could will would shall
should may might must need want wish hope think know feel believe guess suppose wonder see hear seem
say ask tell mean understand remember forget like love hate prefer enjoy get lose miss try fail
struggle keep find agree not never really hardly rarely thought actually literally basically even
hit crash receive suffer worry cry hurt fear regret appreciate apologise apologize thank promise
""")
_GETS_UP = re.compile(r"get (?:up|to work|home|off work)\b", re.IGNORECASE)
_ONGOING = re.compile(
    r"(?:I|we) have (?:now |also )?been (?P<doing>[a-z]{3,}ing)(?P<rest> .*?)?,? "
    r"(?P<long>(?:for|since) "
    r"(?:(?:about|almost|nearly|over|around|more than|the (?:last|past)) )?(?:(?:\w+|\d+)(?:-| )?"
    r"(?:odd )?(?:years?|decades?|months)|(?:19|20)\d\d|ages|my whole life|i was (?:a kid|a child|"
    r"little|\w+)))\b.*",
    re.IGNORECASE,
)
_NOT_ONGOING: Final = words("""
trying having getting thinking wondering looking waiting feeling struggling meaning wanting dealing
being going experiencing suffering seeing hoping procrastinating putting debating avoiding noticing
ignoring considering needing missing fighting asking
""")
_END = re.compile(
    r",.*|;.*| (?:because|so|but|which|though|although|then|while|if|when|and (?=i\b)).*"
)


def habit(clause: str) -> Statement | None:
    """What a clause in full spelling says that the user does regularly."""
    said = _HABIT.fullmatch(clause)
    if said is None:
        return None
    verb, rest = said["verb"].lower(), said["rest"]
    first = (said["first"] or "").strip(" ,")
    phrase = f"{verb}{rest}"
    if not _is_done(phrase, verb):
        return None
    when = _WHEN.search(rest)
    if when:
        kept = rest[: when.end()]
    else:
        timed = _AT_A_TIME.search(rest)
        often = re.search(rf"\b{_USUALLY}\b", said["adverbs"], re.IGNORECASE)
        if first:
            kept = _END.sub("", rest)
        elif timed and often:
            kept = rest[: timed.end()]
        else:
            return None
    return _kept(f"{third_person(verb)}{_about_user(kept)}", first.lower())


def _is_done(phrase: str, verb: str) -> bool:
    if _GETS_UP.match(phrase):
        return True
    is_past = (verb in PAST_FORMS and verb not in ("read", "put", "quit")) or verb.endswith("ed")
    return not (verb in _NO_HABIT or is_past or verb.endswith(("ing", "ly")))


def _kept(done: str, first: str) -> Statement | None:
    bare = trimmed(done)
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    if re.search(r"\b(?:not|never|or|errors?|bugs?|tests?|script|query|build|server)\b|[%$]", bare):
        return None
    content = f"User {bare}{f' {first}' if first else ''}."
    return Statement(content, theme="routine", key=f"routine:{_slug(bare)}")


def ongoing(clause: str) -> Statement | None:
    """What a clause in full spelling says that the user has been doing for months or years."""
    said = _ONGOING.fullmatch(clause)
    if said is None or said["doing"].lower() in _NOT_ONGOING:
        return None
    long = re.sub(r"\bi was\b", "being", said["long"], flags=re.IGNORECASE)
    done = trimmed(f"{said['doing'].lower()}{_about_user(said['rest'] or '')}")
    if has_pronoun(done) or len(done.split()) > _MAX_WORDS or re.search(r"\b(?:not|or)\b|,", done):
        return None
    return Statement(f"User has been {done} {long}.", theme="routine", key=f"doing:{_slug(done)}")


def _about_user(text: str) -> str:
    own = re.sub(r"\b(?:my|our)\b", "User's", text, flags=re.IGNORECASE)
    return re.sub(r"\b(?:me|us)\b", "User", own)


def _slug(text: str) -> str:
    return slug(folded(text))[:_MAX_SLUG_CHARS].strip("-_")
