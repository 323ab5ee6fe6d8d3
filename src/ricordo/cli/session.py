"""Opening what the options name, for as long as one command runs."""

import contextlib
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
_SILENCE: Final = logging.NullHandler()
_NOBODY_ELSE: Final = Acting()


def is_debugging() -> bool:
    """True where whoever runs this wants to see what goes on inside."""
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


@contextlib.contextmanager
def open_store(store: Store) -> Iterator["Memory"]:
    """The store, made or upgraded when needed, without a background thread.

    A search goes through the database itself, unless a size for the index cache is set: a command
    asks once, and reading the whole index for that would take longer.

    Raises:
        InvalidInput: a setting has a value that is not allowed.
        StorageError: the database cannot be opened.
    """
    from ricordo.wiring import open_memory

    if not is_debugging():  # standard error is for errors, in a form that programs may rely on
        for name in ("ricordo", "sqlalchemy"):
            logging.getLogger(name).addHandler(_SILENCE)
    in_database = {} if os.environ.get(CACHE_VARIABLE) else {"index_cache_mb": 0}
    with open_memory(**{**in_database, **store.settings(), "run_jobs": False}) as memory:
        yield memory


@contextlib.contextmanager
def open_user(owner: Owner, acting: Acting = _NOBODY_ELSE) -> Iterator["UserMemory"]:
    """The memory of the user whom the options name, bound to who acts for them.

    Raises:
        InvalidInput: a setting or a name is not allowed.
        StorageError: the database cannot be opened.
    """
    with open_store(owner) as memory:
        whole = memory.global_memories() if owner.of_everyone else memory.user(owner.user)
        yield whole.narrow(
            agent=acting.agent,
            thread=acting.thread,
            run=acting.run,
            actor=acting.actor,
            role=acting.role,
        )


@contextlib.contextmanager
def untouched_database(store: Store) -> Iterator["Database"]:
    """The database as it stands: neither made nor upgraded, as long as nothing is read of it.

    Raises:
        InvalidInput: a setting has a value that is not allowed.
        StorageUnavailable: PostgreSQL is asked for, but its driver is not installed.
    """
    from ricordo.wiring import open_database, read_settings

    database, clean_up = open_database(read_settings(os.environ, store.settings()))
    try:
        yield database
    finally:
        database.backend.close()
        clean_up()


def file_of(database: "Database") -> Path | None:
    """The file that a database is in; None for one on a server."""
    backend = database.backend
    return Path(backend.location) if backend.name == "sqlite" else None


def is_made(database: "Database") -> bool:
    """False where a database would be a file that is not there yet, or has nothing in it.

    Raises:
        StorageUnavailable: there is no looking at that place.
    """
    file = file_of(database)
    try:
        return file is None or (file.exists() and file.stat().st_size > 0)
    except OSError as error:
        raise StorageUnavailable(f"{file}: {error.strerror}") from None
