"""What ``doctor`` looks at. Each check says what it found and what to do about it."""

import contextlib
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
_WHERE: Final = "check --db, --home and RICORDO_URL"


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
    yield from _guarded("embedder", lambda: _embedder(store), "check RICORDO_EMBEDDING_…")
    yield from _guarded("model", lambda: _model(store), "check RICORDO_MODEL_…")
    try:
        with untouched_database(store) as database:
            yield from _folders(store, database)
            yield from _database(database)
    except RicordoError as error:
        yield Finding("database", Verdict.FAIL, str(error), _WHERE)


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


def _embedder(store: Store) -> Finding:
    """Whether texts become vectors. In a store of its own, so that none is made or changed."""
    from ricordo.embedding.checkup import test_embedder
    from ricordo.model.vocabulary import GLOBAL_OWNER
    from ricordo.wiring import TEMPORARY, open_memory

    settings = {**store.settings(), "url": TEMPORARY, "run_jobs": False}
    with open_memory(**settings) as memory:
        with memory.database.read(GLOBAL_OWNER) as view:
            chosen = memory.recall.embedders.chosen(view.connection, GLOBAL_OWNER)
        if chosen.embedder is None and chosen.problem is None:
            return Finding("embedder", Verdict.OK, "none: search goes by words alone")
        if chosen.embedder is None:
            return _no_vectors(str(chosen.problem))
        tried = test_embedder(chosen.embedder)
    if not tried.ok:
        return _no_vectors(f"{tried.provider}: {tried.problem}")
    found = f"{tried.provider} {tried.model}: {tried.dimensions} wide, {tried.latency_ms:.0f} ms"
    return Finding("embedder", Verdict.OK, found)


def _no_vectors(problem: str) -> Finding:
    advice = "check RICORDO_EMBEDDING_…; until then search goes by words alone"
    return Finding("embedder", Verdict.WARN, problem, advice)


def _model(store: Store) -> Finding:
    """Whether the language model answers; without one there is nothing to check."""
    from ricordo.wiring import TEMPORARY, open_memory

    settings = {**store.settings(), "url": TEMPORARY, "run_jobs": False}
    with open_memory(**settings) as memory:
        if memory.formation.model is None:
            return Finding("model", Verdict.OK, "none: rules read conversations")
        tried = memory.test_model()
    named = f"{tried.provider} {tried.model}"
    if not tried.ok:
        advice = "check RICORDO_MODEL_…; until then conversations wait to be formed"
        return Finding("model", Verdict.WARN, f"{named}: {tried.problem}", advice)
    found = f"{named}: {tried.structured_output}, {tried.latency_ms:.0f} ms"
    return Finding("model", Verdict.OK, found)


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
    yield from _guarded("search", lambda: _search_engine(database, schema))
    if schema is None:
        yield Finding("database", Verdict.OK, f"{location} is made by the first: ricordo add")
        return
    yield Finding("database", Verdict.OK, f"opened {location}")
    if schema != HEAD:
        yield Finding("schema", Verdict.WARN, f"{schema}, not {HEAD}", "ricordo migrate")
        return
    yield Finding("schema", Verdict.OK, schema)
    if database.backend.name == "postgresql":
        yield from _guarded("isolation", lambda: _isolation(database))
    yield from _guarded("integrity", lambda: _integrity(database))
    yield from _guarded("consistency", lambda: _consistency(database))
    yield from _guarded("terms", lambda: _terms(database))
    yield from _guarded("vectors", lambda: _vectors(database))
    yield from _guarded("jobs", lambda: _dead_jobs(database))


def _guarded(check: str, look: Callable[[], Finding], advice: str = _WHERE) -> Iterator[Finding]:
    try:
        yield look()
    except (RicordoError, OSError) as error:
        yield Finding(check, Verdict.FAIL, str(error), advice)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in one check, the others count
        yield Finding(check, Verdict.FAIL, f"{type(error).__name__}: {error}", "please report this")


def _search_engine(database: "Database", schema: str | None) -> Finding:
    if database.backend.name == "sqlite":
        return _fts5()
    return _pgvector(database, schema)


