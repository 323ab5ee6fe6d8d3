"""Opening a connection to the file, with the settings that everything else relies on."""

import os
import sqlite3
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

from ricordo.errors import DatabaseKeyMismatch, StorageUnavailable
from ricordo.storage.sqlite.encryption import (
    DatabaseKey,
    encrypting_driver,
    looks_encrypted,
    unlock,
)

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_RETRY_SECONDS = 0.01
_CHECKPOINT_PAGES = 4_000  # 16 MB of log between two tidyings-up, each of which makes a write wait


class Use(Enum):
    """What a file is opened for."""

    STORE = "a store: many programs may read and write it at once"
    DRAFT = "one that nobody else knows yet, and whoever makes it sees to it that it lasts"
    LOOK = "one that must not be changed, not even by being opened"


@dataclass(frozen=True, slots=True)
class ConnectionPlan:
    """Where the file is, how safely it is written, and what it is encrypted with, if it is.

    ``synchronous`` FULL survives a power cut after every acknowledged write; NORMAL survives a
    crash of the process, and may lose the last writes when the machine loses power.
    """

    path: Path
    synchronous: str
    busy_timeout_seconds: float
    key: DatabaseKey | None = None
    use: Use = Use.STORE

    def driver(self) -> Any:
        """The module that opens such a file, and whose errors are raised.

        Raises:
            StorageUnavailable: there is a key, but what encrypts is not installed.
        """
        return sqlite3 if self.key is None else encrypting_driver()


def connect(plan: ConnectionPlan) -> Any:
    """A connection in autocommit mode that any one thread at a time may use.

    Raises:
        DatabaseKeyMismatch: the file is encrypted with another key, or is and should not be.
        StorageUnavailable: the folder or file cannot be made.
    """
    if plan.use is not Use.LOOK:
        make_private_file(plan.path)
    specification = None if plan.key is None else plan.key.specification_for(plan.path)
    try:
        return _opened(plan, specification)
    except plan.driver().DatabaseError as error:
        if not is_no_database(error):
            raise
        if plan.key is None:
            _explain_unreadable(plan.path)
            raise
        # Another process may have made the file meanwhile, with a salt of its own.
        found = plan.key.specification_for(plan.path)
        if found == specification:
            _refuse_key(plan.path)
    try:
        return _opened(plan, found)
    except plan.driver().DatabaseError as error:
        if is_no_database(error):
            _refuse_key(plan.path)
        raise


def is_no_database(error: BaseException) -> bool:
    """True where a driver could make nothing of the start of a file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB


def _opened(plan: ConnectionPlan, specification: str | None) -> Any:
    is_read = plan.use is Use.LOOK
    connection = plan.driver().connect(
        f"{plan.path.resolve().as_uri()}?mode=ro&immutable=1" if is_read else plan.path,
        uri=is_read,
        timeout=plan.busy_timeout_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    try:
        if specification is not None:
            unlock(connection, specification)
        _prepare(connection, plan)
        connection.execute("PRAGMA foreign_keys = ON")
        # Deleted text is overwritten at once instead of lying in free pages.
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: Any, plan: ConnectionPlan) -> None:
    """How the file is written: what was acknowledged survives, unless it is a draft."""
    if plan.use is Use.STORE:
        _switch_to_wal(connection, plan)
        connection.execute(f"PRAGMA synchronous = {plan.synchronous}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    elif plan.use is Use.DRAFT:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
    else:
        connection.execute("SELECT count(*) FROM sqlite_master")  # is it one at all?


def _explain_unreadable(path: Path) -> None:
    if looks_encrypted(path):
        raise DatabaseKeyMismatch(
            f"{path}: the database is encrypted, and no key is set: set RICORDO_DATABASE_KEY"
        ) from None


def _refuse_key(path: Path) -> NoReturn:
    raise DatabaseKeyMismatch(
        f"{path}: the database is encrypted with another key than RICORDO_DATABASE_KEY, or is not"
        " a database"
    ) from None


def make_private_file(path: Path) -> None:
    """Memories are private: only the user who runs ricordo may read the file.

    Raises:
        StorageUnavailable: the folder or file cannot be made.
    """
    try:
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        # Only ever a new file: closing a descriptor of one that is in use would drop the locks that
        # SQLite holds on it in this process, and another process could then take away the log.
        os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageUnavailable(f"{path}: {error.strerror or error}") from None


def _switch_to_wal(connection: Any, plan: ConnectionPlan) -> None:
    # The switch does not wait for other processes by itself, so that two which open a new file
    # at once would trip over each other.
    deadline = time.monotonic() + plan.busy_timeout_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except plan.driver().OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)
