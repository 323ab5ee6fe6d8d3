"""MEMORY.md and the daily logs: one user's memories in files that a person can edit."""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final, Protocol, Self

from ricordo import fork_safety, limits
from ricordo.errors import FilesUnavailable, Occupied, RicordoError, StorageError, in_log
from ricordo.files.disk import (
    Busy,
    Stamp,
    is_being_written,
    read_file,
    remove_drafts,
    replace_file,
    stamp_of,
)
from ricordo.files.home import FilesFolder, UserFiles
from ricordo.files.mirror_merge import UNUSABLE, Add, MergePlan, Notes, Replace, merge
from ricordo.files.mirror_source import DailyFiles, Stored, position_of, stored_memories
from ricordo.files.mirror_text import (
    ShownMemory,
    body,
    copy_of,
    decoded,
    digests,
    header,
    is_cut,
    last_line,
    read_mirror,
)
from ricordo.files.sync import Refused, SyncedFile, Unreadable, require_settled
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.reports import MirrorEntry, MirrorReport, MirrorStatus
from ricordo.model.vocabulary import Source
from ricordo.storage.database import Database

_ADDED: Final = "added in MEMORY.md"
_CHANGED: Final = "edited in MEMORY.md"
_DELETED: Final = "deleted in MEMORY.md"
_BOTH_KEPT: Final = "changed in MEMORY.md and elsewhere: both are kept"

_VERSION: Final = 1
_CUT: Final = (
    "lacks its last line, or ends in the middle of one: it looks as if half of it was saved, so"
    " nothing was taken over or written. Save it whole; if it is meant, run: ricordo mirror sync"
    " --allow-deletes; to have it written again, remove it"
)
_EMPTIED: Final = (
    "is empty: it looks as if it is being saved, so nothing was taken over or written. To have it"
    " written again, remove it, or run: ricordo mirror sync --allow-deletes"
)
_REST: Final = 10
"""The pause after a pass, as a multiple of its duration: large files must not take a whole core."""

_log: Final = logging.getLogger(__name__)


class MirrorWrites(Protocol):
    """The writes that a mirror needs. Each raises StorageError, having done nothing."""

    def add_new(self, drafts: Sequence[NewMemory], reason: str) -> Sequence[Added]: ...

    def replace_unchanged(
        self, old: ShownMemory, content: str, theme: str, reason: str
    ) -> Added | None:
        """Supersede a memory if it is unchanged; None where it is not. Raises Occupied."""

    def forget_unchanged(self, old: ShownMemory, reason: str) -> bool:
        """Soft-delete a memory if it is unchanged; whether it was."""


@dataclass(slots=True)
class MirrorOutcome:
    added: list[MirrorEntry] = field(default_factory=list)
    changed: list[MirrorEntry] = field(default_factory=list)
    moved: list[MirrorEntry] = field(default_factory=list)
    forgotten: list[MirrorEntry] = field(default_factory=list)
    conflicts: list[MirrorEntry] = field(default_factory=list)