def _fts5() -> Finding:
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(terms)")
    except sqlite3.Error as error:
        advice = "use a Python whose SQLite has FTS5"
        return Finding("search", Verdict.FAIL, f"SQLite has no FTS5 ({error})", advice)
    return Finding("search", Verdict.OK, "SQLite has FTS5")


def _pgvector(database: "Database", schema: str | None) -> Finding:
    wanted = "SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'"
    with database.read_all() as reading:
        row = reading.connection.exec_driver_sql(wanted).one_or_none()
    if row is None:
        advice = "install pgvector on the database server"
        return Finding("search", Verdict.FAIL, "the server has no pgvector", advice)
    if row[0] is not None:
        return Finding("search", Verdict.OK, f"pgvector {row[0]}")
    if schema is None:
        return Finding("search", Verdict.OK, "pgvector is switched on when first needed")
    advice = "as its owner, in that database: CREATE EXTENSION vector"
    return Finding("search", Verdict.FAIL, "pgvector is not switched on", advice)


def _terms(database: "Database") -> Finding:
    from ricordo.indexing.reindexing import outdated

    count = outdated(database)
    if not count:
        return Finding("terms", Verdict.OK, "search knows the words of everything")
    message = f"search does not know the words of {count} memories and turns, or not as they are"
    return Finding("terms", Verdict.WARN, message, "ricordo reindex")


def _vectors(database: "Database") -> Finding:
    import sqlalchemy as sa

    from ricordo.model.vocabulary import VectorState
    from ricordo.storage.search_index import INDEXED

    counts = dict.fromkeys(VectorState, 0)
    with database.read_all() as reading:
        for kind in INDEXED:
            state = kind.index.c.state
            found = sa.select(state, sa.func.count()).group_by(state)
            for name, count in reading.connection.execute(found):
                counts[VectorState(name)] += count
    message = ", ".join(f"{state} {count}" for state, count in counts.items())
    if counts[VectorState.ERROR]:
        advice = "ricordo embeddings status -u USER says why; ricordo embeddings backfill"
        return Finding("vectors", Verdict.WARN, message, advice)
    waiting = "ricordo jobs run makes what is pending" if counts[VectorState.PENDING] else None
    return Finding("vectors", Verdict.OK, message, waiting)


def _isolation(database: "Database") -> Finding:
    """Whether the database keeps users apart. Not a fault: the owner's role may do all."""
    with database.our_errors():
        problem = database.backend.confinement_problem()
    if problem is None:
        message = "row-level security keeps the users apart for this role"
        return Finding("isolation", Verdict.OK, message)
    message = f"the database does not keep the users apart for this role: {problem}"
    return Finding("isolation", Verdict.OK, message, "to serve, see: ricordo database grant")


def _integrity(database: "Database") -> Finding:
    with database.our_errors():
        problems = database.backend.check()
    if not problems:
        return Finding("integrity", Verdict.OK, "the database finds no damage")
    return Finding("integrity", Verdict.FAIL, "; ".join(problems), "restore a backup")


def _consistency(database: "Database") -> Finding:
    from ricordo.storage.consistency import find_inconsistencies

    with database.read_all() as reading:
        problems = find_inconsistencies(reading.connection)
    if not problems:
        return Finding("consistency", Verdict.OK, "memories and history agree")
    advice = "keep a copy of the database, and please report this"
    return Finding("consistency", Verdict.FAIL, "; ".join(problems), advice)


def _dead_jobs(database: "Database") -> Finding:
    from ricordo.model.vocabulary import JobState
    from ricordo.storage.job_lists import list_jobs

    with database.read_all() as reading:
        dead = list_jobs(reading.connection, JobState.DEAD, None, limits.MAX_PAGE_ITEMS)
    if not dead:
        return Finding("jobs", Verdict.OK, "none is dead")
    advice = "ricordo jobs --state dead shows why; ricordo jobs retry ID tries again"
    return Finding("jobs", Verdict.WARN, f"dead: {len(dead)}", advice)
