"""A question as the search sees it: its terms, and what each signal makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.indexing.embedders import QueryVector
from ricordo.text.analyser import Analyser


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
