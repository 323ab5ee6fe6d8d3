"""Making a backup: one file with all that a store holds at one moment, while others use it."""

from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from ricordo.errors import (
    AccessDenied,
    DatabaseTooOld,
    StorageCorrupt,
    StorageError,
    StorageUnavailable,
)
from ricordo.model.reports import BackupReport
from ricordo.storage.database import Database
from ricordo.storage.migrations import HEAD
from ricordo.storage.migrations.upgrade import upgrade, version_of
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connection import Use
from ricordo.transfer.backup.checking import FileOpener, damage_of, opened, reported
from ricordo.transfer.backup.digesting import sums_of
from ricordo.transfer.backup.drafts import draft_beside, put_in_place, require_free
from ricordo.transfer.backup.manifest import Manifest, write_manifest
from ricordo.transfer.backup.rows import copy_rows, count_rows
from ricordo.version import __version__


def make_backup(
    database: Database, path: Path, open_file: FileOpener, *, force: bool
) -> BackupReport:
    """Write a backup of a store. It appears whole or not at all.

    Raises:
        InvalidValue: there is a file of that name, and ``force`` does not say to replace it.
        FilesUnavailable: it cannot be written.
        AccessDenied: the role may not see every row.
        StorageError: the database could not answer, or there is no store.
    """
    require_free(path, force=force)
    made_at = database.clock()  # what is acknowledged by now will be in it
    schema = _schema_of(database)
    with draft_beside(path) as draft:
        if isinstance(database.backend, SqliteBackend):
            with database.our_errors():
                database.backend.write_copy(draft)
        else:
            _copy_from_server(database, draft, schema, open_file)
        manifest = _sealed(database, draft, schema, made_at, open_file)
        put_in_place(draft, path, force=force)
    return reported(path, manifest)


def _schema_of(database: Database) -> str:
    schema = version_of(database)
    if schema is None:
        raise StorageUnavailable(f"{database.backend.location}: there is no store to back up")
    return schema


def _copy_from_server(database: Database, draft: Path, schema: str, open_file: FileOpener) -> None:
    """Copy every row of one snapshot into a new store in a file."""
    if schema != HEAD:
        raise DatabaseTooOld(
            f"{database.backend.location} is at schema {schema}, this ricordo backs up {HEAD}:"
            " run ricordo migrate first, or make a dump with PostgreSQL's own pg_dump"
        )
    with database.read_all() as reading, opened(draft, Use.DRAFT, open_file) as copy:
        _require_every_row(database, reading.connection)
        upgrade(copy)
        with copy.transaction() as target:
            copy_rows(reading.connection, target)
            copy.backend.search.rebuild(target)
            # As of now, which is after the snapshot: never less than an id in it.
            copy.backend.go_on_after(target, database.backend.ids_given(reading.connection))
            if count_rows(reading.connection) != count_rows(target):
                raise StorageError(f"{database.backend.location}: rows were lost on the way")


def _require_every_row(database: Database, connection: sa.Connection) -> None:
    if database.backend.hides_rows(connection):
        raise AccessDenied(
            f"{database.backend.location}: row-level security binds this role, which must not be"
            " trusted with everybody's rows: make backups as the role that owns the tables"
        )


def _sealed(
    database: Database, draft: Path, schema: str, made_at: datetime, open_file: FileOpener
) -> Manifest:
    """Write down what a copy holds, once it was found to be sound."""
    with opened(draft, Use.DRAFT, open_file) as copy, copy.transaction() as connection:
        damage = damage_of(connection)
        if damage is not None:
            raise StorageCorrupt(f"{database.backend.location}: is damaged ({damage})")
        manifest = Manifest(
            version=__version__,
            schema=schema,
            made_at=made_at,
            database=database.backend.name,
            tables=sums_of(connection),
        )
        write_manifest(connection, manifest)
    return manifest
