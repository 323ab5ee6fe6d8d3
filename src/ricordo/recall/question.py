"""A question as the search sees it: its terms, and what each signal makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.index.embedders import QueryVector
from ricordo.limits import MAX_QUERY_CHARS
from ricordo.text.analyser import Analyser
from ricordo.text.folding import is_identifier


def question_in(text: str) -> str:
    """What to search for: a text, or both ends of one that is too long for a question."""
    if len(text) <= MAX_QUERY_CHARS:
        return text.strip()
    half = MAX_QUERY_CHARS // 2 - 1
    return f"{text[:half]} {text[-half:]}".strip()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for."""

    text: str
    terms: Sequence[str]
    meant: QueryVector

    @classmethod
    def of(cls, text: str, analyser: Analyser, meant: QueryVector) -> "Question":
        """A question from what a user typed, whatever that is."""
        return cls(text, tuple(analyser.query_terms(text)), meant)

    @property
    def exact_terms(self) -> Sequence[str]:
        """The terms that mean themselves and nothing near them: identifiers, or all there is."""
        return self.terms if len(self.terms) == 1 else [*filter(is_identifier, self.terms)]
