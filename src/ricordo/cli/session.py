"""Open the store that the options name, for the time of one command."""

import contextlib
import gc
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo.cli.options import Acting, Owner, Store
from ricordo.errors import StorageUnavailable

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.storage.database import Database
    from ricordo.user_memory import UserMemory

DEBUG_VARIABLE: Final = "RICORDO_DEBUG"
CACHE_VARIABLE: Final = "RICORDO_INDEX_CACHE_MB"
_OBJECTS_BETWEEN_COLLECTIONS: Final = 300_000  # as many as loading everything makes
_SILENCE: Final = logging.NullHandler()
_NOBODY_ELSE: Final = Acting()


def is_debugging() -> bool:
    """True where debug output is enabled."""
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


@contextlib.contextmanager
def open_store(store: Store) -> Iterator["Memory"]:
    """Open the store, created or migrated where needed, without background threads.

    Search uses the database directly unless an index cache size is set: a command searches once,
    and loading the whole index would take longer.

    Raises:
        InvalidInput: a setting has a value that is not allowed.
        StorageError: the database cannot be opened.
    """
    _lighten()
    from ricordo.wiring import open_memory

    if not is_debugging():  # standard error is for errors, in a format that programs may rely on
        for name in ("ricordo", "sqlalchemy"):
            logging.getLogger(name).addHandler(_SILENCE)
    in_database = {} if os.environ.get(CACHE_VARIABLE) else {"index_cache_mb": 0}
    with open_memory(**{**in_database, **store.settings(), "run_jobs": False}) as memory:
        yield memory


def _lighten() -> None:
    """Spare a process that runs one command what pays in long ones; before the store is loaded."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # Threads that multiply matrices wait by spinning: for one search that doubles what it computes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Of every package that is installed a file would be read, to see whether it extends pydantic.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


@contextlib.contextmanager
def open_user(owner: Owner, acting: Acting = _NOBODY_ELSE) -> Iterator["UserMemory"]:
    """Open the store for the user and actor that the options name.

    Raises:
        InvalidInput: a setting or a name is not allowed.
        StorageError: the database cannot be opened.
    """
    with open_store(owner) as memory:
        yield owner.memory_in(memory).narrow(
            agent=acting.agent,
            thread=acting.thread,
            run=acting.run,
            actor=acting.actor,
            role=acting.role,
        )


@contextlib.contextmanager
def untouched_database(store: Store) -> Iterator["Database"]:
    """The database without creating or migrating it, as long as nothing is read from it.

    Raises:
        InvalidInput: a setting has a value that is not allowed.
        StorageUnavailable: the PostgreSQL driver is not installed.
    """
    from ricordo.wiring import open_database, read_settings

    database, clean_up = open_database(read_settings(os.environ, store.settings()))
    try:
        yield database
    finally:
        database.backend.close()
        clean_up()


def file_of(database: "Database") -> Path | None:
    """The file of a SQLite database; None for a server."""
    backend = database.backend
    return Path(backend.location) if backend.name == "sqlite" else None


def is_made(database: "Database") -> bool:
    """False for a database file that is missing or empty. Raises StorageUnavailable."""
    file = file_of(database)
    try:
        return file is None or (file.exists() and file.stat().st_size > 0)
    except OSError as error:
        raise StorageUnavailable(f"{file}: {error.strerror}") from None
