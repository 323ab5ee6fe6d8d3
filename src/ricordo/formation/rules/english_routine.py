"""English rules: habits, ongoing activities, appointments and aims."""

import re
from datetime import datetime
from typing import Final

from ricordo.formation.rules.plans import episode, stated_goal, with_dates
from ricordo.formation.rules.rule import (
    PAST_FORMS,
    RuleMatch,
    has_pronoun,
    short_slug,
    third_person,
    trimmed,
)
from ricordo.formation.words import alternatives, pattern, words
from ricordo.text.dates import CLEAR_MONTHS

# The time distinguishes a habit from a remark: "on Tuesdays", "every morning", "for twelve years".

_MAX_WORDS: Final = 16
_CLOCK = alternatives("english", "clock")
_USUALLY = alternatives("english", "usually")
_HABIT = pattern("english", "habit", re.IGNORECASE)
_WHEN = pattern("english", "when", re.IGNORECASE)
_AT_A_TIME = re.compile(rf"\b(?:{_CLOCK})\b", re.IGNORECASE)
# Verbs of thinking, of trouble and of speech: no habits.
_NO_HABIT: Final = words("rules", "no habit")
_GETS_UP = re.compile(r"get (?:up|to work|home|off work)\b", re.IGNORECASE)
_ONGOING = pattern("english", "ongoing", re.IGNORECASE)
_NOT_ONGOING: Final = words("rules", "not ongoing")
_END = re.compile(
    r",.*|;.*| (?:because|so|but|which|though|although|then|while|if|when|and (?=i\b)).*"
)

_MAX_ENGAGEMENT_WORDS: Final = 18

_MONTH = "|".join(sorted({*CLEAR_MONTHS, "march", "may"}, key=len, reverse=True))
_DATE = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH}|next month)|"
    rf"(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?)"
)
_TO_COME = alternatives("english", "to come", date=_DATE, month=_MONTH)
_DOING = pattern("english", "doing", re.IGNORECASE, to_come=_TO_COME)
_OF_MINE = pattern("english", "of mine", re.IGNORECASE, to_come=_TO_COME)
_HAD = pattern("english", "had", re.IGNORECASE, to_come=_TO_COME)
_COMING_WHEN = re.compile(rf"\b{_TO_COME}", re.IGNORECASE)
_NOT_TO_COME: Final = words("rules", "not to come")
_NOT_EVENTS: Final = words("rules", "not events")
_AIMING = pattern("english", "aiming", re.IGNORECASE)
_APPLYING = pattern("english", "applying", re.IGNORECASE)
_LEARNING = pattern("english", "learning", re.IGNORECASE)
_ENGAGEMENT_END = pattern("english", "after an engagement", re.IGNORECASE)
_VAGUE = pattern("english", "vague", re.IGNORECASE)


def habit(clause: str) -> RuleMatch | None:
    """What the user does regularly; the clause is in full spelling."""
    said = _HABIT.fullmatch(clause)
    if said is None:
        return None
    verb, rest = said["verb"].lower(), said["rest"]
    first = (said["first"] or "").strip(" ,")
    is_past = (verb in PAST_FORMS and verb not in ("read", "put", "quit")) or verb.endswith("ed")
    is_other = verb in _NO_HABIT or is_past or verb.endswith(("ing", "ly"))
    if is_other and not _GETS_UP.match(f"{verb}{rest}"):
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


def _kept(done: str, first: str) -> RuleMatch | None:
    bare = trimmed(done)
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare):
        return None
    if re.search(r"\b(?:not|never|or|errors?|bugs?|tests?|script|query|build|server)\b|[%$]", bare):
        return None
    content = f"User {bare}{f' {first}' if first else ''}."
    return RuleMatch(content, theme="routine", key=f"routine:{short_slug(bare)}")


def ongoing(clause: str) -> RuleMatch | None:
    """What the user has been doing for months or years."""
    said = _ONGOING.fullmatch(clause)
    if said is None or said["doing"].lower() in _NOT_ONGOING:
        return None
    long = re.sub(r"\bi was\b", "being", said["long"], flags=re.IGNORECASE)
    done = trimmed(f"{said['doing'].lower()}{_about_user(said['rest'] or '')}")
    if has_pronoun(done) or len(done.split()) > _MAX_WORDS or re.search(r"\b(?:not|or)\b|,", done):
        return None
    return RuleMatch(
        f"User has been {done} {long}.", theme="routine", key=f"doing:{short_slug(done)}"
    )


def _about_user(text: str) -> str:
    own = re.sub(r"\b(?:my|our)\b", "User's", text, flags=re.IGNORECASE)
    return re.sub(r"\b(?:me|us)\b", "User", own)


def engagement(clause: str, at: datetime) -> RuleMatch | None:
    """What is coming up."""
    event = _OF_MINE.fullmatch(clause) or _HAD.fullmatch(clause)
    if event:
        named = event["what"].lower()
        if set(named.split()) & _NOT_EVENTS or has_pronoun(named):
            return None
        return episode(f"User's {event['what']} is {with_dates(event['when'], at)}.")
    doing = _DOING.fullmatch(clause)
    if doing is None or doing["verb"].lower() in _NOT_TO_COME:
        return None
    what = re.sub(r"^off to ", "going to ", _cut(doing["what"]))
    is_doing = what.split()[0].lower().endswith("ing") if what else False
    first = doing["first"]
    if re.match(r"going to (?!the |an? |see |visit )[a-z]", what):
        return None
    if not is_doing or not (first or _COMING_WHEN.search(what)) or not _is_plain(what):
        return None
    when = f" {first[0].lower() + first[1:]}" if first else ""
    return episode(f"User plans on {with_dates(_engagement_of_user(what + when), at)}.")


def aim(clause: str) -> RuleMatch | None:
    """What the user works towards."""
    aiming = _AIMING.fullmatch(clause)
    if aiming:
        return _goal("wants to", _cut(aiming["what"]))
    applying = _APPLYING.fullmatch(clause)
    if applying:
        return _goal("is", _cut(applying["what"]))
    learning = _LEARNING.fullmatch(clause)
    bare = _cut(learning["what"]) if learning else ""
    if not 1 <= len(bare.split()) <= 5:
        return None
    return _goal("is learning", bare)


def _goal(verb: str, bare: str) -> RuleMatch | None:
    if not _is_plain(bare):
        return None
    return stated_goal(f"User {verb} {_engagement_of_user(bare)}.", bare)


def _cut(text: str) -> str:
    return trimmed(_ENGAGEMENT_END.sub("", text.strip()))


def _is_plain(text: str) -> bool:
    own = _engagement_of_user(text)
    return (
        1 <= len(own.split()) <= _MAX_ENGAGEMENT_WORDS
        and not has_pronoun(own)
        and not _VAGUE.search(own)
    )


def _engagement_of_user(text: str) -> str:
    return re.sub(r"\b(?:my|our)\b", "User's", text, flags=re.IGNORECASE)
