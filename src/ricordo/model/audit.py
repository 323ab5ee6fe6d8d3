"""What an audit of a user's memories found."""

from dataclasses import dataclass

from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Record):
    """One or two memories that somebody should look at, and why.

    ``similarity`` is how near two memories are by meaning, where that was measured.
    """

    ids: tuple[int, ...]
    reason: str
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(Record):
    """Findings of one kind: how many there are, and the first of them.

    ``is_complete`` is False where the count stopped at the largest number that is counted, or
    where not everything could be compared.
    """

    count: int = 0
    listed: tuple[Finding, ...] = ()
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport(Record):
    """What is stored for a user that may be wrong, needless or out of date. Nothing is changed.

    ``memories`` is how many active ones were looked at. Duplicates and contradictions are pairs;
    junk suspects, unverified and expired ones are single memories.
    """

    user_id: str
    memories: int
    duplicates: Findings
    contradictions: Findings
    junk: Findings
    unverified: Findings
    expired: Findings
