"""A lock that processes and threads on one machine take turns by."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import file_errors

try:
    import fcntl
except ImportError:  # not on Windows
    CAN_FLOCK = False
else:
    CAN_FLOCK = True

_PRIVATE_FILE: Final = 0o600
_LOOK_SECONDS: Final = 0.02
_ABANDONED_SECONDS: Final = 300.0
"""How old a lock without ``fcntl`` must be for its holder to be taken for dead."""


class Busy(FilesUnavailable):
    """Somebody else is at these files."""


@contextlib.contextmanager
def holding(path: Path, patience_seconds: float) -> Iterator[None]:
    """Hold the lock that a file stands for, in a folder that exists.

    Raises:
        Busy: somebody else has held it for all that time.
        FilesUnavailable: it cannot be made.
    """
    take = _take_locked if CAN_FLOCK else _take_exclusively_made
    give_up_at = time.monotonic() + patience_seconds
    while True:
        with file_errors(path):
            handle = take(path)
        if handle is not None:
            break
        if time.monotonic() >= give_up_at:
            raise Busy(f"{path}: another process is at these files; try again")
        time.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        if not CAN_FLOCK:
            path.unlink(missing_ok=True)
        os.close(handle)


def _take_locked(path: Path) -> int | None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_FILE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == path.stat().st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(handle)
        raise
    # Held by another, or removed with its folder while this one waited: then it locks nothing.
    os.close(handle)
    return None


def _take_exclusively_made(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()
        return None