class _Applier:
    """Carries out a plan, adding to its problems what went otherwise than planned."""

    def __init__(self, plan: MergePlan, writes: MirrorWrites, outcome: MirrorOutcome) -> None:
        self.plan = plan
        self.writes = writes
        self.outcome = outcome
        self.adds = list(plan.adds)
        self.replaced_by: dict[int, Replace] = {}
        """Ids of memories that turned out to be duplicates, with the id of the one that is kept."""

    def run(self) -> None:
        """Every text of the file is stored in the end: deletions come first, so that new text is
        not taken for a duplicate of a deleted memory, and additions come last. Raises StorageError:
        a write failed; those before it are done."""
        for old in self.plan.forgets:
            if self.writes.forget_unchanged(old, _DELETED):
                self.outcome.forgotten.append(MirrorEntry(note=_DELETED, id=old.id))
            else:
                self.plan.note("was deleted here, but has changed since: kept", None, old.id)
        for step in self.plan.replaces:
            self._replace(step)
        self._add_all()

    def _replace(self, step: Replace) -> None:
        line, old = step.line, step.old
        reason = "moved in MEMORY.md" if step.is_move else _CHANGED
        try:
            added = self._replaced(step, reason)
        except StorageError:
            raise
        except RicordoError as problem:
            if step.is_move:
                self.plan.note(f"not moved: {problem}", line, old.id)
            else:
                self.plan.refuse(line, f"not taken over: {problem}")
            return
        if added is None and step.is_move:
            self.plan.note("was moved here, but has changed since: left in place", line, old.id)
        elif added is None:
            self.adds.append(Add(line, step.content, step.theme, old.id))
        elif added.id == old.id:
            self.plan.note("says the same as before: left as it was", line, old.id)
        else:
            self._note_replaced(step, added, reason)

    def _replaced(self, step: Replace, reason: str) -> Added | None:
        try:
            return self.writes.replace_unchanged(step.old, step.content, step.theme, reason)
        except Occupied as problem:
            if step.is_move or step.theme == step.old.theme:
                raise
            self.plan.note(f"not moved: {problem}", step.line, step.old.id)
            return self.writes.replace_unchanged(step.old, step.content, step.old.theme, _CHANGED)

    def _note_replaced(self, step: Replace, added: Added, reason: str) -> None:
        entries = self.outcome.moved if step.is_move else self.outcome.changed
        entries.append(
            MirrorEntry(note=reason, line=step.line.number, id=step.old.id, new_id=added.id)
        )
        said_before = self.replaced_by.pop(step.old.id, None)
        if said_before is not None:  # two lines swapped their texts: it is still wanted
            self.adds.append(Add(said_before.line, said_before.content, said_before.theme))
        if not added.is_new:
            self.replaced_by[added.id] = step

    def _add_all(self) -> None:
        new = [step for step in self.adds if step.instead_of is None]
        for step, item_id in self._added(new, _ADDED):
            self.outcome.added.append(
                MirrorEntry(note=_ADDED, line=step.line.number, new_id=item_id)
            )
        in_conflict = [step for step in self.adds if step.instead_of is not None]
        for step, item_id in self._added(in_conflict, _BOTH_KEPT):
            self.outcome.conflicts.append(
                MirrorEntry(
                    note=_BOTH_KEPT, line=step.line.number, id=step.instead_of, new_id=item_id
                )
            )

    def _added(self, steps: Sequence[Add], reason: str) -> list[tuple[Add, int]]:
        """Add new memories; duplicates are not in the result."""
        drafts = [
            NewMemory(content=step.content, theme=step.theme, source=Source.FILE) for step in steps
        ]
        done = self.writes.add_new(drafts, reason)
        return [(step, added.id) for step, added in zip(steps, done, strict=True) if added.is_new]


Position = tuple[int, int, str]
"""A user's revision and the state of their daily logs."""


