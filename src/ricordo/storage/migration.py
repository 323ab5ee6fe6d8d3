"""Migrations: bringing a database up to date when it is opened."""

import threading
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.errors import DatabaseTooNew, DatabaseTooOld, StorageCorrupt, StorageReadOnly
from ricordo.storage.database import Database

CHAIN: Final = (
    *("0007", "0008", "0009", "0010", "0011", "0012"),
    *("0013", "0014", "0015", "0016", "0017", "0018"),
)
"""Every step since release 0.1.0, to recognise an up-to-date database without loading Alembic."""

HEAD: Final = CHAIN[-1]

FOLDER: Final = Path(__file__).with_name("migrations")

VERSION_TABLE: Final = "alembic_version"
"""Where a database says which of them it has had."""

BACKUP_MANIFEST: Final = "backup_manifest"
"""The table that makes a file a backup, and no store that can be used."""


def upgrade(database: Database) -> bool:
    """Run the steps that the database lacks; True when there were any.

    Two processes that open a new database at once both succeed: the second waits for the first
    and then finds nothing left to do.

    Raises:
        DatabaseTooNew: the database has steps that this version of ricordo does not know.
        DatabaseTooOld: it lacks steps, and its tables belong to another role.
        StorageCorrupt: the database has tables, but not ours.
    """
    if version_of(database) == HEAD:
        return False
    with database.our_errors(), database.backend.migrating() as connection:
        found = _version(connection, database.backend.location)
        if found == HEAD:
            return False
        owner = database.backend.owner_elsewhere(connection)
        if owner is not None:
            raise DatabaseTooOld(
                f"{database.backend.location} is at schema {found}, this ricordo needs {HEAD}: run"
                f" ricordo migrate as the role that owns the tables, {owner!r}"
            )
        # Alembic takes 0.2 s to load; only a new or old database needs it.
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(FOLDER))
        config.attributes["connection"] = connection
        with _alembic.lock:
            command.upgrade(config, "head")
        database.backend.search.create(connection)
        database.backend.secure(connection)
        database.backend.prepare_planner(connection)
    return True


def secure_again(database: Database) -> None:
    """Repair the row-level security of an up-to-date database, where it is not as it should be.

    Only the owner of the tables can; for anybody else, nothing.
    """
    with database.our_errors(), database.backend.migrating() as connection:
        if database.backend.owner_elsewhere(connection) is None:
            database.backend.secure(connection)


def version_of(database: Database) -> str | None:
    """The last step that a database has had; None for an empty one.

    Raises:
        DatabaseTooNew: the database has steps that this version of ricordo does not know.
        DatabaseTooOld: it is from before release 0.1.0.
        StorageCorrupt: the database has tables, but not ours.
        StorageReadOnly: it is a backup.
    """
    with database.read_all() as reading:
        return _version(reading.connection, database.backend.location)


def _version(connection: sa.Connection, location: str) -> str | None:
    inspector = sa.inspect(connection)
    if connection.dialect.name == "sqlite" and inspector.has_table(BACKUP_MANIFEST):
        raise StorageReadOnly(
            f"{location} is a backup, which a store that is used would change: restore it with"
            " ricordo backup restore"
        )
    ours = inspector.has_table(VERSION_TABLE) and inspector.has_table("history")
    if ours:
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        if found is not None and found < CHAIN[0]:
            raise DatabaseTooOld(
                f"{location} is at schema {found}, from before release 0.1.0, which this ricordo"
                f" cannot upgrade: it needs {CHAIN[0]} or newer"
            )
        if found is not None and found not in CHAIN:
            raise DatabaseTooNew(
                f"{location} is at schema {found}, newer than this ricordo, which knows up to"
                f" {HEAD}: upgrade the package"
            )
        return None if found is None else str(found)
    if any(map(inspector.has_table, (VERSION_TABLE, "items", "users"))):
        raise StorageCorrupt(f"{location} has tables of something else; choose another one")
    return None


class _AlembicLock:
    """Alembic keeps the migration under way in module globals: one per process, then."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        fork_safety.reset_in_child(self)

    def reset_after_fork(self) -> threading.Lock:
        """A lock that was held when the process forked would never be released in the child."""
        inherited, self.lock = self.lock, threading.Lock()
        return inherited


_alembic = _AlembicLock()
