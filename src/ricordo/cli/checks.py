"""The checks of ``doctor``."""

import contextlib
import difflib
import os
import platform
import shlex
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ricordo.cli.errors import message_of
from ricordo.cli.store import Store, file_of
from ricordo.clock import system_clock
from ricordo.errors import RicordoError, StorageBusy, StorageError, StorageUnavailable
from ricordo.frozen import dataclass
from ricordo.model.record import Record
from ricordo.version import __version__

if TYPE_CHECKING:
    import sqlalchemy as sa

    from ricordo.memory import Memory
    from ricordo.model.embedding import VectorModel
    from ricordo.settings import Settings
    from ricordo.storage.database import Database

WHERE: Final = "check --db, --home and RICORDO_URL"
"""The usual advice where something cannot be checked."""

_TOLERANCE: Final = timedelta(seconds=5)
_SET_CLOCK: Final = "set the clock of this computer, e.g. timedatectl set-ntp true"
_GROUP_AND_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MEGABYTE: Final = 1024 * 1024
_TOO_LITTLE_BYTES: Final = 20 * _MEGABYTE
_LITTLE_BYTES: Final = 200 * _MEGABYTE
_LONG_LOG_BYTES: Final = 128 * _MEGABYTE
_COPIES: Final = 2
"""Erasing a user rewrites the file into a copy, which then goes through the WAL."""
_OLDEST_SQLITE: Final = (3, 35, 0)  # the first version with RETURNING
_YEARS: Final = range(2024, 2100)
_PREFIX: Final = "RICORDO_"
_OF_THE_COMMAND_LINE: Final = (
    "USER",
    "DEBUG",
    "API_KEY",
    "EMBEDDINGS_KEY",
    "ROLE_PASSWORD",
    "NEW_DATABASE_KEY",
)
_LIKENESS: Final = 0.75
_LONG_DUE: Final = timedelta(days=1)


class State(StrEnum):
    """The outcome of a check; only ``problem`` makes the whole unhealthy."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class CheckFinding(Record):
    """What one check found, and what to do when that is not as it should be."""

    check: str
    state: State
    found: str
    advice: str | None = None


def ok(check: str, found: str, advice: str | None = None) -> CheckFinding:
    return CheckFinding(check, State.OK, found, advice)


def warning(check: str, found: str, advice: str) -> CheckFinding:
    return CheckFinding(check, State.WARNING, found, advice)


def problem(check: str, found: str, advice: str) -> CheckFinding:
    return CheckFinding(check, State.PROBLEM, found, advice)


def advice_for(error: Exception) -> str:
    """Advice for a database that cannot be opened or read."""
    if isinstance(error, StorageBusy):
        return "close the other program, or wait and try again"
    if isinstance(error, StorageUnavailable):
        return f"if it is on a server, start that; {WHERE}"
    if isinstance(error, StorageError):
        return "restore a backup, or choose another with --db"
    return WHERE


def guarded(
    check: str, look: Callable[[], CheckFinding], advice: str | None = None
) -> Iterator[CheckFinding]:
    """The finding of a check; an exception in the check becomes a finding too."""
    try:
        yield look()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in one check, the others run
        yield failed(check, error, advice)


def failed(check: str, error: Exception, advice: str | None = None) -> CheckFinding:
    if isinstance(error, (RicordoError, OSError)):
        return problem(check, message_of(error), advice_for(error) if advice is None else advice)
    return problem(check, f"{type(error).__name__}: {message_of(error)}", "please report this")


def isolation(database: "Database") -> CheckFinding:
    """Whether row-level security separates users. Off for the owner's role, which is no fault."""
    with database.our_errors():
        trouble = database.backend.confinement_problem()
    if trouble is None:
        return ok("isolation", "row-level security keeps the users apart for this role")
    found = f"the database does not keep the users apart for this role: {trouble}"
    return ok("isolation", found, "to serve, see: ricordo database grant")


def encryption(database: "Database") -> CheckFinding:
    """Whether the file is encrypted, without leftovers of a conversion beside it."""
    from ricordo.storage.sqlite.backend import SqliteBackend
    from ricordo.storage.sqlite.rekey import left_behind

    backend = database.backend
    assert isinstance(backend, SqliteBackend)
    left = [path.name for path in left_behind(backend.path.resolve()) if path.exists()]
    if left:
        found = f"a conversion was interrupted, and left {' and '.join(left)}"
        advice = "convert again (ricordo database --help); that removes it"
        return warning("encryption", found, advice)
    if not backend.is_encrypted:
        return ok("encryption", "the file is not encrypted", "ricordo database encrypt does it")
    with database.read_all() as reading:
        version = reading.connection.exec_driver_sql("PRAGMA cipher_version").scalar_one()
    return ok("encryption", f"the file is encrypted (SQLCipher {version})")