@dataclass(frozen=True, slots=True)
class MirrorState:
    """While position and stamp are unchanged, there is nothing to do."""

    position: Position
    stamp: Stamp | None
    problems: tuple[MirrorEntry, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """The saved state; None where it cannot be read."""
        try:
            contents = read_file(path, limits.MAX_MIRROR_FILE_BYTES)
            noted = {} if contents is None else json.loads(contents)
            if noted["version"] != _VERSION:
                return None
            revision, count, newest = noted["position"]
            stamp = noted["stamp"]
            return cls(
                (int(revision), int(count), str(newest)),
                None if stamp is None else (int(stamp[0]), int(stamp[1]), int(stamp[2])),
                tuple(MirrorEntry(**entry) for entry in noted["problems"]),
            )
        except (FilesUnavailable, *UNUSABLE):
            return None

    def save(self, path: Path) -> None:
        """Save the state. Raises FilesUnavailable."""
        noted = {
            "version": _VERSION,
            "position": self.position,
            "stamp": self.stamp,
            "problems": [entry.to_dict() for entry in self.problems],
        }
        replace_file(path, json.dumps(noted, ensure_ascii=False).encode("utf-8"))


class UserMirror:
    """Synchronises MEMORY.md and the daily logs of one user with the store.

    Safe to kill at any step: state is saved last, so the next sync finds the edits still in the
    file, and writes that were done already are duplicates, which the database does not store twice.
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
        self._wall_clock = wall_clock  # the clock that file times are compared with

    def sync(self, *, allow_deletes: bool = False) -> MirrorReport:
        """Take over edits and rewrite the files; enables the mirror.

        Raises:
            FilesUnavailable: a file cannot be written, or another process is syncing.
            StorageError: the database failed; the files are unchanged.
        """
        with self._files.mirror.locked():
            return self._sync(allow_deletes=allow_deletes)

    def follow(self, *, at_once: bool = False) -> MirrorReport | None:
        """Sync if the mirror is enabled and anything has changed.

        None where there was nothing to do, another process is syncing, or the file was saved just
        now: then the next call handles it. With ``at_once`` (no next call) the file need not have
        settled, only be complete.

        Raises:
            FilesUnavailable, StorageError: as for :meth:`sync`.
        """
        files = self._files
        if not files.memory.is_dir():
            return None
        seen = MirrorState.load(files.seen)
        position = position_of(self._database, files.user_id)
        stamp = stamp_of(files.memory_file)
        if seen is not None and (seen.position, seen.stamp) == (position, stamp):
            return None
        is_ours = seen is not None and seen.stamp == stamp
        quiet = 0 if at_once else limits.MIRROR_QUIET_SECONDS
        if not is_ours and is_being_written(files.memory_file, self._wall_clock(), quiet):
            return None
        try:
            with files.mirror.locked(0):
                return self._sync(allow_deletes=False)
        except Busy:
            return None

    def status(self) -> MirrorStatus:
        """The mirror's status. Raises StorageError."""
        files = self._files
        revision, _, _ = position_of(self._database, files.user_id)
        seen = MirrorState.load(files.seen)
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
        remove_drafts(files.seen)
        files.mirror.check_owner()
        notes = Notes.load(files.mirror)
        _, count, newest = position_of(self._database, files.user_id)
        round_ = _Round(
            files.mirror, self._database, self._writes, notes, allow_deletes=allow_deletes
        )
        round_.run()
        entries, daily_problems = self._daily.append_new(files.user_id, notes)
        if entries:
            notes.save(files.mirror)
        report = round_.report(entries, daily_problems)
        problems = (*report.conflicts, *report.problems)
        seen = MirrorState((report.revision, count, newest), round_.stamp, problems)
        if seen != MirrorState.load(files.seen):
            seen.save(files.seen)
        return report


class _Round:
    """One synchronisation of MEMORY.md, which is locked."""

    def __init__(
        self,
        file: SyncedFile,
        database: Database,
        writes: MirrorWrites,
        notes: Notes,
        *,
        allow_deletes: bool,
    ) -> None:
        self._file = file
        self._database = database
        self._writes = writes
        self._notes = notes
        self._allow_deletes = allow_deletes
        self._outcome = MirrorOutcome()
        self._problems: list[MirrorEntry] = []
        self._stored = Stored(0, {}, 0)
        self._applied = True
        self._written = False
        self.stamp = stamp_of(file.path)

    def run(self) -> None:
        """Take over edits and rewrite the file."""
        try:
            self.stamp, self._written = self._file.rewrite(self._merged)
        except Refused as problem:
            self._applied = False
            self._problems = [MirrorEntry(note=f"{self._file.path.name}: {problem.why}")]

    def report(self, entries: int, daily_problems: list[MirrorEntry]) -> MirrorReport:
        done = self._outcome
        return MirrorReport(
            path=str(self._file.path),
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

    def _merged(self, contents: bytes | None) -> bytes:
        """The file as it should be, after its edits were applied. Raises Unreadable."""
        self._stored = stored_memories(self._database, self._file.user_id)
        left: list[str] = []
        if contents is not None:
            text = decoded(contents)
            self._check_whole(text, contents)
            if text.strip():
                left = self._apply_edits(text, contents)
                self._stored = stored_memories(self._database, self._file.user_id)
        shown = self._stored.shown.values()
        text = body(shown, left)
        if contents != self._rendered(text):
            # Saved before the file is: what a copy said must be known once it can be edited.
            self._notes.begin_copy(digests(shown))
            self._notes.save(self._file)
        return self._rendered(text)

    def _rendered(self, text: str) -> bytes:
        copy = self._notes.copy
        return f"{header(copy, self._stored.hidden)}{text}\n{last_line(copy)}\n".encode()

    def _check_whole(self, text: str, contents: bytes) -> None:
        """Refuse an incomplete file, unless it is accepted as it is. Raises Unreadable."""
        copy = copy_of(text)
        if (
            self._allow_deletes
            or not self._notes.has_last_line(copy)
            or (self._notes.base(copy) is None and copy is not None)
            or not is_cut(text, copy)
        ):
            return
        require_settled(self._file.path, contents)
        raise Unreadable(_CUT if text.strip() else _EMPTIED)

    def _apply_edits(self, text: str, contents: bytes) -> list[str]:
        """Apply edits; returns the lines that were not understood."""
        base = self._notes.base(copy_of(text))
        read = read_mirror(text, base or {})
        plan = merge(read, base, self._stored.shown, allow_deletes=self._allow_deletes)
        if not plan.is_empty:
            require_settled(self._file.path, contents)
        _Applier(plan, self._writes, self._outcome).run()
        self._problems = sorted(plan.problems, key=lambda entry: entry.line or 0)
        if base is None and self._notes.newest:
            what = "does not say which copy it was made from: nothing was deleted"
            self._problems.append(MirrorEntry(note=f"{self._file.path.name}: {what}"))
        kept = list(read.waiting)
        for leftover in sorted(plan.leftovers, key=lambda one: one.number):
            kept += ["", *leftover.raw] if kept else leftover.raw
        return kept


class MirrorFollower:
    """Syncs every mirror of the folder. Never raises: a mirror is not worth a failed job."""

    def __init__(
        self,
        folder: FilesFolder | None,
        mirror_of: Callable[[UserFiles], UserMirror],
        follow_profile: Callable[[str], tuple[str, ...]],
    ) -> None:
        self._folder = folder
        self._mirror_of = mirror_of
        self._follow_profile = follow_profile
        self._logged: dict[str, str] = {}
        self._next_at = 0.0
        self._place = 0  # the user that the next pass begins with
        self._lock = threading.Lock()
        fork_safety.reset_in_child(self)

    def reset_after_fork(self) -> Any:
        """The lock may have been taken by a thread that the child does not have."""
        inherited, self._lock = self._lock, threading.Lock()
        return inherited

    def follow_all(self, *, at_once: bool = False) -> None:
        """Sync every mirror that is behind or was edited.

        At most every ``MIRROR_SECONDS``, unless ``at_once``.
        """
        if self._folder is None or not self._lock.acquire(blocking=at_once):
            return
        try:
            began = time.monotonic()
            if at_once or began >= self._next_at:
                self._pass(self._folder, everyone=at_once)
                ended = time.monotonic()
                self._next_at = ended + max(limits.MIRROR_SECONDS, _REST * (ended - began))
        finally:
            self._lock.release()

    def close(self) -> None:
        self.follow_all(at_once=True)
        self._folder = None

    def _pass(self, folder: FilesFolder, *, everyone: bool) -> None:
        try:
            found = list(folder.mirrored())
        except (RicordoError, OSError) as problem:
            self._log_once("", f"the folder of the files cannot be read: {in_log(problem)}")
            return
        most = len(found) if everyone else limits.MAX_MIRRORS_PER_LOOK
        start = self._place % max(len(found), 1)
        for files in [*found[start:], *found[:start]][:most]:
            self._follow(files, at_once=everyone)
        self._place = start + most

    def _follow(self, files: UserFiles, *, at_once: bool) -> None:
        try:
            report = self._mirror_of(files).follow(at_once=at_once)
            # Changed memories may include fields of the profile.
            unsynced = () if report is None else self._follow_profile(files.user_id)
        except (RicordoError, OSError) as problem:
            if files.memory.is_dir():  # its user may have been erased just now
                self._log_once(files.user_id, f"{files.memory} is not synced: {in_log(problem)}")
            return
        if report is not None:
            # Line numbers only: memory contents do not belong in a log.
            notes = [
                entry.note if entry.line is None else f"line {entry.line}: {entry.note}"
                for entry in (*report.conflicts, *report.problems)
            ]
            if unsynced:
                notes.append(f"{len(unsynced)} problems with the file of the profile")
            text = "; ".join(notes)
            self._log_once(files.user_id, f"{report.path}: {text}" if text else "")

    def _log_once(self, user_id: str, problem: str) -> None:
        """Log a problem once, and again when it changes."""
        if problem and self._logged.get(user_id) != problem:
            _log.warning("%s", problem)
        self._logged[user_id] = problem
