"""What a stretch of a conversation was found to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ricordo.formation.candidate import Candidate
from ricordo.model.reports import Decision


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates for memories, and what had to be turned away.

    ``material``: how many stretches were left unread, by the reason why they are not the user's
    own voice.
    """

    candidates: Sequence[Candidate]
    refused: Sequence[Decision]
    material: Mapping[str, int] = field(default_factory=dict)
