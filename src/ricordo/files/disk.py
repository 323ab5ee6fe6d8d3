"""Reading, replacing and locking files of the home folder."""

import contextlib
import errno
import os
import secrets
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ricordo.errors import FilesUnavailable
from ricordo.limits import MIRROR_OPEN_SECONDS

# Files are replaced atomically, so readers see the old text or the new one, also after a power cut.
# They are readable by their owner only.

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # on Windows
    with contextlib.suppress(ImportError):
        import msvcrt

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0)  # a named pipe must not block
_BINARY: Final = getattr(os, "O_BINARY", 0)
_DRAFT_ENDING: Final = ".ricordo-draft"

_RETRY_SECONDS: Final = 0.02


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn OSErrors into FilesUnavailable, with the file's name."""
    try:
        yield
    except OSError as error:
        raise FilesUnavailable(f"{path}: {error.strerror or error}") from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents, for the owner only. Raises FilesUnavailable."""
    with file_errors(path):
        for missing in [path, *path.parents][::-1]:
            if not missing.is_dir():
                with contextlib.suppress(FileExistsError):
                    missing.mkdir(mode=_PRIVATE_FOLDER)
        if not path.is_dir():
            raise FilesUnavailable(f"{path}: is not a folder")


def folder_names(path: Path) -> list[str]:
    """Sorted names of the subfolders; none where the folder is missing. Raises FilesUnavailable."""
    with file_errors(path):
        try:
            with os.scandir(path) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except FileNotFoundError:
            return []


def read_file(path: Path, max_bytes: int) -> bytes | None:
    """The file's contents; None where there is none. Raises FilesUnavailable."""
    with file_errors(path):
        try:
            handle = os.open(path, os.O_RDONLY | _WITHOUT_WAITING | _BINARY)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise FilesUnavailable(f"{path}: is not an ordinary file")
            contents = file.read(max_bytes + 1)
    if len(contents) > max_bytes:
        raise FilesUnavailable(f"{path}: larger than the {max_bytes} bytes that are allowed")
    return contents


Stamp = tuple[int, int, int]
"""Modification time, size and inode, to recognise an unchanged file."""


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; None where there is none, or it cannot be read."""
    try:
        return _stamp(path.lstat())
    except OSError:
        return None


def is_being_written(path: Path, now: float, quiet_seconds: float) -> bool:
    """Whether a file was saved a moment ago, or recently by a program that still has it open.

    A modification time in the future is ignored: waiting for it would take too long.
    """
    try:
        age = now - path.lstat().st_mtime
    except OSError:
        return False
    if 0 <= age < quiet_seconds:
        return True
    return 0 <= age < MIRROR_OPEN_SECONDS and _has_writers(path)


def _has_writers(path: Path) -> bool:
    """Whether anybody has a file open for writing, where the system can say."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        handle = os.open(path, os.O_RDONLY | _WITHOUT_WAITING)
    except OSError:
        return False
    try:
        # A process that opens it now blocks until the lease is released, and we get a signal, which
        # is ignored by default.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(handle)
    return False


def replace_file(path: Path, contents: bytes) -> Stamp:
    """Replace a file atomically, in an existing folder; returns its new stamp. Raises
    FilesUnavailable: it cannot be written, or its name is taken by something other than a regular
    file, such as a link; nothing has changed."""
    with file_errors(path), _drafted(path, contents) as (draft, stamp):
        draft.replace(path)
        sync_folder(path.parent)
    return stamp


def replace_if_same(path: Path, contents: bytes, before: bytes | None) -> Stamp | None:
    """Replace a file if its contents are still ``before`` (None: no file); otherwise return None.

    Checked again just before the rename, because writing takes time in which somebody may save.
    Raises FilesUnavailable: as for :func:`replace_file`.
    """
    with file_errors(path), _drafted(path, contents) as (draft, stamp):
        if not has_contents(path, before):
            return None
        draft.replace(path)
        sync_folder(path.parent)
    return stamp


def has_contents(path: Path, contents: bytes | None) -> bool:
    """Whether the file has these contents; for None, whether there is none."""
    try:
        return read_file(path, len(contents or b"")) == contents
    except FilesUnavailable:  # larger, or not a regular file
        return False


@contextlib.contextmanager
def _drafted(path: Path, contents: bytes) -> Iterator[tuple[Path, Stamp]]:
    """A temporary file beside the target, removed unless it is renamed."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FilesUnavailable(f"{path}: is not an ordinary file, and is not replaced by one")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_DRAFT_ENDING}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, _PRIVATE_FILE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(handle)
            stamp = _stamp(os.fstat(handle))
        yield draft, stamp
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts(path: Path) -> int:
    """Remove temporary files that a killed process left; how many.

    Only for a caller who knows that nobody else is writing the file. Raises FilesUnavailable: one
    cannot be removed.
    """
    with file_errors(path):
        left = list(path.parent.glob(f".{path.name}.*{_DRAFT_ENDING}"))
        for draft in left:
            draft.unlink(missing_ok=True)
    return len(left)


def sync_folder(folder: Path) -> None:
    """Sync the folder after a rename; best effort."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_tree(path: Path) -> int:
    """Remove a folder or file recursively; the number of files, without locks.

    A link is removed, not its target. Raises FilesUnavailable: something cannot be removed; the
    rest is gone.
    """
    left: list[FilesUnavailable] = []
    removed = _remove(path, left)
    if left:
        raise left[0]
    return removed


def _remove(path: Path, left: list[FilesUnavailable]) -> int:
    removed = 0
    try:
        with file_errors(path):
            if path.is_dir() and not path.is_symlink():
                for inner in sorted(path.iterdir()):
                    removed += _remove(inner, left)
                path.rmdir()
            else:
                path.unlink()
                removed = 0 if path.suffix == ".lock" else 1
    except FilesUnavailable as problem:
        if not isinstance(problem.__cause__, FileNotFoundError):
            left.append(problem)
    return removed


def try_lock(handle: int) -> bool:
    """Lock an open file until it is closed; False where another process has, or it cannot be.

    On Windows the first byte can then be read and written through this handle alone.
    """
    try:
        _lock(handle)
    except OSError:
        return False
    return True


def _lock(handle: int) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)


class Busy(FilesUnavailable):
    """Another process has the lock."""


@contextlib.contextmanager
def locked(path: Path, patience_seconds: float) -> Iterator[None]:
    """Lock a file, in an existing folder. Raises Busy: somebody else had it locked all the time;
    FilesUnavailable: it cannot be created."""
    give_up_at = time.monotonic() + patience_seconds
    while True:
        with file_errors(path):
            handle = _lock_file(path)
        if handle is not None:
            break
        if time.monotonic() >= give_up_at:
            raise Busy(f"{path}: another process is syncing these files; try again")
        time.sleep(_RETRY_SECONDS)
    try:
        yield
    finally:
        os.close(handle)


def _lock_file(path: Path) -> int | None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE)
    try:
        # Locked by another (Windows: no permission), or removed with its folder while waiting: then
        # it locks nothing.
        with contextlib.suppress(BlockingIOError, PermissionError, FileNotFoundError):
            _lock(handle)
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None
