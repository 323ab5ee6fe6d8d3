"""What a large operation did, in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ricordo.model.record import Record


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
