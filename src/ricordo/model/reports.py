"""What an operation did: formation, upkeep, audits, transfers, backups, mirrors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from ricordo.model.record import Record
from ricordo.model.vocabulary import Action


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


CONSOLIDATION_PAIRS: Final = "consolidation_pairs"
"""Pairs that were looked at; a day's are limited."""
CONSOLIDATION_MERGED: Final = "consolidation_merged"
CONSOLIDATION_SUPERSEDED: Final = "consolidation_superseded"
CONSOLIDATION_LINKED: Final = "consolidation_linked"


class PairAction(StrEnum):
    """What became of two memories that lie near each other."""

    MERGE = "merge"
    SUPERSEDE = "supersede"
    LINK = "link"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision(Record):
    """What became of one pair, and why.

    ``replaced`` is the memory that ``kept`` took the place of; where both stay, ``beside`` is the
    other one.
    """

    kept: int
    action: PairAction
    reason: str
    similarity: float
    replaced: int | None = None
    beside: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport(Record):
    """What one consolidation brought.

    ``waiting`` pairs are left for another day, and ``waits`` says why. Of a ``dry_run`` the
    decisions say what would be done.
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


INSIGHTS_WRITTEN: Final = "insights_written"
INSIGHTS_DROPPED: Final = "insights_dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightReport(Record):
    """One look at what a user was busy with.

    ``written`` are the ids of the new memories, ``dropped`` says how many observations were turned
    away, ``skipped`` why there was no look, or nothing came of it.
    """

    written: tuple[int, ...] = ()
    dropped: int = 0
    skipped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport(Record):
    """What one round of a user's upkeep brought.

    ``forgotten`` memories were soft-deleted, ``trimmed`` rows of old events, counters and notes
    went, ``unrelated`` relations were cut, ``vectors_asked`` texts wait for their vectors.
    ``queued`` are the kinds of the jobs that the rest was left to.
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
    """What an import wrote and what it left out, with the reasons counted."""

    format: str
    added: int = 0
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
"""What belongs to a store, is not in its database, and so in none of its backups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport(Record):
    """A backup that was made, or looked through and found sound.

    ``version`` and ``schema`` are those of the ricordo that made it and of its tables, ``database``
    what it was made from: ``sqlite`` or ``postgresql``. ``rows`` has every table with anything of a
    user's. ``left_out`` is what has to be kept elsewhere.
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
    """A backup that is now what a store holds.

    ``schema`` is that of the store, ``migrated_from`` that of the backup where it was older.
    ``replaced`` says that the store had something before.
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
    """One line of MEMORY.md, and what became of it.

    ``line`` is its number in the file as it was read, ``id`` the memory that it was about,
    ``new_id`` the memory that says it now, ``note`` what was done, or why nothing was.
    """

    note: str
    line: int | None = None
    id: int | None = None
    new_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReport(Record):
    """What one synchronisation of MEMORY.md and the daily logs did.

    ``applied`` is False where the file as a whole could not be understood: then nothing was taken
    over and nothing was written, and ``problems`` says why. ``written`` tells whether the file was
    written anew, ``daily_entries`` how many entries came to the daily logs.
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
        """True where nothing was done and there is nothing to say."""
        return not (self.written or self.daily_entries or self.problems or self.writes)

    @property
    def writes(self) -> int:
        """How many memories were written."""
        taken_over = (self.added, self.changed, self.moved, self.forgotten, self.conflicts)
        return sum(len(entries) for entries in taken_over)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStatus(Record):
    """How a user's mirror stands.

    ``path`` is None where the store has no folder for files. ``mirrored_revision`` is the revision
    that the file tells, None before the first time. ``edited`` is True where the file was changed
    since. ``problems`` are the conflicts and problems of the last time.
    """

    path: str | None
    on: bool
    revision: int
    mirrored_revision: int | None = None
    edited: bool = False
    problems: tuple[MirrorEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeReport(Record):
    """What was made of a user's home folder, and what was there before, by path."""

    folder: str
    user: str
    database: str
    made: tuple[str, ...]
    present: tuple[str, ...]
