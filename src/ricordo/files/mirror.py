"""The mirror of one user's memories in files that a person can read and edit."""

import time
from collections.abc import Callable
from datetime import tzinfo
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import (
    is_being_written,
    make_folder,
    read_file,
    remove_drafts,
    replace_if_same,
    says,
    stamp_of,
)
from ricordo.files.daily_files import DailyFiles
from ricordo.files.folder import UserFiles
from ricordo.files.locking import Busy, holding
from ricordo.files.mirror_applying import MirrorWrites, Outcome, apply
from ricordo.files.mirror_merge import Plan, merge
from ricordo.files.mirror_notes import Notes
from ricordo.files.mirror_reading import (
    ReadFile,
    Unreadable,
    copy_of,
    decoded,
    is_cut,
    read_mirror,
)
from ricordo.files.mirror_seen import Seen
from ricordo.files.mirror_source import Stored, position_of, stored_memories
from ricordo.files.mirror_text import body, digests, header, last_line
from ricordo.model.reports import MirrorEntry, MirrorReport, MirrorStatus
from ricordo.storage.database import Database

_ATTEMPTS: Final = 5
"""How often to begin again when somebody saves the file just then."""

_SETTLING_SECONDS: Final = 0.05
"""For so long a file must stay the same before its edits are taken over."""


_CUT: Final = (
    "lacks its last line, or ends in the middle of one: it looks as if half of it was saved, so"
    " nothing was taken over or written. Save it whole; if it is meant, run: ricordo mirror sync"
    " --allow-deletes; to have it written anew, remove it"
)
_EMPTIED: Final = (
    "is empty: it looks as if it is being saved, so nothing was taken over or written. To have it"
    " written anew, remove it, or run: ricordo mirror sync --allow-deletes"
)


class _Saved(Exception):
    """Somebody saves the file just now."""


