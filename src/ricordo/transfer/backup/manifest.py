"""The table of a backup that says what is in it, so that it can be told from any other file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import DatabaseTooNew, InvalidBackup
from ricordo.model.checks import format_moment
from ricordo.storage.migrations import BACKUP_MANIFEST
from ricordo.storage.tables import OWNED_TABLES
from ricordo.transfer.backup.digesting import TableSum

FORMAT: Final = 1
"""How backups are written; a ricordo reads all formats up to its own."""

_CREATE: Final = f"CREATE TABLE {BACKUP_MANIFEST} (document TEXT NOT NULL, sha256 TEXT NOT NULL)"
_INSERT: Final = f"INSERT INTO {BACKUP_MANIFEST} VALUES (?, ?)"  # noqa: S608 - ours
_PRESENT: Final = "SELECT count(*) FROM sqlite_master WHERE name = ? AND type = 'table'"
_SELECT: Final = f"SELECT document, sha256 FROM {BACKUP_MANIFEST}"  # noqa: S608 - ours
_DROP: Final = f"DROP TABLE {BACKUP_MANIFEST}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself; see ``BackupReport`` for what each means."""

    version: str
    schema: str
    made_at: datetime
    database: str
    tables: Mapping[str, TableSum]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table with anything of a user's has."""
        names = sorted(table.name for table in OWNED_TABLES)
        return {name: self.tables[name].rows for name in names if name in self.tables}


def write_manifest(connection: sa.Connection, manifest: Manifest) -> None:
    """Make a file a backup by what it must hold."""
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
    """Make a backup an ordinary store."""
    connection.exec_driver_sql(_DROP)


def has_manifest(connection: sa.Connection) -> bool:
    """True where a file says that it is a backup."""
    return bool(connection.exec_driver_sql(_PRESENT, (BACKUP_MANIFEST,)).scalar())


def read_manifest(connection: sa.Connection, path: str) -> Manifest:
    """What a backup says of itself.

    Raises:
        InvalidBackup: the file is no backup, or this part of it was changed.
        DatabaseTooNew: a newer ricordo made it, in a format that this one does not know.
    """
    if not has_manifest(connection):
        raise InvalidBackup(f"{path}: is not a backup that ricordo made")
    rows = connection.exec_driver_sql(_SELECT).all()
    if len(rows) != 1 or _hash(str(rows[0][0])) != rows[0][1]:
        raise InvalidBackup(f"{path}: what the backup says of itself is damaged, or was changed")
    try:
        return _parsed(json.loads(rows[0][0]), path)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidBackup(
            f"{path}: what the backup says of itself is damaged, or was changed"
        ) from None


def _parsed(said: dict[str, Any], path: str) -> Manifest:
    if said["format"] > FORMAT:
        raise DatabaseTooNew(
            f"{path}: a backup of format {said['format']}, made by ricordo {said['version']};"
            f" this one knows up to {FORMAT}: upgrade the package"
        )
    return Manifest(
        version=str(said["version"]),
        schema=str(said["schema"]),
        made_at=datetime.fromisoformat(said["made_at"]),
        database=str(said["database"]),
        tables={name: TableSum(**one) for name, one in said["tables"].items()},
    )


def _hash(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()
