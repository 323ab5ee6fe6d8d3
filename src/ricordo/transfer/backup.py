"""Backups: one SQLite file with every row of a store, and a digest per table."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import (
    AccessDenied,
    DatabaseTooNew,
    DatabaseTooOld,
    InvalidBackup,
    StorageCorrupt,
    StorageError,
    StorageUnavailable,
)
from ricordo.files.disk import file_errors
from ricordo.frozen import dataclass
from ricordo.model.checks import format_moment
from ricordo.model.reports import BackupReport
from ricordo.storage.database import Database
from ricordo.storage.migration import BACKUP_MANIFEST, CHAIN, HEAD, upgrade, version_of
from ricordo.storage.sql import Vector, matrix_of, vector_bytes
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connection import Use
from ricordo.storage.tables import (
    ID_SERIES,
    OWNED_TABLES,
    metadata,
    store,
)
from ricordo.transfer.drafts import (
    FileOpener,
    draft_beside,
    opened,
    pages,
    put_in_place,
    require_free,
    rows_at_once,
)
from ricordo.transfer.rows import Row
from ricordo.version import __version__

# Every table with rows of its own counts, those of the text index included, so that any changed
# value is found. Planner statistics do not: nothing depends on them.

_PIECE_CHARS: Final = 1_048_576  # a row may have up to 16 MB
# Without a root page it is virtual: its rows are in shadow tables, which are listed too.
_TABLES: Final = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> ? ORDER BY name"
)

FORMAT: Final = 1
"""The backup format; all formats up to this one can be read."""
_CREATE: Final = f"CREATE TABLE {BACKUP_MANIFEST} (document TEXT NOT NULL, sha256 TEXT NOT NULL)"
_INSERT: Final = f"INSERT INTO {BACKUP_MANIFEST} VALUES (?, ?)"  # noqa: S608 - ours
_PRESENT: Final = "SELECT count(*) FROM sqlite_master WHERE name = ? AND type = 'table'"
_SELECT: Final = f"SELECT document, sha256 FROM {BACKUP_MANIFEST}"  # noqa: S608 - ours
_DROP: Final = f"DROP TABLE {BACKUP_MANIFEST}"
_NOT_OURS: Final = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1"


@dataclass(frozen=True, slots=True)
class TableSum:
    """A table's number of rows, and their SHA-256 in key order."""

    rows: int
    sha256: str


def sums_of(connection: sa.Connection) -> dict[str, TableSum]:
    driver: Any = connection.connection.dbapi_connection
    names = [row[0] for row in driver.execute(_TABLES, (BACKUP_MANIFEST,))]
    return {name: _sum_of(driver, name) for name in names}


def _sum_of(driver: Any, table: str) -> TableSum:
    described = driver.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    columns = [_quoted(row[1]) for row in described]
    keyed = sorted((row[5], _quoted(row[1])) for row in described if row[5])
    order = [name for _, name in keyed] or columns
    rows = driver.execute(
        f"SELECT {', '.join(columns)} FROM {_quoted(table)} ORDER BY {', '.join(order)}"  # noqa: S608 - quoted names
    )
    digest = hashlib.sha256("\n".join(columns).encode())
    count, waiting, chars = 0, [], 0
    for row in rows:
        # As Python's ascii() writes it: unambiguous, and the same in every version.
        written = ascii(row)
        count += 1
        waiting.append(written)
        chars += len(written)
        if chars > _PIECE_CHARS:
            digest.update(_lines(waiting))
            waiting, chars = [], 0
    digest.update(_lines(waiting))
    return TableSum(count, digest.hexdigest())