class UserMirror:
    """Brings MEMORY.md and the daily logs of one user together with what is stored.

    Every step can be the last one of a killed process. Nothing is noted before it is so: the next
    time finds the edits in the file still, and what was done with them already in the database,
    where the same text is not stored twice.
    """

    def __init__(
        self,
        files: UserFiles,
        database: Database,
        zone: tzinfo,
        writes: MirrorWrites,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._database = database
        self._daily = DailyFiles(database, files.daily, zone)
        self._writes = writes
        self._wall_clock = wall_clock  # what the times of files are told by

    def sync(self, *, allow_deletes: bool = False) -> MirrorReport:
        """Take over what was edited and write the files anew; switches the mirror on.

        Raises:
            FilesUnavailable: a file cannot be written, or another process is at them.
            StorageError: the database could not do it; the files are as they were.
        """
        make_folder(self._files.memory)
        with holding(self._files.lock, limits.MIRROR_LOCK_SECONDS):
            return self._sync(allow_deletes=allow_deletes)

    def follow(self, *, at_once: bool = False) -> MirrorReport | None:
        """The same, if the mirror is on and anything has moved; None where there was nothing to do,
        another process is doing it, or the file is being saved just now: then it is looked at
        again the next time, and not touched until then. With ``at_once``, for who does not look
        again, it need not be quiet, only whole.

        Raises:
            FilesUnavailable, StorageError: as for :meth:`sync`.
        """
        files = self._files
        if not files.memory.is_dir():
            return None
        seen = Seen.load(files.seen)
        position = position_of(self._database, files.user_id)
        stamp = stamp_of(files.memory_file)
        if seen is not None and (seen.position, seen.stamp) == (position, stamp):
            return None
        is_ours = seen is not None and seen.stamp == stamp
        quiet = 0 if at_once else limits.MIRROR_QUIET_SECONDS
        if not is_ours and is_being_written(files.memory_file, self._wall_clock(), quiet):
            return None
        try:
            with holding(files.lock, 0):
                return self._sync(allow_deletes=False)
        except Busy:
            return None

    def status(self) -> MirrorStatus:
        """How the mirror stands.

        Raises:
            StorageError: the database could not answer.
        """
        files = self._files
        revision, _, _ = position_of(self._database, files.user_id)
        seen = Seen.load(files.seen)
        path, is_on = str(files.memory_file), files.memory.is_dir()
        if seen is None:
            return MirrorStatus(path=path, on=is_on, revision=revision)
        return MirrorStatus(
            path=path,
            on=is_on,
            revision=revision,
            mirrored_revision=seen.position[0],
            edited=stamp_of(files.memory_file) != seen.stamp,
            problems=seen.problems,
        )

    def _sync(self, *, allow_deletes: bool) -> MirrorReport:
        files = self._files
        for path in (files.memory_file, files.state, files.seen):
            remove_drafts(path)
        notes = Notes.load(files.state, files.user_id)
        _, count, newest = position_of(self._database, files.user_id)
        round_ = _Round(files, self._database, self._writes, notes, allow_deletes=allow_deletes)
        round_.run()
        entries, daily_problems = self._daily.append_new(notes)
        if entries:
            notes.save(files.state)
        report = round_.report(entries, daily_problems)
        told = (*report.conflicts, *report.problems)
        seen = Seen((report.revision, count, newest), round_.stamp, told)
        if seen != Seen.load(files.seen):
            seen.save(files.seen)
        return report


class _Round:
    """One synchronisation of MEMORY.md, by who holds the lock."""

    def __init__(
        self,
        files: UserFiles,
        database: Database,
        writes: MirrorWrites,
        notes: Notes,
        *,
        allow_deletes: bool,
    ) -> None:
        self._files = files
        self._database = database
        self._writes = writes
        self._notes = notes
        self._allow_deletes = allow_deletes
        self._outcome = Outcome()
        self._problems: list[MirrorEntry] = []
        self._stored = Stored(0, {}, 0)
        self._applied = True
        self._written = False
        self.stamp = stamp_of(files.memory_file)

    def run(self) -> None:
        """Take over and write anew, beginning again while somebody saves in between."""
        for _ in range(_ATTEMPTS):
            try:
                if self._is_done():
                    return
            except _Saved:
                continue
            except Unreadable as problem:
                self._blocked(str(problem))
                return
        self._blocked("is being changed all the time: not written anew")

    def report(self, entries: int, daily_problems: list[MirrorEntry]) -> MirrorReport:
        """What was done, with the daily logs'."""
        done = self._outcome
        return MirrorReport(
            path=str(self._files.memory_file),
            revision=self._stored.revision,
            applied=self._applied,
            written=self._written,
            daily_entries=entries,
            hidden=self._stored.hidden,
            added=tuple(done.added),
            changed=tuple(done.changed),
            moved=tuple(done.moved),
            forgotten=tuple(done.forgotten),
            conflicts=tuple(done.conflicts),
            problems=(*self._problems, *daily_problems),
        )

    def _blocked(self, why: str) -> None:
        self._applied = False
        self._problems = [MirrorEntry(note=f"{self._files.memory_file.name} {why}")]

    def _is_done(self) -> bool:
        path = self._files.memory_file
        self._stored = stored_memories(self._database, self._files.user_id)
        self.stamp = stamp_of(path)
        held = self._held()
        left: list[str] = []
        if held is not None and self._is_whole(held) and held.strip():
            taken = self._taken_over(held)
            if taken is None:
                return False
            left = taken
            self._stored = stored_memories(self._database, self._files.user_id)
        shown = self._stored.shown.values()
        text = body(shown, left)
        if held == self._file(text):
            return True
        if not says(path, held):  # somebody saved just now
            return False
        self._notes.begin_copy(digests(shown))
        made = self._file(text)
        if len(made) > limits.MAX_MIRROR_FILE_BYTES:
            raise Unreadable("would become too large: take out what is under Not understood")
        self._notes.save(self._files.state)
        stamp = replace_if_same(path, made, held)
        if stamp is None:
            return False
        self.stamp = stamp
        self._written = True
        return True

    def _file(self, text: str) -> bytes:
        copy = self._notes.copy
        return f"{header(copy, self._stored.hidden)}{text}\n{last_line(copy)}\n".encode()

    def _held(self) -> bytes | None:
        try:
            return read_file(self._files.memory_file, limits.MAX_MIRROR_FILE_BYTES)
        except FilesUnavailable as problem:
            raise Unreadable(f"cannot be read: {problem}") from None

    def _is_whole(self, held: bytes) -> bool:
        """True for a file that is all there, or is taken as it is.

        Raises:
            Unreadable: the end of it is missing.
        """
        text = decoded(held)
        copy = copy_of(text)
        if (
            self._allow_deletes
            or not self._notes.has_last_line(copy)
            or (self._notes.base(copy) is None and copy is not None)
            or not is_cut(text, copy)
        ):
            return True
        time.sleep(_SETTLING_SECONDS)
        if not says(self._files.memory_file, held):
            raise _Saved
        raise Unreadable(_CUT if text.strip() else _EMPTIED)

    def _taken_over(self, held: bytes) -> list[str] | None:
        """Apply what was edited; the lines that were not understood. None where somebody is
        writing the file just now."""
        text = decoded(held)
        base = self._notes.base(copy_of(text))
        read = read_mirror(text, base or {})
        plan = merge(read, base, self._stored.shown, allow_deletes=self._allow_deletes)
        if not plan.is_empty:
            # Some editors write a file piece by piece, and what is not there yet is not deleted.
            time.sleep(_SETTLING_SECONDS)
            if not says(self._files.memory_file, held):
                return None
        apply(plan, self._writes, self._outcome)
        self._problems = sorted(plan.problems, key=lambda entry: entry.line or 0)
        if base is None and self._notes.newest:
            what = "does not say which copy it was made from: nothing was deleted"
            self._problems.append(MirrorEntry(note=f"{self._files.memory_file.name} {what}"))
        return _kept_lines(read, plan)


def _kept_lines(read: ReadFile, plan: Plan) -> list[str]:
    kept = list(read.waiting)
    for left in sorted(plan.leftovers, key=lambda one: one.number):
        kept += ["", *left.raw] if kept else left.raw
    return kept
