"""What the mirror of a user's memories did, and how it stands."""

from dataclasses import dataclass

from ricordo.model.record import Record


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
