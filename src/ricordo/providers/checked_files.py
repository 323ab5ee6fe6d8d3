"""The checksums of files of models, so that not every process reads 60 MB to compute them again."""

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

_FILE: Final = "checked-models.json"
_SETTLED_SECONDS: Final = 10.0
"""A file that was just changed could be changed again within what its times can tell apart."""
_MOST_BYTES: Final = 64 * 1024
_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

Identity = list[int]


class CheckedFiles:
    """What was computed stands for as long as a file's size, inode and times are what they were:
    nobody can write to a file without changing the last of them. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Identity, str]] = {}
        self._note: Path | None = None

    def remember_in(self, folder: Path) -> None:
        """Use, and keep, a private file of this folder, where the folder exists."""
        self._note = folder / _FILE
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            self._known = {**_read(self._note), **self._known}

    def sha256(self, path: Path) -> str:
        """The SHA-256 of what is in a file, in hexadecimal. Raises OSError."""
        name = str(path.absolute())
        identity = _identity(path)
        known = self._known.get(name)
        if known is not None and known[0] == identity:
            return known[1]
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        settled = time.time() - _SETTLED_SECONDS > max(identity[-2:]) / 1e9
        if settled and _identity(path) == identity:
            self._known = {**self._known, name: (identity, digest)}
            if self._note is not None:
                with contextlib.suppress(OSError):  # then it is computed again next time
                    _write(self._note, self._known)
        return digest

    def forget(self) -> None:
        """Compute everything again, and keep nothing."""
        self._known, self._note = {}, None


def _identity(path: Path) -> Identity:
    found = path.stat()
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _read(note: Path) -> dict[str, tuple[Identity, str]]:
    """Raises one of several errors where what is there is not ours, and does not count."""
    with note.open("rb") as file:
        found = os.fstat(file.fileno())
        if hasattr(os, "geteuid") and (
            found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE
        ):
            raise ValueError("somebody else may have written it")
        kept = json.loads(file.read(_MOST_BYTES))
    return {
        str(name): ([int(part) for part in identity], str(digest))
        for name, (identity, digest) in kept.items()
    }


def _write(note: Path, known: dict[str, tuple[Identity, str]]) -> None:
    content = json.dumps({name: one for name, one in known.items() if Path(name).is_file()})
    if len(content) > _MOST_BYTES or not note.parent.is_dir():
        return
    handle, name = tempfile.mkstemp(dir=note.parent, prefix=f".{_FILE}-")  # for its owner alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        Path(name).replace(note)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


checked_files: Final = CheckedFiles()
