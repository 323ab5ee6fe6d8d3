"""Plans and goals: steps in a life, with a date or a clear intent, not the next step of a task."""

import re
from collections.abc import Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Final

from ricordo.formation.rules.rule import (
    NOT_PLACES,
    RuleMatch,
    has_indonesian_possessive,
    has_pronoun,
    short_slug,
    trimmed,
)
from ricordo.formation.words import alternatives, lines, pattern
from ricordo.model.vocabulary import MemoryType
from ricordo.text.dates import CLEAR_MONTHS, ENGLISH_MONTHS

_INDONESIAN_MONTHS: Final = lines("plans", "indonesian months")
_VISITED = re.compile(r" (?:the )?[A-Z]\w+")
_DESTINATION = re.compile(
    r" (?:back |out )?(?:to|around|through|in) (?:the )?"
    r"(?:[A-Z]\w+|a new (?:city|house|home|flat|apartment))"
)
_MONTH = "|".join(sorted({*CLEAR_MONTHS, "march", "may", "mei", "maret"}, key=len, reverse=True))
_RELATIVE = pattern("plans", "relative", re.IGNORECASE)
_LONGEST_YEARS: Final = 10  # "in 99 months" is shorter
_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_IN_A_WHILE = pattern("plans", "in a while", re.IGNORECASE)
_MONTH_NEXT_YEAR = re.compile(rf"\b({_MONTH})(?: of)? (?:next year|tahun depan)\b", re.IGNORECASE)
_FIXED = pattern("plans", "fixed", re.IGNORECASE, month=_MONTH)

_MAX_WORDS: Final = 18

_STEP = alternatives("plans", "step")
_DOING: Final = {
    "moving": "move",
    "relocating": "relocate",
    "travelling": "travel",
    "traveling": "travel",
    "flying": "fly",
    "visiting": "visit",
    "retiring": "retire",
    "getting": "get",
    "starting": "start",
    "buying": "buy",
    "graduating": "graduate",
    "running": "run",
    "marrying": "marry",
    "adopting": "adopt",
    "opening": "open",
}
_ING = re.compile(rf"I am (?P<doing>{'|'.join(_DOING)}) (?P<rest>.+)", re.IGNORECASE)
_INTENT = pattern("plans", "intent", re.IGNORECASE)
_TOGETHER = pattern("plans", "together", re.IGNORECASE)
_FUTURE = re.compile(rf"I (?:will|am going to|will be) (?P<what>(?:{_STEP})\b.*)", re.IGNORECASE)
_PLANNING = pattern("plans", "planning", re.IGNORECASE)

_FUTURE_INDONESIAN = pattern("plans", "future indonesian", re.IGNORECASE)

_GOAL = pattern("plans", "goal", re.IGNORECASE)
_BECOME = pattern("plans", "become", re.IGNORECASE)
_SAVING = pattern("plans", "saving", re.IGNORECASE)
_DEADLINE = pattern("plans", "deadline", re.IGNORECASE)
_TIME_FIRST_INDONESIAN = pattern("plans", "time first indonesian", re.IGNORECASE)
_GOAL_INDONESIAN = pattern("plans", "goal indonesian", re.IGNORECASE)
_NO_GOAL = pattern("plans", "no goal", re.IGNORECASE)
_NO_PLAN = pattern("plans", "no plan", re.IGNORECASE)
_END = pattern("plans", "end", re.IGNORECASE)


def has_time(text: str) -> bool:
    return bool(_RELATIVE.search(text) or _FIXED.search(text))


def with_dates(text: str, at: datetime) -> str:
    """Replace "next month" and the like by the date they mean at that time."""
    if at.year < MAXYEAR:
        text = _MONTH_NEXT_YEAR.sub(rf"\1 {at.year + 1}", text)
    if at.year < MAXYEAR - _LONGEST_YEARS:
        text = _IN_A_WHILE.sub(lambda found: f"around {_day_after(found, at)}", text)
    dated = _RELATIVE.sub(lambda found: _dated(found.group().lower(), at), text)
    return dated.replace(" of in ", " of ")


def _day_after(found: re.Match[str], at: datetime) -> str:
    """The approximate date of "in two weeks"."""
    said = found["count"].lower()
    count = _COUNTS.get(said) or int(said)
    days = count * (7 if found["unit"].lower().startswith("week") else 30)
    return _day(at + timedelta(days=days), ENGLISH_MONTHS)


