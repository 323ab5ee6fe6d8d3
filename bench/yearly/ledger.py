"""What the simulation itself knows of each memory, to hold against what upkeep did to it."""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ricordo.model.item import Change
from ricordo.model.vocabulary import Event


@dataclass(slots=True)
class _Known:
    is_pinned: bool
    touched: list[datetime]
    deleted: datetime | None = None


@dataclass
class Ledger:
    """One user's memories by id: when each was stated, changed or recalled, and how it ended."""

    forget_after: timedelta
    purge_after: timedelta
    revision: int = 0
    problems: list[str] = field(default_factory=list)
    forgotten: int = 0
    purged: int = 0
    _known: dict[int, _Known] = field(default_factory=dict)

    def touch(self, item_id: int, moment: datetime, *, is_pinned: bool = False) -> None:
        """A memory was stated, changed or recalled."""
        known = self._known.setdefault(item_id, _Known(is_pinned, []))
        known.is_pinned = known.is_pinned or is_pinned
        known.touched.append(moment)

    @property
    def pinned(self) -> list[int]:
        """The memories that were pinned."""
        return [item_id for item_id, known in self._known.items() if known.is_pinned]

    def restorable(self, now: datetime) -> list[int]:
        """What is forgotten and not to be purged yet."""
        return [
            item_id
            for item_id, known in self._known.items()
            if known.deleted is not None and now < known.deleted + self.purge_after
        ]

    def follow(self, change: Change) -> None:
        """Check one change of the feed against what is known."""
        self.revision = change.revision
        known = self._known.setdefault(change.item_id, _Known(False, []))
        match change.event:
            case Event.TTL:
                self._check_forgotten(change, known)
                self.forgotten += 1
                known.deleted = change.at
            case Event.DELETE:
                known.deleted = change.at
            case Event.RESTORE:
                known.deleted = None
            case Event.PURGE:
                self._check_purged(change, known)
                self.purged += 1
                known.deleted = None

    def _check_forgotten(self, change: Change, known: _Known) -> None:
        what = f"memory {change.item_id}, forgotten at {change.at:%Y-%m-%d %H:%M},"
        if known.is_pinned:
            self.problems.append(f"{what} was pinned")
        before = bisect_right(known.touched, change.at)
        if before and change.at - known.touched[before - 1] < self.forget_after:
            last = known.touched[before - 1]
            self.problems.append(f"{what} was stated or recalled at {last:%Y-%m-%d %H:%M}")
        if known.deleted is not None:
            self.problems.append(f"{what} had been forgotten already")

    def _check_purged(self, change: Change, known: _Known) -> None:
        what = f"memory {change.item_id}, purged at {change.at:%Y-%m-%d %H:%M},"
        if known.deleted is None:
            self.problems.append(f"{what} had not been forgotten")
        elif change.at - known.deleted < self.purge_after:
            self.problems.append(f"{what} was forgotten at {known.deleted:%Y-%m-%d %H:%M}")
