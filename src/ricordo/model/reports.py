"""Results of operations: formation, upkeep, audits, transfers, backups, mirrors."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from ricordo.frozen import dataclass, field
from ricordo.model.record import Record
from ricordo.model.vocabulary import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Record):
    """One or two memories to review, and why.

    ``similarity`` is that of the two memories, where it was measured.
    """

    ids: tuple[int, ...]
    reason: str
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(Record):
    """Findings of one kind: their count, and the first of them.

    ``is_complete`` is False where the count reached its limit, or not everything could be compared.
    """

    count: int = 0
    listed: tuple[Finding, ...] = ()
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDecision(Record):
    """A decision of formation. ``item_id`` is its memory or proposal, ``content`` what that says
    now, if it is still kept; of rejected statements only the reason is.
    """

    at: datetime
    thread_id: str | None
    action: Action
    reason: str | None
    theme: str | None = None
    item_id: int | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport(Record):
    """Memories of a user that may be wrong, needless or outdated. Nothing is changed.

    ``memories`` is the number of active ones checked. Duplicates and contradictions are pairs; junk
    suspects, unverified and expired ones are single memories. ``decisions`` are formation's, the
    latest first.
    """

    user_id: str
    memories: int
    duplicates: Findings
    contradictions: Findings
    junk: Findings
    unverified: Findings
    expired: Findings
    decisions: tuple[PastDecision, ...] = ()


CONSOLIDATION_PAIRS: Final = "consolidation_pairs"
"""The pairs checked per day, which are limited."""
CONSOLIDATION_MERGED: Final = "consolidation_merged"
CONSOLIDATION_SUPERSEDED: Final = "consolidation_superseded"
CONSOLIDATION_LINKED: Final = "consolidation_linked"


class PairAction(StrEnum):
    """The outcome for two similar memories."""

    MERGE = "merge"
    SUPERSEDE = "supersede"
    LINK = "link"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision(Record):
    """The outcome for one pair, and why.

    ``replaced`` is the memory that ``kept`` replaced; where both stay, ``beside`` is the other one.
    """

    kept: int
    action: PairAction
    reason: str
    similarity: float
    replaced: int | None = None
    beside: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport(Record):
    """The result of one consolidation.

    ``waiting`` pairs are left for another day, and ``waits`` says why. In a ``dry_run`` the
    decisions are not applied.
    """

    pairs: int = 0
    merged: int = 0
    superseded: int = 0
    linked: int = 0
    waiting: int = 0
    waits: str | None = None
    decisions: tuple[PairDecision, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Record):
    """The decision on one statement, and why.

    ``memory_id`` is the memory written or matched, ``target_id`` the memory that was replaced,
    updated or unlinked, ``proposal_id`` the proposal that waits for the user.
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
    """The result of formation. ``turns`` is the number of turns read; ``waits`` says why it stopped
    early.
    """

    threads: int
    turns: int
    decisions: tuple[Decision, ...]
    waits: str | None = None

    def count(self, action: Action) -> int:
        """The number of decisions of this kind."""
        return sum(decision.action is action for decision in self.decisions)


INSIGHTS_WRITTEN: Final = "insights_written"
INSIGHTS_DROPPED: Final = "insights_dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightReport(Record):
    """One attempt to derive insights about a user.

    ``written`` are the ids of the new memories, ``dropped`` counts rejected observations,
    ``skipped`` says why nothing was written.
    """

    written: tuple[int, ...] = ()
    dropped: int = 0
    skipped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport(Record):
    """The result of one round of a user's upkeep.

    ``forgotten`` memories were soft-deleted, ``trimmed`` counts deleted rows of old events,
    counters and notes, ``unrelated`` deleted relations, ``vectors_asked`` texts that wait for
    vectors. ``queued`` are the kinds of the jobs for the rest.
    """

    forgotten: int = 0
    trimmed: int = 0
    unrelated: int = 0
    vectors_asked: int = 0
    queued: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt(Record):
    """Proof of an erasure: rows removed per table, files (``files``) and whether freed space was
    overwritten too.

    ``scrubbed`` is False on SQLite when another process was reading; a queued job then finishes
    it. On PostgreSQL it is always False: the server overwrites freed space in its own time.
    """

    user_id: str
    erased_at: datetime
    removed: Mapping[str, int]
    scrubbed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport(Record):
    """What an import wrote and skipped, with counted reasons; ``proposed`` waits for consent."""

    format: str
    added: int = 0
    proposed: int = 0
    updated: int = 0
    duplicates: int = 0
    restored_rows: int = 0
    threads: int = 0
    turns: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)


