"""What ``doctor`` looks at. Each check says what it found and what to do about it."""

import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo import limits
from ricordo.cli.migrating import schema_of
from ricordo.cli.options import Store
from ricordo.cli.session import file_of, untouched_database
from ricordo.clock import system_clock
from ricordo.errors import RicordoError
from ricordo.model.record import Record

if TYPE_CHECKING:
    from ricordo.storage.database import Database

_OLDEST_SQLITE: Final = (3, 35, 0)  # the first with RETURNING
_FIRST_YEAR: Final = 2024
_OPEN_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MEGABYTE: Final = 1024 * 1024
_TOO_LITTLE_BYTES: Final = 20 * _MEGABYTE
_LITTLE_BYTES: Final = 200 * _MEGABYTE


class Verdict(StrEnum):
    """How a check came out; only ``fail`` makes the whole unhealthy."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """What one check found, and what to do when that is not as it should be."""

    check: str
    verdict: Verdict
    message: str
    advice: str | None = None


def examine(store: Store) -> Iterator[Finding]:
    """Look at everything that ricordo depends on, changing nothing."""
    yield _python()
    yield _sqlite()
    yield _clock()
    try:
        with untouched_database(store) as database:
            yield from _folders(store, database)
            yield from _database(database)
    except RicordoError as error:
        yield Finding("database", Verdict.FAIL, str(error), "check --db, --home and RICORDO_URL")


def _python() -> Finding:
    return Finding("python", Verdict.OK, platform.python_version())


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info >= _OLDEST_SQLITE:
        return Finding("sqlite", Verdict.OK, sqlite3.sqlite_version)
    needed = ".".join(map(str, _OLDEST_SQLITE))
    advice = f"use a Python with SQLite {needed} or newer"
    return Finding("sqlite", Verdict.FAIL, sqlite3.sqlite_version, advice)


def _clock() -> Finding:
    now = system_clock()
    shown = now.isoformat(timespec="seconds")
    if now.year >= _FIRST_YEAR:
        return Finding("clock", Verdict.OK, shown)
    return Finding("clock", Verdict.FAIL, shown, "set the clock of this computer")


def _folders(store: Store, database: "Database") -> Iterator[Finding]:
    from ricordo.wiring import read_settings

    home = read_settings(os.environ, store.settings()).home.expanduser()
    file = file_of(database)
    yield from _guarded("home", lambda: _private_place("home", home, "700"))
    if file is not None:
        yield from _guarded("file", lambda: _private_place("file", file, "600"))
    yield from _guarded("disk", lambda: _free_space(file or home))


def _private_place(check: str, path: Path, mode: str) -> Finding:
    if not path.exists():
        return Finding(check, Verdict.OK, f"{path} is made when first needed")
    if not os.access(path, os.R_OK | os.W_OK):
        return Finding(check, Verdict.FAIL, f"{path} may not be written", f"chmod {mode} {path}")
    # Windows keeps permissions elsewhere; there these bits say nothing.
    if os.name == "posix" and path.stat().st_mode & _OPEN_TO_OTHERS:
        message = f"{path} is open to other users of this computer"
        return Finding(check, Verdict.WARN, message, f"chmod {mode} {path}")
    return Finding(check, Verdict.OK, str(path))


def _free_space(path: Path) -> Finding:
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    free = shutil.disk_usage(nearest).free
    # Erasing a user rewrites the whole file beside the old one.
    comfortable = max(_LITTLE_BYTES, 2 * path.stat().st_size if path.is_file() else 0)
    message = f"{free // _MEGABYTE} MB free at {nearest}"
    if free < _TOO_LITTLE_BYTES:
        return Finding("disk", Verdict.FAIL, message, "free some space")
    if free < comfortable:
        return Finding("disk", Verdict.WARN, message, "free some space soon")
    return Finding("disk", Verdict.OK, message)


def _database(database: "Database") -> Iterator[Finding]:
    from ricordo.storage.migrations import HEAD

    try:
        schema = schema_of(database)
    except RicordoError as error:
        yield Finding("database", Verdict.FAIL, str(error), "restore a backup or choose another")
        return
    location = database.backend.location
    if schema is None:
        yield Finding("database", Verdict.OK, f"{location} is made by the first: ricordo add")
        return
    yield Finding("database", Verdict.OK, f"opened {location}")
    if schema != HEAD:
        yield Finding("schema", Verdict.WARN, f"{schema}, not {HEAD}", "ricordo migrate")
        return
    yield Finding("schema", Verdict.OK, schema)
    yield from _guarded("integrity", lambda: _integrity(database))
    yield from _guarded("consistency", lambda: _consistency(database))
    yield from _guarded("jobs", lambda: _dead_jobs(database))


def _guarded(check: str, look: Callable[[], Finding]) -> Iterator[Finding]:
    try:
        yield look()
    except (RicordoError, OSError) as error:
        yield Finding(check, Verdict.FAIL, str(error), "check --db, --home and RICORDO_URL")


def _integrity(database: "Database") -> Finding:
    with database.our_errors():
        problems = database.backend.check()
    if not problems:
        return Finding("integrity", Verdict.OK, "the database finds no damage")
    return Finding("integrity", Verdict.FAIL, "; ".join(problems), "restore a backup")


def _consistency(database: "Database") -> Finding:
    from ricordo.storage.consistency import find_inconsistencies

    with database.read() as reading:
        problems = find_inconsistencies(reading.connection)
    if not problems:
        return Finding("consistency", Verdict.OK, "memories and history agree")
    advice = "keep a copy of the database, and please report this"
    return Finding("consistency", Verdict.FAIL, "; ".join(problems), advice)


def _dead_jobs(database: "Database") -> Finding:
    from ricordo.model.vocabulary import JobState
    from ricordo.storage.jobs import list_jobs

    with database.read() as reading:
        dead = list_jobs(reading.connection, JobState.DEAD, limits.MAX_PAGE_ITEMS)
    if not dead:
        return Finding("jobs", Verdict.OK, "none is dead")
    advice = "ricordo jobs --state dead shows why; ricordo jobs retry ID tries again"
    return Finding("jobs", Verdict.WARN, f"dead: {len(dead)}", advice)
