"""What happened to a user's memories: one row per write, one revision per row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ricordo.model.record import Record
from ricordo.model.vocabulary import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Record):
    """One write. ``old_ref`` and ``new_ref`` are ids of memories that it led from and to.

    ``before`` holds the values that an update replaced. It is emptied when the memory is purged,
    so that history outlives a memory without keeping what it said.
    """

    revision: int
    event: Event
    item_id: int
    at: datetime
    actor: str
    reason: str | None = None
    old_ref: int | None = None
    new_ref: int | None = None
    other_user: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Changes(Record):
    """A stretch of the change feed, oldest first.

    ``revision`` is where the feed stands now; ``more`` says that it goes on after the last change
    given here.
    """

    changes: tuple[Change, ...]
    revision: int
    more: bool

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)
