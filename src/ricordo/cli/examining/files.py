"""Folders and files: who may read them, and whether there is room."""

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo.cli.finding import WHERE, CheckFinding, guarded, ok, problem, warning
from ricordo.cli.session import file_of

if TYPE_CHECKING:
    from ricordo.settings import Settings
    from ricordo.storage.database import Database

_OPEN_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MEGABYTE: Final = 1024 * 1024
_TOO_LITTLE_BYTES: Final = 20 * _MEGABYTE
_LITTLE_BYTES: Final = 200 * _MEGABYTE
_LONG_LOG_BYTES: Final = 128 * _MEGABYTE
_COPIES: Final = 2
"""Erasing a user rewrites the file: into a copy, which then goes through the log."""


def files(settings: "Settings", database: "Database") -> Iterator[CheckFinding]:
    """The home folder, the database's file, its log, the disk, and the policy file."""
    home = settings.home.expanduser()
    file = file_of(database)
    yield from guarded("home", lambda: _private("home", home, "700"))
    if file is not None:
        yield from guarded("file", lambda: _file(file))
        yield from guarded("log", lambda: _write_ahead_log(file))
    yield from guarded("disk", lambda: _free_space(file or home))
    if settings.policy_file is not None:
        path = settings.policy_file
        yield from guarded("policy", lambda: _policy(path), "correct RICORDO_POLICY_FILE")


def _file(file: Path) -> CheckFinding:
    if file.is_dir():
        return problem("file", f"{file} is a folder", f"{WHERE}: they must name a file")
    return _private("file", file, "600")


def _private(check: str, path: Path, mode: str) -> CheckFinding:
    if not path.exists():
        return ok(check, f"{path} is made when first needed")
    advice = f"chmod {mode} {shlex.quote(str(path))}"
    if not os.access(path, os.R_OK):
        return problem(check, f"{path} may not be read", advice)
    if not os.access(path, os.W_OK):
        return problem(check, f"{path} may not be written", advice)
    # Windows keeps permissions elsewhere; there these bits say nothing.
    if os.name == "posix" and path.stat().st_mode & _OPEN_TO_OTHERS:
        return warning(check, f"{path} is open to other users of this computer", advice)
    return ok(check, str(path))


def _write_ahead_log(file: Path) -> CheckFinding:
    """Whether the log is emptied into the file from time to time, as it should be."""
    log = file.with_name(f"{file.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    shown = f"{size // _MEGABYTE} MB wait in the write-ahead log"
    if size < _LONG_LOG_BYTES:
        return ok("log", shown)
    advice = "end programs that keep the database open for reading; then: ricordo jobs run"
    return warning("log", f"{shown}: somebody keeps it from being emptied", advice)


def _free_space(path: Path) -> CheckFinding:
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    free = shutil.disk_usage(nearest).free
    needed = _COPIES * path.stat().st_size if path.is_file() else 0
    found = f"{free // _MEGABYTE} MB free at {nearest}"
    if free < _TOO_LITTLE_BYTES:
        return problem("disk", found, "free some space: nothing more can be stored soon")
    if free < needed:
        found += f"; erasing a user rewrites the file, which takes {needed // _MEGABYTE} MB"
        return warning("disk", found, f"free {(needed - free) // _MEGABYTE + 1} MB")
    if free < _LITTLE_BYTES:
        return warning("disk", found, "free some space soon")
    return ok("disk", found)


def _policy(path: Path) -> CheckFinding:
    from ricordo.access.policy_file import PolicyFile

    PolicyFile(path).current()
    return ok("policy", f"{path} is valid")
