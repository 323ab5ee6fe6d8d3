"""The database that the settings name, and SQLite files beside it."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from ricordo.clock import Clock, system_clock
from ricordo.errors import InvalidValue, StorageUnavailable, without_password
from ricordo.model.scope import Policy
from ricordo.settings import Settings
from ricordo.storage.backend import Backend
from ricordo.storage.database import Database
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connection import ConnectionPlan, DatabaseKey, Use
from ricordo.text.analyser import Analyser
from ricordo.transfer.backup import FileOpener

TEMPORARY: Final = ":memory:"
_DATABASE_FILE: Final = "ricordo.db"
_SQLITE_SCHEME: Final = "sqlite:///"
_POSTGRES_SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
_ENCRYPTED_SERVER: Final = "have the server's disk encrypted, and connect with sslmode=verify-full"


def open_database(
    settings: Settings, clock: Clock = system_clock
) -> tuple[Database, Callable[[], None]]:
    """The database that the settings name, as it is, and what to do after closing it.

    Raises:
        InvalidValue: an address of an unknown kind.
        StorageUnavailable: PostgreSQL is asked for, but its driver is not installed.
    """
    backend, clean_up = _backend(settings)
    return _database(backend, settings, clock), clean_up


def file_opener(settings: Settings, clock: Clock = system_clock) -> FileOpener:
    """What opens SQLite files beside the store, with the same key if it has one."""

    def open_file(path: Path, use: Use) -> Database:
        return _database(_sqlite(path, settings, use), settings, clock)

    return open_file


def database_key(settings: Settings) -> DatabaseKey | None:
    """What the file is encrypted with, by the settings.

    Raises:
        InvalidValue: it is given twice, is no key, or its file cannot be read.
    """
    given, file = settings.database_key, settings.database_key_file
    if given is not None and file is not None:
        raise InvalidValue("setting database_key_file", "give it or database_key, not both")
    if file is not None:
        return DatabaseKey(_first_line(file.expanduser()))
    return None if given is None else DatabaseKey(given.get_secret_value())


def database_file(settings: Settings) -> Path:
    """The file that the store is in.

    Raises:
        InvalidValue: it is on a server, or is a temporary one.
    """
    url = settings.url
    if url is not None and url.startswith(_POSTGRES_SCHEMES):
        raise InvalidValue("db", f"is on a server, not in a file: {_ENCRYPTED_SERVER}")
    if url == TEMPORARY:
        raise InvalidValue("db", "a temporary database is gone before it could be converted")
    return _sqlite_path(url, settings.home)


def _database(backend: Backend, settings: Settings, clock: Clock) -> Database:
    policy = Policy(
        purge_after=timedelta(days=settings.purge_after_days),
        global_until=settings.global_until,
        offer_life=timedelta(days=settings.proposal_days),
    )
    return Database(backend, clock, policy, Analyser(settings.language))


def _backend(settings: Settings) -> tuple[Backend, Callable[[], None]]:
    url = settings.url
    if url is not None and url.startswith(_POSTGRES_SCHEMES):
        if database_key(settings) is not None:
            raise InvalidValue("setting database_key", f"is for SQLite files: {_ENCRYPTED_SERVER}")
        return _postgres(url, settings), _nothing
    if url == TEMPORARY:
        folder = Path(tempfile.mkdtemp(prefix="ricordo-"))
        return _sqlite(folder / _DATABASE_FILE, settings), _remover(folder)
    return _sqlite(_sqlite_path(url, settings.home), settings), _nothing


def _sqlite_path(url: str | None, home: Path) -> Path:
    if url is None:
        return home.expanduser() / _DATABASE_FILE
    path = url.removeprefix(_SQLITE_SCHEME)
    if not path or "://" in path:
        shown = without_password(url)
        raise InvalidValue(
            "url", f"{shown!r} is not a file path, sqlite:///PATH, postgresql://… or {TEMPORARY}"
        )
    return Path(path).expanduser().absolute()


def _sqlite(path: Path, settings: Settings, use: Use = Use.STORE) -> SqliteBackend:
    timeout = settings.busy_timeout_seconds
    plan = ConnectionPlan(path, settings.synchronous, timeout, database_key(settings), use)
    return SqliteBackend(plan, settings.pool_size)


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not a text file"
        raise InvalidValue("setting database_key_file", f"{path}: {problem}") from None
    if not lines or not lines[0]:
        raise InvalidValue("setting database_key_file", f"{path}: the first line is empty")
    return lines[0]


def _postgres(url: str, settings: Settings) -> Backend:
    try:
        from ricordo.storage.postgres.backend import PostgresBackend
    except ImportError:
        raise StorageUnavailable(
            "PostgreSQL needs its driver: pip install 'ricordo[postgres]'"
        ) from None
    return PostgresBackend(
        url, settings.pool_size, settings.busy_timeout_seconds, settings.exact_scan_rows
    )


def _remover(folder: Path) -> Callable[[], None]:
    """Removes a temporary store: when it is closed, or else when the process that made it ends."""
    maker = os.getpid()

    def remove() -> None:
        if os.getpid() == maker:  # a forked child must not take it from its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return remove


def _nothing() -> None:
    pass
