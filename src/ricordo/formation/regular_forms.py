"""Chat in full spelling, and statements in the third person."""

import re
from typing import Final

from ricordo.formation.resources import alternatives, lines, pattern, words

BASE_FORMS: Final = words("forms", "base forms")
_PAST_FORMS: Final = words("forms", "past forms")
_MODALS: Final = words("forms", "modals")
_ADVERBS: Final = words("forms", "adverbs")
_NOT_VERBS: Final = words("forms", "not verbs")
_NO_BASE_FORM: Final = ("ing", "ly", "ed", "ss", "s", "'t", "ous", "ful")
_ODD: Final = {"have": "has", "do": "does", "go": "goes", "am": "is", "haven't": "hasn't"}
_UNRESOLVED = re.compile(rf"\b(?:{alternatives('forms', 'unresolved pronouns')})\b")

_RESOLVED = re.compile(r"\b(?:US|IT|this (?:week|month|year|spring|summer|autumn|fall|winter))\b")

_ENGLISH_LEAD = pattern("forms", "english lead", re.IGNORECASE)
_ENGLISH_TAIL = pattern("forms", "english tail", re.IGNORECASE)
_SMALL_I = re.compile(r"\bi(?= )")
_TOKENS = re.compile(r"[\w'-]+|[^\w\s']+|\s+|'")
_REPLACED: Final = {"my": "User's", "me": "User", "mine": "User's"}
_SECOND_VERB = re.compile(
    rf"\b(?:and|or|but) (?:\w+ly )?(?:{'|'.join(sorted(BASE_FORMS | {'am'}))})\b", re.IGNORECASE
)

_INDONESIAN_LEAD = pattern("forms", "indonesian lead", re.IGNORECASE)
_OWNED = re.compile(rf"\b({'|'.join(sorted(words('forms', 'owned')))})ku\b", re.IGNORECASE)
_INDONESIAN_ADVERBS = re.compile(
    rf"^saya(?: {alternatives('forms', 'indonesian adverb')}){{1,3}}(?= )", re.IGNORECASE
)
_SELF = re.compile(r"\bsaya\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\b\w{3,}ku\b", re.IGNORECASE)
_NO_SUFFIX: Final = words("forms", "no suffix")
_POSSESSIVE = re.compile(r"\b\w{3,}(?:mu|nya)\b", re.IGNORECASE)
_NO_POSSESSIVE: Final = words("forms", "no possessive")


def _spellings(section: str, end: str) -> list[tuple[re.Pattern[str], str]]:
    rows = (row.split(" = ") for row in lines("forms", section))
    return [(re.compile(rf"\b(?:{written}){end}", re.IGNORECASE), full) for full, written in rows]


_ENGLISH_SPELLINGS: Final = _spellings("english spellings", r"(?![\w'])")
_INDONESIAN_SPELLINGS: Final = _spellings("indonesian spellings", r"\b")


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def has_pronoun(text: str) -> bool:
    """Whether it has a pronoun that another reader could not resolve."""
    return bool(_UNRESOLVED.search(_RESOLVED.sub("", text).lower()))


def has_no_subject(text: str) -> bool:
    """Whether an English clause begins with its verb in the past: "got a Skoda instead"."""
    first = text.partition(" ")[0].lower()
    return first in _PAST_FORMS or re.fullmatch(r"[a-z]{2,}ed", first) is not None


def has_indonesian_possessive(text: str) -> bool:
    found = (word.group().lower() for word in _POSSESSIVE.finditer(text))
    return any(word not in _NO_POSSESSIVE for word in found)


def spelled_out(text: str) -> str:
    flat = " ".join(text.replace("’", "'").split())
    lead = _ENGLISH_LEAD.match(flat)
    flat = _ENGLISH_TAIL.sub("", flat[lead.end() :] if lead else flat)
    for spelling, full in _ENGLISH_SPELLINGS:
        flat = spelling.sub(full, flat)
    return _SMALL_I.sub("I", flat)


def english_in_third_person(text: str) -> str | None:
    """The statement about "User"; None if it cannot be converted safely.

    An unknown verb, a second verb with the same subject and any remaining pronoun make it unsafe.
    """
    flat = spelled_out(text)
    if re.search(r"\bI\b", flat, re.IGNORECASE) and _SECOND_VERB.search(flat):
        return None
    turned: list[str] = []
    awaits_verb = False
    for token in _TOKENS.findall(flat):
        lowered = token.lower()
        if awaits_verb and not token.isspace():
            verb = _turned_verb(lowered)
            if verb is None:
                return None
            turned.append(verb)
            awaits_verb = lowered in _ADVERBS
        elif lowered == "i":
            turned.append("User")
            awaits_verb = True
        else:
            turned.append(_REPLACED.get(lowered, token))
    statement = "".join(turned)
    return None if awaits_verb or has_pronoun(statement) else statement


def _turned_verb(word: str) -> str | None:
    if word in _ODD:
        return _ODD[word]
    is_same = word in _ADVERBS or word in _MODALS or word in _PAST_FORMS
    if is_same or re.fullmatch(r"\w{2,}ed", word):
        return word
    if word in BASE_FORMS:
        return _third_person(word)
    is_verb = re.fullmatch(r"[a-z]{3,}", word) and not word.endswith(_NO_BASE_FORM)
    return _third_person(word) if is_verb and word not in _NOT_VERBS else None


def _third_person(verb: str) -> str:
    """``try`` gives ``tries``."""
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def indonesian_in_third_person(text: str) -> str | None:
    """The statement about "pengguna"; None if it cannot be converted safely."""
    flat = " ".join(text.replace("’", "'").split())
    lead = _INDONESIAN_LEAD.match(flat)
    flat = flat[lead.end() :] if lead else flat
    for spelling, full in _INDONESIAN_SPELLINGS:
        flat = spelling.sub(full, flat)
    flat = _OWNED.sub(r"\1 saya", flat)
    turned = _SELF.sub("pengguna", _INDONESIAN_ADVERBS.sub("saya", flat))
    owned = (word.group().lower() for word in _SUFFIX.finditer(turned))
    if any(word not in _NO_SUFFIX for word in owned):
        return None
    return None if has_pronoun(turned) or has_indonesian_possessive(turned) else turned