def _lines(written: list[str]) -> bytes:
    return "".join(f"\n{line}" for line in written).encode("ascii")


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup's description of itself; see ``BackupReport`` for the fields."""

    version: str
    schema: str
    made_at: datetime
    database: str
    tables: Mapping[str, TableSum]

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows per table with user data."""
        names = sorted(table.name for table in OWNED_TABLES)
        return {name: self.tables[name].rows for name in names if name in self.tables}


def write_manifest(connection: sa.Connection, manifest: Manifest) -> None:
    """Write the manifest, which makes the file a backup."""
    document = json.dumps(
        {
            "format": FORMAT,
            "version": manifest.version,
            "schema": manifest.schema,
            "made_at": format_moment(manifest.made_at),
            "database": manifest.database,
            "tables": {name: asdict(one) for name, one in manifest.tables.items()},
        }
    )
    connection.exec_driver_sql(_CREATE)
    connection.exec_driver_sql(_INSERT, (document, _hash(document)))


def remove_manifest(connection: sa.Connection) -> None:
    """Turn a backup into an ordinary store."""
    connection.exec_driver_sql(_DROP)


def has_manifest(connection: sa.Connection) -> bool:
    return bool(connection.exec_driver_sql(_PRESENT, (BACKUP_MANIFEST,)).scalar())


def read_manifest(connection: sa.Connection, path: str) -> Manifest:
    """Read the manifest. Raises InvalidBackup: the file is no backup, or the manifest was changed;
    DatabaseTooNew: a newer ricordo made it."""
    if not has_manifest(connection):
        raise InvalidBackup(f"{path}: is not a backup that ricordo made")
    damaged = InvalidBackup(f"{path}: its manifest is damaged, or was changed")
    rows = connection.exec_driver_sql(_SELECT).all()
    if len(rows) != 1 or _hash(str(rows[0][0])) != rows[0][1]:
        raise damaged
    try:
        document = json.loads(rows[0][0])
        if document["format"] > FORMAT:
            raise DatabaseTooNew(
                f"{path}: a backup of format {document['format']}, made by ricordo"
                f" {document['version']}; this one knows up to {FORMAT}: upgrade the package"
            )
        return Manifest(
            version=str(document["version"]),
            schema=str(document["schema"]),
            made_at=datetime.fromisoformat(document["made_at"]),
            database=str(document["database"]),
            tables={name: TableSum(**one) for name, one in document["tables"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise damaged from None


def _hash(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()


def check_backup(path: Path, open_file: FileOpener) -> BackupReport:
    """Verify a whole backup, and report its contents.

    Raises:
        InvalidValue: there is no such file.
        InvalidBackup: it is no backup, or is damaged or was changed.
        DatabaseTooNew: a newer ricordo made it.
    """
    with opened(path, Use.READ, open_file) as database:
        return reported(path, verified(database, path))


def reported(path: Path, manifest: Manifest) -> BackupReport:
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


def verified(database: Database, path: Path) -> Manifest:
    """The manifest, verified against all rows; ``path`` is for messages. Raises InvalidBackup: it
    is no backup, or is damaged or was changed; DatabaseTooNew: a newer ricordo made it."""
    manifest = recognised(database, path)
    with _backup_errors(path), database.read_all() as reading:
        damage = damage_of(reading.connection)
        if damage is not None:
            raise InvalidBackup(f"{path}: the backup is damaged ({damage})")
        if reading.connection.exec_driver_sql(_NOT_OURS).first() is not None:
            raise InvalidBackup(f"{path}: has something that is not ricordo's")
        written, found = manifest.tables, sums_of(reading.connection)
        differing = sorted(
            name for name in {*written, *found} if written.get(name) != found.get(name)
        )
        if differing:
            raise InvalidBackup(
                f"{path}: is damaged, or was changed since, in {', '.join(differing)}"
            )
    return manifest


def damage_of(connection: sa.Connection) -> str | None:
    """Structural damage of a SQLite file; None if there is none.

    The text index is not checked: it can be rebuilt, and must not prevent a backup.
    """
    found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one())
    return None if found == "ok" else found


def recognised(database: Database, path: Path) -> Manifest:
    """The manifest, without verifying the rows. Raises InvalidBackup: it is no backup;
    DatabaseTooNew: a newer ricordo made it."""
    with _backup_errors(path), database.read_all() as reading:
        manifest = read_manifest(reading.connection, str(path))
    if manifest.schema not in CHAIN:
        raise DatabaseTooNew(
            f"{path}: a backup of schema {manifest.schema}, made by ricordo {manifest.version};"
            f" this one knows up to {HEAD}: upgrade the package"
        )
    return manifest


@contextlib.contextmanager
def _backup_errors(path: Path) -> Iterator[None]:
    """Turn database errors into InvalidBackup."""
    try:
        yield
    except UnicodeDecodeError as error:  # the driver's message quotes the file's contents
        raise InvalidBackup(f"{path}: is damaged, or is not a backup") from error
    except StorageError as error:
        if type(error) in (StorageCorrupt, StorageError):
            raise InvalidBackup(f"{path}: is damaged, or is not a backup") from error
        raise


def copy_rows(source: sa.Connection, target: sa.Connection) -> None:
    """Copy all rows of every table, referenced tables first.

    Sequences are not rows on every database: see ``Backend.ids_given``.
    """
    for table in metadata.sorted_tables:
        insert = sa.insert(table)
        for rows in _pages(source, table):
            target.execute(insert, rows)


def count_rows(connection: sa.Connection) -> dict[str, int]:
    return {
        table.name: connection.execute(
            sa.select(sa.func.count()).select_from(table).where(_copied(table))
        ).scalar_one()
        for table in metadata.sorted_tables
    }


def _pages(source: sa.Connection, table: sa.Table) -> Iterator[list[Row]]:
    vectors = [column.name for column in table.columns if isinstance(column.type, Vector)]
    columns = [
        vector_bytes(column).label(column.name) if column.name in vectors else column
        for column in table.columns
    ]
    wanted = sa.select(*columns).where(_copied(table)).order_by(*table.primary_key.columns)
    for rows in pages(source, wanted, rows_at_once(table)):
        for row, name in product(rows, vectors):
            if row[name] is not None:
                row[name] = matrix_of(source, [row[name]])[0]
        yield rows


def _copied(table: sa.Table) -> sa.ColumnElement[bool]:
    return table.c.name.not_in(ID_SERIES) if table is store else sa.true()


def make_backup(
    database: Database, path: Path, open_file: FileOpener, *, force: bool
) -> BackupReport:
    """Write a backup of a store, atomically.

    Raises:
        InvalidValue: the file exists, and ``force`` is off.
        FilesUnavailable: it cannot be written.
        AccessDenied: the role may not see every row.
        StorageError: the database could not answer, or there is no store.
    """
    require_free(path, force=force)
    made_at = database.clock()  # everything acknowledged by now is in the backup
    schema = version_of(database)
    if schema is None:
        raise StorageUnavailable(f"{database.backend.location}: there is no store to back up")
    with draft_beside(path) as draft:
        if isinstance(database.backend, SqliteBackend):
            with database.our_errors():
                database.backend.write_copy(draft)
        else:
            _copy_from_server(database, draft, schema, open_file)
        manifest = _sealed(database, draft, schema, made_at, open_file)
        put_in_place(draft, path, force=force)
    return reported(path, manifest)


def _copy_from_server(database: Database, draft: Path, schema: str, open_file: FileOpener) -> None:
    """Copy every row of one snapshot into a new SQLite store."""
    if schema != HEAD:
        raise DatabaseTooOld(
            f"{database.backend.location} is at schema {schema}, this ricordo backs up {HEAD}:"
            " run ricordo migrate first, or make a dump with PostgreSQL's own pg_dump"
        )
    with database.read_all() as reading, opened(draft, Use.DRAFT, open_file) as copy:
        if database.backend.hides_rows(reading.connection):
            raise AccessDenied(
                f"{database.backend.location}: row-level security binds this role, which must not"
                " be trusted with everybody's rows: make backups as the role that owns the tables"
            )
        upgrade(copy)
        with copy.transaction() as target:
            copy_rows(reading.connection, target)
            copy.backend.search.rebuild(target)
            # As of now, after the snapshot: never lower than an id in it.
            copy.backend.go_on_after(target, database.backend.ids_given(reading.connection))
            if count_rows(reading.connection) != count_rows(target):
                raise StorageError(f"{database.backend.location}: rows are missing in the copy")


def _sealed(
    database: Database, draft: Path, schema: str, made_at: datetime, open_file: FileOpener
) -> Manifest:
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