def _dated(phrase: str, at: datetime) -> str:
    """The date that a phrase means; unchanged at the end of the calendar."""
    if at.year >= MAXYEAR:
        return phrase
    next_month = at.month % 12
    its_year = at.year + (at.month == 12)
    day = at + timedelta(days=1)
    monday = at + timedelta(days=7 - at.weekday())
    return {
        "tomorrow": f"on {_day(day, ENGLISH_MONTHS)}",
        "next week": f"in the week of {_day(monday, ENGLISH_MONTHS)}",
        "next month": f"in {ENGLISH_MONTHS[next_month]} {its_year}",
        "next year": f"in {at.year + 1}",
        "besok": f"pada {_day(day, _INDONESIAN_MONTHS)}",
        "minggu depan": f"pada minggu {_day(monday, _INDONESIAN_MONTHS)}",
        "bulan depan": f"pada {_INDONESIAN_MONTHS[next_month]} {its_year}",
        "tahun depan": f"pada tahun {at.year + 1}",
    }[phrase]


def _day(at: datetime, months: Sequence[str]) -> str:
    return f"{at.day} {months[at.month - 1]} {at.year}"


def plan_or_goal(english: str, indonesian: str, at: datetime) -> RuleMatch | None:
    """A plan or goal in a clause, given in regular English and Indonesian form."""
    return (
        _plan(english, at)
        or _plan_indonesian(indonesian, at)
        or _goal(english)
        or _goal_indonesian(indonesian)
    )


def _plan(clause: str, at: datetime) -> RuleMatch | None:
    clause = _TOGETHER.sub("I ", clause, count=1).replace("I are ", "I am ", 1)
    ing = _ING.fullmatch(clause)
    future = _FUTURE.fullmatch(clause)
    if ing:
        what, needs_time = f"{_DOING[ing['doing'].lower()]} {ing['rest']}", True
        if not re.match(_STEP, what):
            return None
    elif future:
        what, needs_time = future["what"], True
    else:
        intent = _INTENT.fullmatch(clause) or _PLANNING.fullmatch(clause)
        if intent is None:
            return None
        what, needs_time = intent["what"], False
    trip = re.match(r"an? ", what)
    bare = _bare(what.replace(" my ", " a "))
    if bare is None or (needs_time and not has_time(bare)) or not _goes_somewhere(bare):
        return None
    return episode(f"User plans {'' if trip else 'to '}{with_dates(bare, at)}.")


def _goes_somewhere(what: str) -> bool:
    """A move or a visit must name its destination; "move the button" is no plan."""
    verb = re.match(r"(move|relocate|travel|fly|visit)\b(.*)", what, re.IGNORECASE)
    if not verb:
        return True
    found = (_VISITED if verb[1].lower() == "visit" else _DESTINATION).match(verb[2])
    return found is not None and not set(found.group().lower().split()) & NOT_PLACES


def _plan_indonesian(clause: str, at: datetime) -> RuleMatch | None:
    first = _TIME_FIRST_INDONESIAN.fullmatch(clause)
    if first:
        rest = re.split(r",| sama | bareng ", first["rest"])[0]
        clause = f"{first['who']} {rest} {first['when'].lower()}"
    future = _FUTURE_INDONESIAN.fullmatch(clause)
    bare = _bare(future["what"]) if future else None
    if bare is None or not has_time(bare) or has_indonesian_possessive(bare):
        return None
    return episode(f"Pengguna berencana {with_dates(bare, at)}.")


def episode(content: str) -> RuleMatch:
    return RuleMatch(content, type=MemoryType.EPISODE, theme="plans", importance=3)


def _bare(what: str) -> str | None:
    bare = trimmed(_END.sub("", what))
    if not 1 <= len(bare.split()) <= _MAX_WORDS or has_pronoun(bare) or _NO_PLAN.search(bare):
        return None
    return bare


def _goal(clause: str) -> RuleMatch | None:
    clause = _DEADLINE.sub("", clause)
    saving = _SAVING.fullmatch(clause)
    if saving:
        aim = _bare(saving["what"].replace("my ", "a "))
        how = saving["how"].lower()
        return stated_goal(f"User is {how} for {aim}.", aim) if aim else None
    goal = _GOAL.fullmatch(clause) or _BECOME.fullmatch(clause)
    bare = _bare(goal["what"]) if goal else None
    if bare is None or _NO_GOAL.search(bare):
        return None
    if bare.startswith("learn") and len(bare.split()) > 4:
        return None
    verb = "wants" if clause.lower().startswith("i ") else "has the goal"
    return stated_goal(f"User {verb} to {bare}.", bare)


def _goal_indonesian(clause: str) -> RuleMatch | None:
    goal = _GOAL_INDONESIAN.fullmatch(clause)
    if goal is None:
        return None
    bare = _bare(re.sub(r"^(?:ingin|mau|untuk) ", "", goal["what"] or goal["become"]))
    if bare is None or _NO_GOAL.search(bare) or has_indonesian_possessive(bare):
        return None
    return stated_goal(f"Pengguna ingin {bare}.", bare)


def stated_goal(content: str, bare: str) -> RuleMatch:
    return RuleMatch(content, theme="plans", key=f"goal:{short_slug(bare)}", importance=3)
