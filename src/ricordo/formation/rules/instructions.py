"""Standing instructions to the assistant: for every answer, not only for this one."""

import re
from typing import Final

from ricordo.formation.rules.clauses import BLANKED
from ricordo.formation.rules.regular_forms import english_in_third_person
from ricordo.formation.rules.rule import RuleMatch, has_indonesian_possessive, has_pronoun
from ricordo.formation.words import alternatives, pattern
from ricordo.model.vocabulary import MemoryType

_MAX_WORDS: Final = 32

PRESENT_TASK: Final = pattern("instructions", "present task", re.IGNORECASE)
IDIOM: Final = pattern("instructions", "idiom", re.IGNORECASE)

_OCCASION = alternatives("instructions", "indonesian occasion")
_NOT = alternatives("instructions", "indonesian not")
_ID_ALWAYS = pattern("instructions", "indonesian always", re.IGNORECASE)
_ID_FROM_NOW = pattern("instructions", "indonesian from now", re.IGNORECASE)
_OCCASION_FIRST = pattern("instructions", "indonesian occasion first", re.IGNORECASE)
_ID_EACH_TIME = pattern("instructions", "indonesian each time", re.IGNORECASE)
_ID_UNTIL_NOW = pattern("instructions", "indonesian until now", re.IGNORECASE)
_EACH_ANSWER = pattern("instructions", "indonesian each answer", re.IGNORECASE)
_MANNER = pattern("instructions", "indonesian manner", re.IGNORECASE)
_RATHER = pattern("instructions", "indonesian rather", re.IGNORECASE)
_PRONOUNS = pattern("instructions", "indonesian pronouns", re.IGNORECASE)
_BY_OTHERS = re.compile(r"\b(?:temen|teman|orang|dia|bos|guru|\w{3,}nya)\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:saya|aku|gue|gw)\b", re.IGNORECASE)
_ID_REASON = re.compile(
    r",? (?:karena|soalnya|biar|supaya|walaupun|meskipun|walau|meski)\b.*", re.IGNORECASE
)
_SUFFIX: Final = re.compile(r"\b(\w{4,})nya\b", re.IGNORECASE)

_DOING = alternatives("instructions", "doing")
_LEAD = alternatives("instructions", "lead")
_ALWAYS = pattern("instructions", "always", re.IGNORECASE)
_FROM_NOW = pattern("instructions", "from now", re.IGNORECASE)
_NO_MORE = pattern("instructions", "no more", re.IGNORECASE)
_UNTIL_NOW = pattern("instructions", "until now", re.IGNORECASE)
_NEVER_ANY = pattern("instructions", "never any", re.IGNORECASE)
_FOR_ME = pattern("instructions", "for me", re.IGNORECASE)
_STOP = re.compile(rf"{_LEAD}(?P<how>stop) (?P<what>(?:{_DOING}) .+)", re.IGNORECASE)
_EACH_TIME = pattern("instructions", "each time", re.IGNORECASE)
# Quotations, placeholders and markup: an instruction about a text, or part of one.
_UNSPOKEN = re.compile(rf"[{BLANKED}\[\]{{}}<>|`=]|__")
_TAIL = pattern("instructions", "tail", re.IGNORECASE)
_REASON = pattern("instructions", "reason", re.IGNORECASE)
_SENT = re.compile(r"\b(?:an?|some|my) ([a-z]+(?: [a-z]+)?)$", re.IGNORECASE)
_EMPTY = re.compile(r"\b(?:any|one|some|them|so)$", re.IGNORECASE)
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_OTHERWISE = pattern("instructions", "otherwise", re.IGNORECASE)


def standing(content: str, key: str | None = None) -> RuleMatch | None:
    """A standing instruction, unless it refers to something that is not in it."""
    if len(content.split()) > _MAX_WORDS or has_pronoun(content):
        return None
    return RuleMatch(
        content,
        type=MemoryType.INSTRUCTION,
        theme="instructions",
        key=key,
        importance=4,
        is_explicit=True,
    )


def indonesian_instruction(flat: str) -> RuleMatch | None:
    named = _PRONOUNS.fullmatch(flat)
    if named:
        return standing(f"Pengguna ingin disebut dengan {named['pronouns'].lower()}.", "pronouns")
    short = _ID_REASON.sub("", flat)
    manner = _MANNER.fullmatch(short)
    if manner:
        return standing(f"Pengguna ingin asisten menjawab dengan {manner['how_said'].lower()}.")
    rather = _RATHER.fullmatch(short)
    if rather and not _BY_OTHERS.search(rather["what"]):
        return standing(f"Pengguna lebih suka {rather['what']}.")
    return _each_time(short) or _always(short)


