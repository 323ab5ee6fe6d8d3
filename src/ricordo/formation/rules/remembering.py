"""Requests to remember that no rule reads: turned into the third person, or kept as they stand."""

import re
from typing import Final

from ricordo.formation.rules import english_person, indonesian_person
from ricordo.formation.rules.clauses import clauses
from ricordo.formation.rules.explicit import Request
from ricordo.formation.rules.guards import may_be_source
from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.trimming import has_indonesian_possessive, has_pronoun

_MIN_WORDS: Final = 3
_MAX_WORDS: Final = 40
_FILLER_TAIL = re.compile(
    r"[,\s]+(?:please|pls|ok|okay|thanks|thank you|ya|yah|dong|kak|makasih)\W*$", re.IGNORECASE
)
# "my member number, it's 4512": the thing is named twice.
_IT_IS = re.compile(r"^(my [\w' -]{2,40}?),? (?:it['’]?s|it is|that['’]?s) ", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|i['’]m|im|i['’]ve|my|me|mine)\b", re.IGNORECASE)
_FIRST_PERSON_INDONESIAN = re.compile(
    r"\b(?:saya|aku|gue|gw|gua)\b|\b(?:nama|istri|suami|anak|rumah|mobil|ibu|ayah|adik|kakak|"
    r"kucing|anjing)ku\b",
    re.IGNORECASE,
)
_INDONESIAN = re.compile(
    r"\b(?:yang|di|ke|dari|dan|untuk|dengan|adalah|ada|tidak|hari|tanggal|jam|pada|harus|"
    r"setiap|tutup|buka|besok|kantor|rumah)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|lives|works|likes|loves|hates|needs|costs|starts|ends|"
    r"closes|opens|prefers|"
    r"speaks|can|will|must|wants|comes|goes|takes|owns|uses|studies|expires|happens|arrives|"
    r"leaves|eats|drinks|"
    r"contains|runs|moved|died|married|means|stands|belongs|meets)\b",
    re.IGNORECASE,
)


def as_it_stands(request: Request) -> Statement | None:
    """What a request asks to remember, as one statement, if that can be said safely."""
    text = _FILLER_TAIL.sub("", request.body.text).strip(" ,.!")
    text = _IT_IS.sub(r"\1 is ", text)
    words = text.split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS or not _is_earnest(request):
        return None
    said = _said(text, request.is_strong)
    if said is None:
        return None
    content = said[:1].upper() + said[1:] + "."
    is_own = bool(_FIRST_PERSON.search(text) or _FIRST_PERSON_INDONESIAN.search(text))
    return Statement(
        content, theme="profile" if is_own else "general", importance=3, is_explicit=True
    )


def _said(text: str, is_strong: bool) -> str | None:
    if _FIRST_PERSON_INDONESIAN.search(text):
        return indonesian_person.in_third_person(text)
    if _FIRST_PERSON.search(text):
        starts = re.match(r"(?:i|i['’]m|im|i['’]ve|my)\b", text, re.IGNORECASE) or _STATES.search(
            text
        )
        return english_person.in_third_person(text) if starts else None
    states = _STATES.search(text) or _INDONESIAN.search(text)
    if not is_strong or not states or has_pronoun(text) or has_indonesian_possessive(text):
        return None
    return text


def _is_earnest(request: Request) -> bool:
    return all(may_be_source(request.body, clause) for clause in clauses(request.body))