def integrity(database: "Database") -> CheckFinding:
    with database.our_errors():
        problems = database.backend.check()
    if not problems:
        return ok("integrity", "the database finds no damage")
    advice = "restore a backup; what can still be read: ricordo export FILE --all-users"
    return problem("integrity", "; ".join(problems), advice)


def consistency(database: "Database") -> CheckFinding:
    """Whether memories and history agree."""
    from ricordo.storage.consistency import find_inconsistencies

    with database.read_all() as reading:
        problems = find_inconsistencies(reading.connection)
    if not problems:
        return ok("consistency", "memories and history agree")
    advice = "keep a copy of the database, and please report this"
    return problem("consistency", "; ".join(problems), advice)


def times(database: "Database") -> CheckFinding:
    """Whether this computer's clock agrees with stored times and with the server's."""
    import sqlalchemy as sa

    from ricordo.storage.sql import Moment
    from ricordo.storage.tables import history

    on_server = database.backend.name == "postgresql"
    with database.read_all() as reading:
        newest = reading.connection.execute(
            sa.select(sa.func.max(history.c.at, type_=Moment))
        ).scalar_one()
        here = database.clock()
        theirs = (
            reading.connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
            if on_server
            else here
        )
    apart = abs(theirs - here)
    if apart > _TOLERANCE:
        found = f"this computer and the database's server are {apart.total_seconds():.0f} s apart"
        return warning("times", found, "let both keep their time, e.g. timedatectl set-ntp true")
    if newest is not None and newest > here + _TOLERANCE:
        ahead = (newest - here).total_seconds()
        found = f"the latest entry of the history is {ahead:.0f} s ahead of this computer's clock"
        return warning("times", found, _SET_CLOCK)
    return ok("times", "nothing was written later than now")


def files(settings: "Settings", database: "Database") -> Iterator[CheckFinding]:
    """Check the home folder, the database file, its WAL, the disk and the policy file."""
    home = settings.home.expanduser()
    file = file_of(database)
    yield from guarded("home", lambda: _private("home", home, "700"))
    if file is not None:
        yield from guarded("file", lambda: _file(file))
        yield from guarded("log", lambda: _write_ahead_log(file))
    yield from guarded("disk", lambda: _free_space(file or home))
    if settings.policy_file is not None:
        path = settings.policy_file
        yield from guarded("policy", lambda: _policy(path), "correct RICORDO_POLICY_FILE")


def _file(file: Path) -> CheckFinding:
    if file.is_dir():
        return problem("file", f"{file} is a folder", f"{WHERE}: they must name a file")
    return _private("file", file, "600")


def _private(check: str, path: Path, mode: str) -> CheckFinding:
    if not path.exists():
        return ok(check, f"{path} is made when first needed")
    advice = f"chmod {mode} {shlex.quote(str(path))}"
    if not os.access(path, os.R_OK):
        return problem(check, f"{path} may not be read", advice)
    if not os.access(path, os.W_OK):
        return problem(check, f"{path} may not be written", advice)
    # On Windows the permission bits mean nothing.
    if os.name == "posix" and path.stat().st_mode & _GROUP_AND_OTHERS:
        return warning(check, f"{path} is open to other users of this computer", advice)
    return ok(check, str(path))


