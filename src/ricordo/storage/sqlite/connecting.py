"""Opening a connection to the file, with the settings that everything else relies on."""

import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from ricordo.errors import StorageUnavailable

_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_RETRY_SECONDS = 0.01
_CHECKPOINT_PAGES = 4_000  # 16 MB of log between two tidyings-up, each of which makes a write wait


@dataclass(frozen=True, slots=True)
class ConnectionPlan:
    """Where the file is and how safely it is written.

    ``synchronous`` FULL survives a power cut after every acknowledged write; NORMAL survives a
    crash of the process, and may lose the last writes when the machine loses power.
    """

    path: Path
    synchronous: str
    busy_timeout_seconds: float


def connect(plan: ConnectionPlan) -> sqlite3.Connection:
    """A connection in autocommit mode that any one thread at a time may use.

    Raises:
        StorageUnavailable: the folder or file cannot be made.
    """
    _make_private_file(plan.path)
    connection = sqlite3.connect(
        plan.path,
        timeout=plan.busy_timeout_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    try:
        _switch_to_wal(connection, plan.busy_timeout_seconds)
        connection.execute(f"PRAGMA synchronous = {plan.synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        # Deleted text is overwritten at once instead of lying in free pages.
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private_file(path: Path) -> None:
    """Memories are private: only the user who runs ricordo may read the file."""
    try:
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        # Only ever a new file: closing a descriptor of one that is in use would drop the locks that
        # SQLite holds on it in this process, and another process could then take away the log.
        os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageUnavailable(f"{path}: {error.strerror or error}") from None


def _switch_to_wal(connection: sqlite3.Connection, timeout_seconds: float) -> None:
    # The switch does not wait for other processes by itself, so that two which open a new file
    # at once would trip over each other.
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)
