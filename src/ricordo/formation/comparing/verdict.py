"""What a model is asked about two statements, and what it may answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Relationship(StrEnum):
    """How a new statement stands to a stored one."""

    SAME = "same"
    CONTRADICTION = "contradiction"
    REFINEMENT = "refinement"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Pair:
    """A new statement and a stored one that is near it."""

    new: str
    new_at: datetime
    old: str
    old_at: datetime
    similarity: float

    @property
    def texts(self) -> tuple[str, str]:
        """What is compared."""
        return self.new, self.old


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the new statement of a pair stands to the old one, and why, in the model's words."""

    kind: Relationship
    reason: str | None = None
