"""Looking whether a file is a sound backup, without changing anything."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import sqlalchemy as sa

from ricordo.errors import (
    DatabaseTooNew,
    InvalidBackup,
    InvalidValue,
    StorageCorrupt,
    StorageError,
)
from ricordo.files.atomic import file_errors
from ricordo.model.reports import BackupReport
from ricordo.storage.database import Database
from ricordo.storage.migrations import CHAIN, HEAD
from ricordo.storage.sqlite.connection import Use
from ricordo.transfer.backup.digesting import TableSum, sums_of
from ricordo.transfer.backup.manifest import Manifest, read_manifest

FileOpener: TypeAlias = Callable[[Path, Use], Database]
"""Opens a SQLite file with the settings of the store, its key among them."""

_NOT_OURS: Final = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1"


def check_backup(path: Path, open_file: FileOpener) -> BackupReport:
    """What is in a backup, once all of it was read and is as it was when it was made.

    Raises:
        InvalidValue: there is no such file.
        InvalidBackup: it is no backup, or is damaged or was changed.
        DatabaseTooNew: a newer ricordo made it.
    """
    with opened(path, Use.LOOK, open_file) as database:
        return reported(path, verified(database, path))


def reported(path: Path, manifest: Manifest) -> BackupReport:
    """What a sound backup says of itself, and how large it is."""
    with file_errors(path):
        size = path.stat().st_size
    return BackupReport(
        path=str(path),
        made_at=manifest.made_at,
        version=manifest.version,
        schema=manifest.schema,
        database=manifest.database,
        size_bytes=size,
        rows=manifest.rows,
    )


@contextlib.contextmanager
def opened(path: Path, use: Use, open_file: FileOpener) -> Iterator[Database]:
    """A SQLite file, open for a while.

    Raises:
        InvalidValue: there is no such file.
    """
    with file_errors(path):
        is_there = path.is_file()
    if not is_there:
        raise InvalidValue("path", f"there is no file {path}")
    database = open_file(path, use)
    try:
        yield database
    finally:
        database.backend.close()


def verified(database: Database, path: Path) -> Manifest:
    """What a backup says of itself, once all of it was found to be so; ``path`` is its name.

    Raises:
        InvalidBackup: it is no backup, or is damaged or was changed.
        DatabaseTooNew: a newer ricordo made it.
    """
    manifest = recognised(database, path)
    with _refusing(path), database.read_all() as reading:
        damage = damage_of(reading.connection)
        if damage is not None:
            raise InvalidBackup(f"{path}: the backup is damaged ({damage})")
        if reading.connection.exec_driver_sql(_NOT_OURS).first() is not None:
            raise InvalidBackup(f"{path}: holds something that is not ricordo's")
        _compare(manifest.tables, sums_of(reading.connection), path)
    return manifest


def damage_of(connection: sa.Connection) -> str | None:
    """What is wrong with the structure of a SQLite file; None if nothing is.

    Not whether its text index fits its rows: that can be made anew, and keeps nobody from a backup.
    """
    found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one())
    return None if found == "ok" else found


def recognised(database: Database, path: Path) -> Manifest:
    """What a backup says of itself, without looking whether it is so.

    Raises:
        InvalidBackup: it is no backup.
        DatabaseTooNew: a newer ricordo made it.
    """
    with _refusing(path), database.read_all() as reading:
        manifest = read_manifest(reading.connection, str(path))
    if manifest.schema not in CHAIN:
        raise DatabaseTooNew(
            f"{path}: a backup of schema {manifest.schema}, made by ricordo {manifest.version};"
            f" this one knows up to {HEAD}: upgrade the package"
        )
    return manifest


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """A file that the database can make nothing of is no backup of anybody's."""
    try:
        yield
    except UnicodeDecodeError as error:  # the driver quotes what it found in the file
        raise InvalidBackup(f"{path}: is damaged, or is not a backup") from error
    except StorageError as error:
        if type(error) in (StorageCorrupt, StorageError):
            raise InvalidBackup(f"{path}: is damaged, or is not a backup") from error
        raise


def _compare(said: Mapping[str, TableSum], found: Mapping[str, TableSum], path: Path) -> None:
    differing = sorted(name for name in {*said, *found} if said.get(name) != found.get(name))
    if differing:
        raise InvalidBackup(f"{path}: is damaged, or was changed since, in {', '.join(differing)}")
