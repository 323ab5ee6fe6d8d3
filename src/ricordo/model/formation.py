"""What formation did, decision by decision."""

from dataclasses import dataclass

from ricordo.model.record import Record
from ricordo.model.vocabulary import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Record):
    """What became of one thing that was said, and why.

    ``memory_id`` is what was written or met, ``target_id`` the memory that was replaced, updated
    or unlinked, ``proposal_id`` what now waits for the user.
    """

    action: Action
    reason: str
    content: str
    theme: str | None = None
    type: str | None = None
    key: str | None = None
    memory_id: int | None = None
    target_id: int | None = None
    proposal_id: int | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormationReport(Record):
    """What forming brought. ``turns`` says how many were read; ``waits`` why it stopped early."""

    threads: int
    turns: int
    decisions: tuple[Decision, ...]
    waits: str | None = None

    def count(self, action: Action) -> int:
        """How many decisions were of this kind."""
        return sum(decision.action is action for decision in self.decisions)
