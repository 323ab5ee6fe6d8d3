"""English statements turned from the first person into the third."""

import re
from typing import Final

from ricordo.formation.rules.english_verbs import (
    ADVERBS,
    BASE_FORMS,
    MODALS,
    PAST_FORMS,
    third_person,
)
from ricordo.formation.rules.trimming import has_pronoun
from ricordo.formation.rules.word_sets import words

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
_NOT_VERBS: Final = words("""
and but the not who that this would could might may shall ought too then there here with from for
kinda sorta gotta wanna gonna don dont cant wont didnt isnt personally yes both all myself
""")
_SECOND_VERB = re.compile(
    rf"\b(?:and|or|but) (?:\w+ly )?(?:{'|'.join(sorted(BASE_FORMS | {'am'}))})\b", re.IGNORECASE
)


def in_third_person(text: str) -> str | None:
    """The statement about "User", or None where it cannot be turned safely.

    A verb that is not known, a second verb that shares its subject and any pronoun that would be
    left make it unsafe.
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
