"""Whether a candidate is written as a memory should be: put right where possible, else rejected.

A memory is read years later, by a model that knows nothing of the conversation. So it must say by
itself who did what, in a sentence or two, in the user's own language.
"""

import re
from dataclasses import replace
from typing import Final

from ricordo.formation.candidate import Candidate
from ricordo.formation.writing.evidence import occurrence
from ricordo.formation.writing.rejection import Rejection, RejectionCode
from ricordo.formation.writing.tidying import tidied
from ricordo.formation.writing.writing_rules import RULES, Written, is_numbered
from ricordo.formation.writing.writing_words import HYPE
from ricordo.model.vocabulary import MemoryType
from ricordo.text.languages import guess

__all__ = ["Rejection", "RejectionCode", "validated"]

# Only a user can want something; what a tool gave back can at most be a fact.
_WISHES: Final = frozenset({MemoryType.INSTRUCTION, MemoryType.PREFERENCE, MemoryType.PROCEDURE})
_LISTED_LINES = re.compile(r"(?:^|\n)[ \t]*(?:[-*•+]|[0-9]{1,2}[.)])[ \t]")
# Far more than can be put right; looked at no further, so that nothing costs much time.
_MAX_LOOKED_AT_CHARS: Final = 8_000


def validated(candidate: Candidate) -> Candidate | Rejection:
    """The candidate with its content put right, or what is wrong with it. Never raises.

    What is valid comes back unchanged.
    """
    given = candidate.content
    if len(given) > _MAX_LOOKED_AT_CHARS:
        return Rejection(RejectionCode.TOO_LONG, f"{len(given)} characters")
    is_procedure = candidate.type is MemoryType.PROCEDURE
    if not is_procedure and (is_numbered(given) or len(_LISTED_LINES.findall(given)) > 1):
        return Rejection(RejectionCode.NUMBERED, "a list")
    if HYPE.search(given):
        return Rejection(RejectionCode.NOT_NEUTRAL, "an exclamation")
    if found := _of_source(candidate):
        return found
    content = tidied(given, keep_lines=is_procedure)
    written = Written(content, candidate.type)
    for code, rule in RULES:
        if problem := rule(written):
            return Rejection(code, problem)
    return _other_language(candidate, content) or replace(candidate, content=content)


def _of_source(candidate: Candidate) -> Rejection | None:
    passage = candidate.passage
    if occurrence(candidate.quote, passage.text) is None:
        return Rejection(RejectionCode.NO_EVIDENCE, "the quote is not in the passage")
    if not passage.is_from_user and (candidate.type in _WISHES or candidate.is_explicit):
        return Rejection(RejectionCode.FROM_A_TOOL, f"a tool cannot give a {candidate.type.value}")
    return None


def _other_language(candidate: Candidate, content: str) -> Rejection | None:
    """Only where both are sure. A tool's language says nothing about the user's."""
    if not candidate.passage.is_from_user:
        return None
    written = guess(content)
    said = guess(candidate.quote) or guess(candidate.passage.text)
    if written and said and written != said:
        return Rejection(RejectionCode.OTHER_LANGUAGE, f"written in {written}, said in {said}")
    return None