def _write_ahead_log(file: Path) -> CheckFinding:
    """Whether the write-ahead log is checkpointed regularly."""
    log = file.with_name(f"{file.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    shown = f"{size // _MEGABYTE} MB wait in the write-ahead log"
    if size < _LONG_LOG_BYTES:
        return ok("log", shown)
    advice = "end programs that keep the database open for reading; then: ricordo jobs run"
    return warning("log", f"{shown}: somebody keeps it from being emptied", advice)


def _free_space(path: Path) -> CheckFinding:
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    free = shutil.disk_usage(nearest).free
    needed = _COPIES * path.stat().st_size if path.is_file() else 0
    found = f"{free // _MEGABYTE} MB free at {nearest}"
    if free < _TOO_LITTLE_BYTES:
        return problem("disk", found, "free some space: nothing more can be stored soon")
    if free < needed:
        found += f"; erasing a user rewrites the file, which takes {needed // _MEGABYTE} MB"
        return warning("disk", found, f"free {(needed - free) // _MEGABYTE + 1} MB")
    if free < _LITTLE_BYTES:
        return warning("disk", found, "free some space soon")
    return ok("disk", found)


def _policy(path: Path) -> CheckFinding:
    from ricordo.access.policy_file import PolicyFile

    PolicyFile(path).current()
    return ok("policy", f"{path} is valid")


def version() -> CheckFinding:
    return ok("version", f"ricordo {__version__}")


def python() -> CheckFinding:
    return ok("python", platform.python_version())


def sqlite() -> CheckFinding:
    if sqlite3.sqlite_version_info >= _OLDEST_SQLITE:
        return ok("sqlite", sqlite3.sqlite_version)
    needed = ".".join(map(str, _OLDEST_SQLITE))
    return problem("sqlite", sqlite3.sqlite_version, f"use a Python with SQLite {needed} or newer")


def clock() -> CheckFinding:
    """Whether the clock is plausible; it is compared with stored times later."""
    now = system_clock()
    shown = now.isoformat(timespec="seconds")
    return ok("clock", shown) if now.year in _YEARS else problem("clock", shown, _SET_CLOCK)


def settings(environment: Mapping[str, str], given: Mapping[str, Any]) -> CheckFinding:
    """Whether all settings are valid and none is misspelt. Values are not shown. Raises
    InvalidInput: one is not valid."""
    from ricordo.settings import Settings
    from ricordo.wiring import read_settings

    read_settings(environment, given)
    names = {name.upper() for name in Settings.model_fields}
    present = sorted(name.removeprefix(_PREFIX) for name in environment if name.startswith(_PREFIX))
    meant: dict[str, str] = {}
    for name in present:
        if name not in names and name not in _OF_THE_COMMAND_LINE:
            near = difflib.get_close_matches(name, sorted(names), 1, _LIKENESS)
            meant |= {f"{_PREFIX}{name}": f"{_PREFIX}{near[0]}"} if near else {}
    if meant:
        wrong, right = ", ".join(meant), ", ".join(meant.values())
        those = "is set, but is no setting" if len(meant) == 1 else "are set, but are no settings"
        it = "it" if len(meant) == 1 else "them"
        return warning("settings", f"{wrong} {those}", f"call {it} {right}, or unset {it}")
    used = [f"{_PREFIX}{name}" for name in present if name in names]
    return ok("settings", f"set in the environment: {', '.join(used) or 'none'}")


class MadeVectors(NamedTuple):
    model: "VectorModel"
    width: int


@contextlib.contextmanager
def store_apart(store: Store) -> Iterator["Memory"]:
    """A temporary store with the same settings, so that the real one stays unchanged. Raises
    InvalidInput: a setting has a value that is not allowed; StorageError: temporary files cannot be
    created."""
    from ricordo.wiring import TEMPORARY, open_memory

    with open_memory(**{**store.settings(), "url": TEMPORARY, "run_jobs": False}) as memory:
        yield memory


def embedder(memory: "Memory") -> tuple[CheckFinding, MadeVectors | None]:
    from ricordo.index.embedders import model_of
    from ricordo.model.vocabulary import GLOBAL_OWNER
    from ricordo.providers.embedding_choice import test_embedder

    with memory.database.read(GLOBAL_OWNER) as view:
        chosen = memory.recall.embedders.chosen(view.connection, GLOBAL_OWNER)
    if chosen.embedder is None and chosen.problem is None:
        return ok("embedder", "none: search goes by words alone"), None
    if chosen.embedder is None:
        return _no_vectors(str(chosen.problem)), None
    tried = test_embedder(chosen.embedder)
    if not tried.ok or tried.dimensions is None:
        # The errors do not name the address, because users read them too.
        address = memory.settings.embedding_base_url or memory.settings.llamacpp_url
        named = tried.provider if address is None else f"{tried.provider} at {address}"
        return _no_vectors(f"{named}: {tried.problem}"), None
    made = MadeVectors(model_of(chosen.embedder), tried.dimensions)
    found = f"{tried.provider} {tried.model}: {tried.dimensions} wide, {tried.latency_ms:.0f} ms"
    return ok("embedder", found), made


def _no_vectors(trouble: str) -> CheckFinding:
    advice = "check RICORDO_EMBEDDING_…; until then search goes by words alone"
    return warning("embedder", trouble, advice)


def language_model(memory: "Memory") -> CheckFinding:
    """Whether the language model answers; without one there is nothing to check."""
    if memory.parts.formation.model is None:
        return ok("model", "none: rules read conversations")
    tried = memory.test_model()
    named = f"{tried.provider} {tried.model}"
    if not tried.ok:
        advice = "check RICORDO_MODEL_…; until then conversations wait to be formed"
        return warning("model", f"{named}: {tried.problem}", advice)
    return ok("model", f"{named}: {tried.structured_output}, {tried.latency_ms:.0f} ms")


def engine(database: "Database", schema: str | None) -> CheckFinding:
    """Whether the database supports search."""
    if database.backend.name == "sqlite":
        return _fts5()
    return _pgvector(database, schema)


def _fts5() -> CheckFinding:
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(terms)")
    except sqlite3.Error as error:
        advice = "use a Python whose SQLite has FTS5"
        return problem("search", f"SQLite has no FTS5 ({error})", advice)
    return ok("search", "SQLite has FTS5")


def _pgvector(database: "Database", schema: str | None) -> CheckFinding:
    wanted = "SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'"
    with database.read_all() as reading:
        row = reading.connection.exec_driver_sql(wanted).one_or_none()
    if row is None:
        advice = "install pgvector on the database server"
        return problem("search", "the server has no pgvector", advice)
    if row[0] is not None:
        return ok("search", f"pgvector {row[0]}")
    if schema is None:
        return ok("search", "pgvector is switched on when first needed")
    advice = "as its owner, in that database: CREATE EXTENSION vector"
    return problem("search", "pgvector is not switched on", advice)


def terms(database: "Database") -> CheckFinding:
    """Whether all search terms exist and were made by the current analyser."""
    from ricordo.index.rebuild import outdated

    count = outdated(database)
    if not count:
        return ok("terms", f"search knows the words of everything ({_analyser(database)})")
    found = (
        f"search does not know the words of {count} memories and turns, or not as"
        f" {_analyser(database)} makes them"
    )
    return warning("terms", found, "ricordo reindex")


def _analyser(database: "Database") -> str:
    return f"analyser {database.analyser.fingerprint}"


def vectors(database: "Database") -> CheckFinding:
    import sqlalchemy as sa

    from ricordo.model.vocabulary import VectorState
    from ricordo.storage.tables import INDEXED

    counts = dict.fromkeys(VectorState, 0)
    with database.read_all() as reading:
        for kind in INDEXED:
            state = kind.index.c.state
            found = sa.select(state, sa.func.count()).group_by(state)
            for name, count in reading.connection.execute(found):
                counts[VectorState(name)] += count
    message = ", ".join(f"{state} {count}" for state, count in counts.items())
    if counts[VectorState.ERROR]:
        advice = "ricordo embeddings status -u USER says why; ricordo embeddings backfill -u USER"
        return warning("vectors", message, advice)
    waiting = "ricordo jobs run makes what is pending" if counts[VectorState.PENDING] else None
    return ok("vectors", message, waiting)


def fingerprints(database: "Database", settings: "Settings", made: "MadeVectors") -> CheckFinding:
    """Whether stored vectors match the current model and its width."""
    import sqlalchemy as sa

    from ricordo.model.vocabulary import VectorState
    from ricordo.storage.tables import INDEXED

    of_others = wrong_width = 0
    with database.read_all() as reading:
        for kind in INDEXED:
            index = kind.index.c
            same = sa.and_(index.provider == made.model.provider, index.model == made.model.model)
            ready = sa.and_(
                index.state == VectorState.READY.value, _without_own_choice(index, settings)
            )
            of_others += _count(reading.connection, kind.index, sa.and_(ready, sa.not_(same)))
            narrow = sa.and_(ready, same, index.dimensions != made.width)
            wrong_width += _count(reading.connection, kind.index, narrow)
    named = f"{made.model.provider} {made.model.model}"
    if wrong_width:
        found = f"{wrong_width} vectors of {named} are not {made.width} wide, as it makes them now"
        return problem("fingerprints", found, "ricordo embeddings rebuild -u USER")
    if of_others:
        found = f"{of_others} vectors are of another model than {named}, and not used"
        return warning("fingerprints", found, "ricordo embeddings backfill -u USER")
    return ok("fingerprints", f"all vectors are of {named}, {made.width} wide")


def _count(connection: "sa.Connection", table: "sa.Table", where: "sa.ColumnElement[bool]") -> int:
    import sqlalchemy as sa

    counted = sa.select(sa.func.count()).select_from(table).where(where)
    return int(connection.execute(counted).scalar_one())


def _without_own_choice(
    index: "sa.ColumnCollection[str, sa.Column[object]]", settings: "Settings"
) -> "sa.ColumnElement[bool]":
    """Restricts to users without an embedder of their own."""
    import sqlalchemy as sa

    from ricordo.storage.tables import embedding_settings

    if settings.embedding_provider is not None:
        return sa.true()
    return index.user_id.not_in(sa.select(embedding_settings.c.user_id))


def jobs(database: "Database") -> CheckFinding:
    """Whether jobs run: none is dead, none waits for a missing worker."""
    from ricordo.model.vocabulary import JobState
    from ricordo.storage.jobs import count_jobs, due_jobs

    with database.read_all() as reading:
        counted = count_jobs(reading.connection)
        due = due_jobs(reading.connection, reading.now)
        late = sum(count for count, since in due.values() if since < reading.now - _LONG_DUE)
    dead = sum(count for _, state, count in counted if state is JobState.DEAD)
    waiting = sum(count for _, state, count in counted if state is JobState.QUEUED)
    if dead:
        advice = "ricordo jobs --state dead shows why; ricordo jobs retry ID tries again"
        return warning("jobs", f"dead: {dead}, waiting: {waiting}", advice)
    if late:
        found = f"due for more than a day: {late}; nobody runs them"
        return warning("jobs", found, "ricordo jobs run, or leave running: ricordo worker")
    return ok("jobs", f"none is dead, {waiting} wait for their time")


def abandoned(database: "Database") -> CheckFinding:
    """Whether a worker died at work without another taking over."""
    import sqlalchemy as sa

    from ricordo.model.vocabulary import JobState
    from ricordo.storage.tables import jobs as table

    with database.read_all() as reading:
        stuck = sa.and_(table.c.state == JobState.RUNNING.value, table.c.lease_until < reading.now)
        counted = sa.select(sa.func.count()).select_from(table).where(stuck)
        count = reading.connection.execute(counted).scalar_one()
    if not count:
        return ok("workers", "no job was left in the middle")
    found = f"left in the middle by a worker that ended: {count}"
    return warning("workers", found, "ricordo jobs run, or leave running: ricordo worker")


def webhooks(database: "Database") -> CheckFinding:
    """Whether webhooks deliver."""
    from ricordo.storage.webhooks import count_webhooks

    with database.read_all() as reading:
        counted = count_webhooks(reading.connection)
    if not (counted.paused or counted.failing):
        return ok("webhooks", f"active: {counted.active}, none fails")
    found = f"active: {counted.active}, failing: {counted.failing}, paused: {counted.paused}"
    return warning("webhooks", found, "ricordo webhooks --all-users shows why")


def broker(url: str) -> CheckFinding:
    """Whether the broker answers and has workers. Raises InvalidValue."""
    from ricordo.jobs.broker import checked_url
    from ricordo.workers.configuration import look_at

    found = look_at(checked_url(url))
    if not found.reachable:
        advice = "start it, or correct RICORDO_BROKER_URL; until then jobs wait"
        return problem("broker", f"{found.broker}: {found.problem}", advice)
    waiting = sum(found.queues.values())
    if not found.workers:
        shown = f"{found.broker} answers, but no worker does; {waiting} messages wait"
        return warning("broker", shown, "ricordo celery worker --beat")
    return ok("broker", f"{found.broker}: {len(found.workers)} workers, {waiting} messages wait")


def service(settings: "Settings", database: "Database") -> CheckFinding:
    """Whether `ricordo serve` requires keys where other machines can reach it."""
    from ricordo.http.addresses import is_loopback
    from ricordo.storage.access import StoredKeys

    address = f"{settings.host}:{settings.port}"
    if is_loopback(settings.host):
        needed = "with keys" if settings.require_keys else "no keys needed"
        return ok("service", f"would listen at {address}, {needed}")
    if settings.require_keys is False:
        advice = "unset RICORDO_REQUIRE_KEYS, or set RICORDO_HOST to 127.0.0.1"
        return problem("service", f"would let anybody in at {address}", advice)
    if not StoredKeys(database).has_live(database.clock()):
        advice = "ricordo keys create admin --permission read_all --permission manage"
        return warning("service", f"there is no key yet for {address}", advice)
    return ok("service", f"would listen at {address}, with keys")


def mirror(settings: "Settings") -> CheckFinding:
    """Whether the mirror files can be read and written."""
    from ricordo.files.mirror import MirrorState
    from ricordo.wiring import files_folder

    folder = files_folder(settings)
    if folder is None:
        return ok("mirror", "there is no folder for files")
    mirrored = list(folder.mirrored())
    troubled = [
        files
        for files in mirrored
        if (seen := MirrorState.load(files.seen)) is not None and seen.problems
    ]
    if troubled:
        first = troubled[0]
        found = f"{first.memory_file} and {len(troubled) - 1} more have lines that were not taken"
        if len(troubled) == 1:
            found = f"{first.memory_file} has lines that were not taken"
        whose = shlex.quote(first.user_id)
        return warning("mirror", found, f"ricordo mirror status -u {whose} shows which")
    return ok("mirror", f"{len(mirrored)} mirrored in {folder.top}")
