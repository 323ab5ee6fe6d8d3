"""Keeping the mirrors of a machine up to date, beside the jobs of a store."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from ricordo import forks, limits
from ricordo.errors import RicordoError, in_log
from ricordo.files.folder import FilesFolder, UserFiles
from ricordo.files.mirror import UserMirror

_REST: Final = 10
"""How many times as long as a look took it rests: large files must not take a whole core."""

_log: Final = logging.getLogger(__name__)


class MirrorFollower:
    """Looks after every mirror of the folder. Never raises: a mirror is not worth a failed job."""

    def __init__(
        self,
        folder: FilesFolder | None,
        mirror_of: Callable[[UserFiles], UserMirror],
        follow_profile: Callable[[str], tuple[str, ...]],
    ) -> None:
        self._folder = folder
        self._mirror_of = mirror_of
        self._follow_profile = follow_profile
        self._told: dict[str, str] = {}
        self._next_at = 0.0
        self._place = 0  # among the users, where the next look begins
        self._lock = threading.Lock()
        forks.reset_in_child(self)

    def reset_after_fork(self) -> Any:
        """The lock may have been held by a thread that the child does not have."""
        inherited, self._lock = self._lock, threading.Lock()
        return inherited

    def follow_all(self, *, at_once: bool = False) -> None:
        """Bring every mirror up to date that is behind, or was edited.

        Not more often than every ``MIRROR_SECONDS``, unless ``at_once``.
        """
        if self._folder is None or not self._lock.acquire(blocking=at_once):
            return
        try:
            began = time.monotonic()
            if at_once or began >= self._next_at:
                self._look(self._folder, everyone=at_once)
                ended = time.monotonic()
                self._next_at = ended + max(limits.MIRROR_SECONDS, _REST * (ended - began))
        finally:
            self._lock.release()

    def close(self) -> None:
        """Bring every mirror up to date for the last time."""
        self.follow_all(at_once=True)
        self._folder = None

    def _look(self, folder: FilesFolder, *, everyone: bool) -> None:
        try:
            found = list(folder.mirrored())
        except (RicordoError, OSError) as problem:
            self._tell("", f"the folder of the files cannot be looked through: {in_log(problem)}")
            return
        most = len(found) if everyone else limits.MAX_MIRRORS_PER_LOOK
        start = self._place % max(len(found), 1)
        for files in [*found[start:], *found[:start]][:most]:
            self._follow(files, at_once=everyone)
        self._place = start + most

    def _follow(self, files: UserFiles, *, at_once: bool) -> None:
        try:
            report = self._mirror_of(files).follow(at_once=at_once)
            # Whatever changed memories may have changed a field of the profile.
            unfollowed = () if report is None else self._follow_profile(files.user_id)
        except (RicordoError, OSError) as problem:
            if files.memory.is_dir():  # not removed, with its user, just now
                self._tell(files.user_id, f"{files.memory} does not follow: {in_log(problem)}")
            return
        if report is not None:
            # Numbers of lines only: what they say is nothing for a log.
            notes = [
                entry.note if entry.line is None else f"line {entry.line}: {entry.note}"
                for entry in (*report.conflicts, *report.problems)
            ]
            if unfollowed:
                notes.append(
                    f"{len(unfollowed)} times the profile's file is not as the store has it"
                )
            told = "; ".join(notes)
            self._tell(files.user_id, f"{report.path}: {told}" if told else "")

    def _tell(self, user_id: str, problem: str) -> None:
        """Say once what is wrong, and again when it is something else."""
        if problem and self._told.get(user_id) != problem:
            _log.warning("%s", problem)
        self._told[user_id] = problem
