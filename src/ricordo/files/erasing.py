"""Removing the files of a user who is erased."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import remove_drafts, remove_tree
from ricordo.files.folder import FilesFolder, UserFiles, noted_user
from ricordo.files.locking import holding
from ricordo.files.profile_notes import lock_beside, notes_beside
from ricordo.files.profile_notes import noted_user as profile_user
from ricordo.model.vocabulary import GLOBAL_OWNER

_LOCK: Final = ".lock"
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.md")


class FilesErasure:
    """The erasure of a user's files: their mirror, daily logs and profile.

    What all users share stays, and so does what is at the top of the folder if its notes say that
    it was kept for somebody else. Where a folder is a link, what lies there may be anybody's: only
    the files that a mirror writes are removed from it, and the link.
    """

    def __init__(self, doomed: tuple[Path, ...]) -> None:
        self._doomed = doomed

    @classmethod
    @contextlib.contextmanager
    def begin(cls, folder: FilesFolder | None, user_id: str) -> Iterator["FilesErasure"]:
        """Keep mirrors from writing, or from storing what the files still say, until it is over.

        Raises:
            FilesUnavailable: another process is at the files and does not come to an end.
        """
        if folder is None or user_id == GLOBAL_OWNER:
            yield cls(())
            return
        files = folder.of(user_id)
        with contextlib.ExitStack() as held:
            for lock in (files.lock, lock_beside(files.profile)):
                if lock.parent.is_dir():
                    held.enter_context(holding(lock, limits.MIRROR_LOCK_SECONDS))
            if user_id != folder.files_user:
                own = [*_of_mirror(files), *_of_profile(files), folder.folder_of(user_id)]
                yield cls(tuple(own))
                return
            own = []
            if noted_user(files.state) in (None, user_id):
                own += [*_of_mirror(files), files.memory]
            if profile_user(files.profile) in (None, user_id):
                own += _of_profile(files)
            yield cls(tuple(own))

    @property
    def exist(self) -> bool:
        """True where there is anything to remove that may tell of the user."""
        return any(path.exists() for path in self._doomed if path.suffix != _LOCK)

    def remove(self) -> int:
        """Remove them; how many there were.

        Raises:
            FilesUnavailable: one could not be removed; the others are gone.
        """
        removed = 0
        left: list[FilesUnavailable] = []
        for path in self._doomed:
            try:
                removed += remove_tree(path)
                removed += remove_drafts(path)
            except FilesUnavailable as problem:
                left.append(problem)
        if left:
            raise left[0]
        return removed


def _of_mirror(files: UserFiles) -> list[Path]:
    """The files that a mirror writes, wherever links lead to them."""
    days = files.daily.glob("*.md") if files.daily.is_dir() else ()
    kept = (files.memory_file, files.state, files.seen, files.lock)
    return [*kept, *(day for day in days if _DAY.fullmatch(day.name))]


def _of_profile(files: UserFiles) -> list[Path]:
    return [files.profile, notes_beside(files.profile), lock_beside(files.profile)]
