"""What a memory quotes of what was said: the clauses that it rests on, and no more."""

import re
from dataclasses import replace
from typing import Final

from ricordo.formation.candidate import Candidate
from ricordo.formation.consent.sensitive import sensitive_fields_of
from ricordo.formation.rules.clauses import clauses
from ricordo.formation.rules.sentences import sentences
from ricordo.text.analyser import stop_words
from ricordo.text.folding import fold_letters, fold_marks
from ricordo.text.secrets import has_secret

_WORD: Final = re.compile(r"[^\W_]+")
_STEM_CHARS: Final = 4
_LITTLE: Final = stop_words("english") | stop_words("indonesian") | {"user", "pengguna", "user's"}


def resting_on_its_clause(candidate: Candidate) -> Candidate:
    """The candidate with its quote cut to the clauses that say what it says."""
    quote = cut_quote(candidate.content, candidate.quote)
    return candidate if quote == candidate.quote else replace(candidate, quote=quote)


def cut_quote(content: str, quote: str) -> str:
    """The part of a quote from the first clause that a statement shares words with to the last.

    A quote that shares none is left as it is: it may be in another language.
    """
    wanted = _stems(content)
    told = [
        (clause.start, clause.end)
        for sentence in sentences(quote)
        for clause in clauses(sentence)
        if not wanted.isdisjoint(_stems(clause.text))
    ]
    return quote[told[0][0] : told[-1][1]] if told else quote


def quote_for_others(content: str, key: str | None, quote: str) -> str | None:
    """A quote for who may read some categories alone; None where it tells more than the memory."""
    cut = cut_quote(content, quote)
    more = sensitive_fields_of(cut, "", None) - sensitive_fields_of(content, "", key)
    if more or has_secret(cut):
        return None
    wanted = _stems(content)
    aside = [
        clause
        for sentence in sentences(cut)
        for clause in clauses(sentence)
        if wanted.isdisjoint(_stems(clause.text))
    ]
    return None if aside else cut


def _stems(text: str) -> set[str]:
    words = _WORD.findall(fold_letters(fold_marks(text)))
    return {word[:_STEM_CHARS] for word in words if word not in _LITTLE}
