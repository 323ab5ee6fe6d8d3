"""Normalises English chat, so that rules need only one spelling."""

import re
from typing import Final

from ricordo.formation.rules.rule import (
    ADVERBS,
    BASE_FORMS,
    MODALS,
    PAST_FORMS,
    has_pronoun,
    third_person,
)
from ricordo.formation.words import alternatives, pattern, words

_LEAD = re.compile(
    rf"(?:(?:{alternatives('rules', 'leads')})(?:\s*[,.!:…]+\s*|\s+|$)){{0,4}}", re.IGNORECASE
)
_GREETING = pattern("english", "greeting", re.IGNORECASE)
_SPELLINGS: Final = tuple(
    (re.compile(rf"\b{pattern}(?![\w'])", re.IGNORECASE), full)
    for pattern, full in (
        (r"(?:i'm|im|i am)", "I am"),
        (r"(?:i've|ive|i have)(?: got)?", "I have"),
        (r"(?:we're|we are)", "we are"),
        (r"(?:we've|we have)(?: got)?", "we have"),
        (r"(?:b-?day)", "birthday"),
        (r"(?:hubby)", "husband"),
        (r"(?:yrs?|year)[- ]olds?", "year-old"),
        (r"(?:i'll|i will)", "I will"),
        (r"(?:don't|dont)", "do not"),
        (r"(?:can't|cant|can not)", "cannot"),
        (r"(?:doesn't|doesnt)", "does not"),
        (r"(?:isn't|isnt)", "is not"),
        (r"gonna", "going to"),
        (r"wanna", "want to"),
        (r"(?:name's)", "name is"),
        (r"birthday's", "birthday is"),
        (r"job's", "job is"),
        (r"(\w{2,})'s (?=(?:the|my) name\b)", r"\1 is "),
        (r"(?:aren't|arent)", "are not"),
        (r"you're", "you are"),
        (r"(?:favorite|fav|fave)", "favourite"),
    )
)
_SMALL_I = re.compile(r"\bi(?= )")
_ADVERB = alternatives("english", "adverb")
_ADVERBS = re.compile(
    rf"^(I(?: am| have| do not)?)(?: (?!do not){_ADVERB}){{1,3}}(?= )", re.IGNORECASE
)


def spelled_out(text: str) -> str:
    """The clause in full spelling, without greeting and filler."""
    flat = " ".join(text.replace("’", "'").split())
    lead = _LEAD.match(flat)
    flat = flat[lead.end() :] if lead else flat
    for spelling, full in _SPELLINGS:
        flat = spelling.sub(full, flat)
    return _SMALL_I.sub("I", flat)


def regular(text: str) -> str:
    """As ``spelled_out``, without adverbs before the verb."""
    return _ADVERBS.sub(r"\1", spelled_out(text))


_BOTH = re.compile(r"my [\w-]+ and (?:I|me)(?= )", re.IGNORECASE)


def of_both(clause: str) -> str:
    """A regular clause about "my wife and I" as one about "I"; any other unchanged."""
    return _BOTH.sub("I", clause, count=1) if _BOTH.match(clause) else clause


def is_greeting(text: str) -> bool:
    return bool(_GREETING.match(text))


_TOKENS = re.compile(r"[\w'-]+|[^\w\s']+|\s+|'")
_FULL_FORMS: Final = (
    (re.compile(r"\b(?:i'm|im)\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(?:i've|ive)\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bi'll\b", re.IGNORECASE), "I will"),
    (re.compile(r"\bdont\b", re.IGNORECASE), "don't"),
)
_REPLACED: Final = {"my": "User's", "me": "User", "mine": "User's"}
_AUXILIARIES: Final = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "was": "was",
    "haven't": "hasn't",
}
_NO_BASE_FORM: Final = ("ing", "ly", "ed", "ss", "s", "'t", "ous", "ful")
_NOT_VERBS: Final = words("rules", "not verbs")
_SECOND_VERB = re.compile(
    rf"\b(?:and|or|but) (?:\w+ly )?(?:{'|'.join(sorted(BASE_FORMS | {'am'}))})\b", re.IGNORECASE
)


def in_third_person(text: str) -> str | None:
    """The statement about "User"; None if it cannot be converted safely.

    An unknown verb, a second verb with the same subject and any remaining pronoun make it unsafe.
    """
    flat = " ".join(text.replace("’", "'").split())
    for short, full in _FULL_FORMS:
        flat = short.sub(full, flat)
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
            awaits_verb = lowered in ADVERBS
        elif lowered == "i":
            turned.append("User")
            awaits_verb = True
        else:
            turned.append(_REPLACED.get(lowered, token))
    statement = "".join(turned)
    return None if awaits_verb or has_pronoun(statement) else statement


def _turned_verb(word: str) -> str | None:
    if word in _AUXILIARIES:
        return _AUXILIARIES[word]
    if word in ADVERBS or word in MODALS or word in PAST_FORMS or re.fullmatch(r"\w{2,}ed", word):
        return word
    if word in BASE_FORMS:
        return third_person(word)
    is_verb = re.fullmatch(r"[a-z]{3,}", word) and not word.endswith(_NO_BASE_FORM)
    return third_person(word) if is_verb and word not in _NOT_VERBS else None
