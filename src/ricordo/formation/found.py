"""What a stretch of a conversation was found to say."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.formation.candidate import Candidate
from ricordo.model.formation import Decision


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates for memories, and what had to be turned away."""

    candidates: Sequence[Candidate]
    refused: Sequence[Decision]