def _always(flat: str) -> RuleMatch | None:
    each = _EACH_ANSWER.fullmatch(flat)
    if each and not PRESENT_TASK.search(each["what"]):
        what = _SUFFIX.sub(r"\1", _SELF.sub("pengguna", each["what"])).strip(" ,.")
        how = "tidak " if re.match(_NOT, each["how"]) else ""
        return standing(f"Pengguna ingin asisten {how}{what} {each['where'].lower()}.")
    flat = re.sub(r" ya, (?:langsung|cukup) .*", "", flat)
    found = (
        _ID_ALWAYS.fullmatch(flat)
        or _ID_FROM_NOW.fullmatch(flat)
        or _OCCASION_FIRST.fullmatch(flat)
        or _ID_UNTIL_NOW.fullmatch(flat)
    )
    if found is None or IDIOM.match(found["what"]):
        return None
    what = re.sub(r" (?:kalau|kalo|klo|saat|pas) (?:jawab|ngitung|menjawab)\b", "", found["what"])
    if PRESENT_TASK.search(_without_occasion(what)):
        return None
    said = found["how"].strip().lower()
    how = {"selalu": "selalu ", "": ""}.get(said, "tidak pernah " if "pernah" in said else "tidak ")
    what = _SELF.sub("pengguna", what).strip(" ,.")
    return (
        None
        if has_indonesian_possessive(what)
        else standing(f"Pengguna ingin asisten {how}{what}.")
    )


def _without_occasion(what: str) -> str:
    return re.sub(rf" {_OCCASION}", "", what, flags=re.IGNORECASE)


def _each_time(flat: str) -> RuleMatch | None:
    found = _ID_EACH_TIME.fullmatch(flat)
    if found is None or PRESENT_TASK.search(found["what"]) or _SELF.search(found["when"]):
        return None
    # "-nya" refers to what was sent, which the occasion names.
    what = _SUFFIX.sub(r"\1", _SELF.sub("pengguna", found["what"])).strip(" ,.")
    return standing(f"Pengguna ingin asisten {what} setiap kali pengguna {found['when']}.")


def instruction(text: str) -> RuleMatch | None:
    """The standing instruction that a whole sentence gives, or None."""
    if _UNSPOKEN.search(text):
        return None
    flat = " ".join(text.replace("’", "'").split())
    flat = _TAIL.sub("", _TAIL.sub("", flat.rstrip(" .!,")))
    return _english(flat) or _english_each_time(flat) or indonesian_instruction(flat)


def _english(flat: str) -> RuleMatch | None:
    short = _OTHERWISE.sub("unless asked", _REASON.sub("", flat))
    written = _FOR_ME.fullmatch(short)
    if written:
        return standing(f"User wants {written['what']}.")
    found = (
        _ALWAYS.fullmatch(short)
        or _FROM_NOW.fullmatch(short)
        or _NO_MORE.fullmatch(short)
        or _UNTIL_NOW.fullmatch(short)
        or _NEVER_ANY.fullmatch(short)
        or _STOP.fullmatch(short)
    )
    if found is None:
        return None
    how = found["how"].strip().lower()
    what = found["what"].strip(" ,.")
    if _is_passing(what) or (found.re is _STOP and _THE.search(what)):
        return None
    if bool(re.match(rf"(?:{_DOING})\b", what, re.IGNORECASE)) != (how == "stop"):
        return None
    if how == "no":
        return standing(f"User wants the assistant to use no {_about_user(what)}.")
    wish = {"": "to", "always": "to always", "never": "to never", "stop": "to stop"}.get(
        how, "not to"
    )
    return standing(f"User wants the assistant {wish} {_about_user(what)}.")


def _english_each_time(flat: str) -> RuleMatch | None:
    found = _EACH_TIME.fullmatch(_REASON.sub("", flat))
    if found is None or _is_passing(found["what"]):
        return None
    when = english_in_third_person(f"I {found['when']}")
    thing = _SENT.search(found["when"])
    said = found["what"].strip(" ,.")
    if thing:  # "it" is what the user sends
        said = re.sub(r"\bit\b", f"the {thing[1]}", said, flags=re.IGNORECASE)
    what = _about_user(said)
    return standing(f"User wants the assistant to {what} whenever {when}.") if when else None


def _is_passing(what: str) -> bool:
    """Whether it is a maxim, or about the text at hand."""
    asked = what.replace("unless asked", "")
    return bool(IDIOM.match(what) or PRESENT_TASK.search(asked) or _EMPTY.search(asked.strip(" ,")))


def _about_user(what: str) -> str:
    what = what[:1].lower() + what[1:]
    what = re.sub(r"^(keep|make) it\b", r"\1 answers", what)
    what = re.sub(r"\bme\b", "User", what, flags=re.IGNORECASE)
    what = re.sub(r"\bmy\b", "User's", what, flags=re.IGNORECASE)
    return re.sub(r"\byour ", "", what, flags=re.IGNORECASE)