LEFT_OUT: Final = (
    "what opens users' own API keys: secret.key in the home folder, or RICORDO_SECRET_KEY",
    "the files of the home folder: prompts, profiles, mirrors",
    "the policy file",
)
"""Parts of a store outside its database, so not in its backups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport(Record):
    """A backup that was made or verified.

    ``version`` and ``schema`` are those of the ricordo that made it and of its tables, ``database``
    what it was made from: ``sqlite`` or ``postgresql``. ``rows`` has every table with anything of a
    user's. ``left_out`` has to be backed up separately.
    """

    path: str
    made_at: datetime
    version: str
    schema: str
    database: str
    size_bytes: int
    rows: Mapping[str, int]
    left_out: tuple[str, ...] = LEFT_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport(Record):
    """A restored backup.

    ``schema`` is that of the store, ``migrated_from`` that of the backup where it was older.
    ``replaced`` says that the store was not empty before.
    """

    path: str
    made_at: datetime
    database: str
    schema: str
    migrated_from: str | None
    replaced: bool
    rows: Mapping[str, int]
    left_out: tuple[str, ...] = LEFT_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorEntry(Record):
    """One line of MEMORY.md, and its outcome.

    ``line`` is its number in the file as it was read, ``id`` its memory, ``new_id`` the memory it
    became, ``note`` what was done, or why nothing was.
    """

    note: str
    line: int | None = None
    id: int | None = None
    new_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReport(Record):
    """What one synchronisation of MEMORY.md and the daily logs did.

    ``applied`` is False where the file as a whole could not be parsed: then nothing was changed,
    and ``problems`` says why. ``written`` says whether the file was rewritten, ``daily_entries``
    counts the new entries of the daily logs.
    """

    path: str
    revision: int
    applied: bool = True
    written: bool = False
    daily_entries: int = 0
    hidden: int = 0
    added: tuple[MirrorEntry, ...] = ()
    changed: tuple[MirrorEntry, ...] = ()
    moved: tuple[MirrorEntry, ...] = ()
    forgotten: tuple[MirrorEntry, ...] = ()
    conflicts: tuple[MirrorEntry, ...] = ()
    problems: tuple[MirrorEntry, ...] = ()

    @property
    def is_quiet(self) -> bool:
        """True where there is nothing to report."""
        return not (self.written or self.daily_entries or self.problems or self.writes)

    @property
    def writes(self) -> int:
        """The number of memories written."""
        taken_over = (self.added, self.changed, self.moved, self.forgotten, self.conflicts)
        return sum(len(entries) for entries in taken_over)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStatus(Record):
    """The state of a user's mirror.

    ``path`` is None where the store has no folder for files. ``mirrored_revision`` is the revision
    in the file, None before the first sync. ``edited`` is True where the file was changed since.
    ``problems`` are those of the last sync.
    """

    path: str | None
    on: bool
    revision: int
    mirrored_revision: int | None = None
    edited: bool = False
    problems: tuple[MirrorEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeReport(Record):
    """What was created in a user's home folder, and what existed before, by path."""

    folder: str
    user: str
    database: str
    made: tuple[str, ...]
    present: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelReport(Record):
    """What came of trying a language model. ``problem`` is None when all is well; tokens are those
    of all requests."""

    ok: bool
    provider: str
    model: str
    structured_output: str | None
    latency_ms: float | None
    prompt_tokens: int
    completion_tokens: int
    problem: str | None
