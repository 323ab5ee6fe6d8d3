"""Files that are being made: beside the place they are for, and gone if that comes to nothing.

A draft is locked for as long as somebody makes it. One without a lock was left by a process that
was killed; it is removed the next time.
"""

import contextlib
import glob
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.files.atomic import file_errors, settle

try:
    import fcntl
except ImportError:  # not on Windows
    CAN_FLOCK = False
else:
    CAN_FLOCK = True

_ENDING: Final = ".ricordo-draft"
_OF_SQLITE: Final = ("", "-journal", "-wal", "-shm")
_PRIVATE_FILE: Final = 0o600
_NAME_CHARS: Final = 100  # of the file that it is for: names may not be longer than 255 bytes
_COPIED_BYTES: Final = 1_048_576


@contextlib.contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """A new, empty file that only its owner can read; removed at the end if it is still there.

    Raises:
        FilesUnavailable: it cannot be made.
    """
    start = f".{path.name[:_NAME_CHARS]}."
    with file_errors(path):
        _remove_left(path.parent, start)
        draft = path.parent / f"{start}{secrets.token_hex(8)}{_ENDING}"
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    try:
        _try_lock(handle)
        yield draft
    finally:
        os.close(handle)
        _remove(draft)


def copy_into(draft: Path, source: Path) -> None:
    """Fill a draft with the bytes of a file.

    Raises:
        FilesUnavailable: the one cannot be read, or the other not be written.
    """
    with file_errors(source), source.open("rb") as read, draft.open("wb") as written:
        while piece := read.read(_COPIED_BYTES):
            written.write(piece)


def put_in_place(draft: Path, path: Path, *, force: bool) -> None:
    """Give a draft that is complete its name, for good: it survives a power cut from now on.

    Raises:
        InvalidValue: there is something of that name, and it is not to be replaced.
        FilesUnavailable: it cannot be written.
    """
    with file_errors(path):
        handle = os.open(draft, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        require_free(path, force=force)
        if force or not _linked(draft, path):
            draft.replace(path)
        settle(path.parent)


def require_free(path: Path, *, force: bool) -> None:
    """See to it that a file can be made at a place.

    Raises:
        InvalidValue: there is something already, and it is not a file or not to be replaced.
        FilesUnavailable: there is no looking at that place.
    """
    with file_errors(path):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
    if not stat.S_ISREG(mode):
        raise InvalidValue("path", f"{path} is not an ordinary file, and is not replaced by one")
    if not force:
        raise InvalidValue("path", f"{path} exists already; name another, or force to replace it")


def _linked(draft: Path, path: Path) -> bool:
    """Name a file only if nothing else has the name; False where the disk cannot do that."""
    try:
        os.link(draft, path)
    except FileExistsError:
        require_free(path, force=False)
        raise
    except OSError:
        return False
    return True


def _remove_left(folder: Path, start: str) -> None:
    for left in folder.glob(f"{glob.escape(start)}*{_ENDING}"):
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(left, os.O_RDWR)
            try:
                is_abandoned = _try_lock(handle)
            finally:
                os.close(handle)
            if is_abandoned:
                _remove(left)


def _try_lock(handle: int) -> bool:
    """Lock a file as long as it is open here; False where somebody else has, or nobody can."""
    if not CAN_FLOCK:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(draft: Path) -> None:
    for ending in _OF_SQLITE:
        draft.with_name(f"{draft.name}{ending}").unlink(missing_ok=True)
