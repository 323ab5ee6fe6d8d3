"""Encrypts or decrypts a file, or changes its key, through a new file.

The new file is written next to the old one, compared row by row, and renamed over it; then the old
one is overwritten. Until the rename the old file is unchanged. Leftovers of a killed process are
removed by the next conversion.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Final

from ricordo.errors import (
    DatabaseKeyMismatch,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from ricordo.platforms import REPLACES_OPEN_FILES
from ricordo.storage.sqlite.backend import is_open_here
from ricordo.storage.sqlite.connection import (
    PLAIN_START,
    DatabaseKey,
    encrypting_driver,
    is_no_database,
    make_private_file,
    salt_of,
    unlock,
)

_PATIENCE_SECONDS: Final = 1.0
_CHUNK_BYTES: Final = 1024 * 1024
_SALT_BYTES: Final = 16
_FULL: Final = "disk is full"
_IN_USE: Final = "the database is in use; stop every program that has it open, and try again"


def convert(path: Path, old: DatabaseKey | None, new: DatabaseKey | None) -> None:
    """Encrypt a file with another key; None is no encryption.

    Raises:
        DatabaseKeyMismatch: the file is not encrypted with ``old``.
        StorageBusy: somebody has it open.
        StorageFull: there is no room for a second copy.
        StorageError: it cannot be read or written. Whatever is raised: the file is as it was.
    """
    path = path.resolve()
    if not path.is_file() or not path.stat().st_size:
        raise StorageUnavailable(f"{path}: there is no database; the first ricordo add creates one")
    if is_open_here(path):
        raise StorageBusy(f"{path}: {_IN_USE}")
    encrypting_driver()
    if old is None and salt_of(path) != PLAIN_START:
        raise DatabaseKeyMismatch(f"{path}: is encrypted already, or is not a database")
    draft, former = left_behind(path)
    with (
        _driver_errors(path),
        path.open("r+b") as old_bytes,  # before the lock: closing it would end that
        contextlib.closing(_locked(path, old)) as source,
    ):
        _wipe_away(draft)
        if former.exists() and former.samefile(path):  # stopped before anything was replaced
            former.unlink()
        _wipe_away(former)
        _write_draft(source, path, draft, new)
        with contextlib.suppress(OSError):  # of a file system that has no links
            former.hardlink_to(path)
        if not REPLACES_OPEN_FILES:  # who opens the file now keeps us from replacing it
            source.close()
            old_bytes.close()
            draft.replace(path)
            _wipe_away(former)
            return
        draft.replace(path)
        _flush(path.parent, os.O_RDONLY)
        # Overwritten while still locked: a process waiting for the lock finds no database, instead
        # of writing into an unlinked file.
        _overwrite(old_bytes)
        former.unlink(missing_ok=True)


def left_behind(path: Path) -> tuple[Path, Path]:
    """The paths of the new file, and of the old one until it is overwritten."""
    return path.with_name(f"{path.name}.converting"), path.with_name(f"{path.name}.former")


def _locked(path: Path, key: DatabaseKey | None) -> Any:
    """An exclusive connection, with the log merged into the file."""
    connection = encrypting_driver().connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None)
    try:
        if key is not None:
            unlock(connection, key.specification_for(path))
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        # Fails unless this is the last connection.
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode != "delete":
            raise StorageBusy(f"{path}: {_IN_USE}")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")  # the lock is kept
    except BaseException:
        connection.close()
        raise
    return connection


def _write_draft(source: Any, path: Path, draft: Path, new: DatabaseKey | None) -> None:
    try:
        make_private_file(draft)
        specification = "" if new is None else new.specification(os.urandom(_SALT_BYTES))
        source.execute("ATTACH DATABASE ? AS target KEY ?", (str(draft), specification))
        source.execute("SELECT sqlcipher_export('target')")
        for kept in ("user_version", "application_id"):
            (value,) = source.execute(f"PRAGMA main.{kept}").fetchone()
            source.execute(f"PRAGMA target.{kept} = {int(value)}")
        _compare(source, path)
        source.execute("DETACH DATABASE target")
        shutil.copymode(path, draft)
        _flush(draft, os.O_RDWR)  # Windows flushes only what may be written
    except BaseException:
        _wipe_away(draft)
        raise


def _compare(source: Any, path: Path) -> None:
    """Compare every row of the new file with the old one. Raises StorageCorrupt: one is not the
    same, or the new file is not sound."""
    named = "SELECT type, name, tbl_name, sql FROM {}.sqlite_schema ORDER BY type, name"
    before, after = (source.execute(named.format(one)).fetchall() for one in ("main", "target"))
    problems = source.execute("PRAGMA target.integrity_check(1)").fetchone() != ("ok",)
    tables = [
        name
        for kind, name, _, sql in before
        if kind == "table" and not (sql or "").upper().startswith("CREATE VIRTUAL")
    ]
    if problems or before != after or not all(_same_rows(source, name) for name in tables):
        raise StorageCorrupt(
            f"{path}: the copy is not the same as the database, which may be damaged; nothing was"
            " changed"
        )


def _same_rows(source: Any, table: str) -> bool:
    quoted = '"' + table.replace('"', '""') + '"'
    rows = (source.execute(f"SELECT * FROM {one}.{quoted}") for one in ("main", "target"))  # noqa: S608
    return all(one == other for one, other in zip_longest(*rows))


def _wipe_away(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        with path.open("r+b") as file:
            _overwrite(file)
        path.unlink()
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)


def _overwrite(file: BinaryIO) -> None:
    left = file.seek(0, os.SEEK_END)
    file.seek(0)
    while left > 0:
        left -= file.write(bytes(min(left, _CHUNK_BYTES)))
    file.flush()
    os.fsync(file.fileno())


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _driver_errors(path: Path) -> Iterator[None]:
    """Translate errors of the driver and the disk into ours."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailable(f"{path}: {error.strerror or error}") from None
    except encrypting_driver().Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StorageBusy(f"{path}: {_IN_USE}") from None
        # Errors inside the export come without a code.
        if code == sqlite3.SQLITE_FULL or _FULL in str(error):
            raise StorageFull(f"{path}: there is no room for a second copy beside it") from None
        if is_no_database(error):
            raise DatabaseKeyMismatch(f"{path}: is encrypted with another key") from None
        if code == sqlite3.SQLITE_CORRUPT:
            raise StorageCorrupt(f"{path}: the database is damaged; restore a backup") from None
        raise StorageError(f"{path}: the database refused ({error})") from None
