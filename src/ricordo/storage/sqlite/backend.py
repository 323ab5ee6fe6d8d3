"""One SQLite file: write-ahead log, one writer at a time, many readers."""

import contextlib
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.errors import (
    DatabaseKeyMismatch,
    StorageBusy,
    StorageClosed,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
)
from ricordo.storage.backend import SearchIndex, ids_within_reach
from ricordo.storage.sql import driver_of, stored_json
from ricordo.storage.sqlite.connection import ConnectionPlan, Turns, connect
from ricordo.storage.sqlite.search import SqliteSearch
from ricordo.storage.tables import ID_SERIES, INDEXED

_PATIENCE_SECONDS: Final = 2.0  # for a program that is just about to end
_RETRY_SECONDS: Final = 0.02
_DAMAGED: Final = "the database file is damaged; restore a backup"

_ERRORS: Final[dict[int, tuple[type[StorageError], str]]] = {
    sqlite3.SQLITE_BUSY: (StorageBusy, "the database is locked by another process; try again"),
    sqlite3.SQLITE_LOCKED: (StorageBusy, "the database is locked by another connection; try again"),
    sqlite3.SQLITE_FULL: (StorageFull, "the disk is full; free some space and try again"),
    sqlite3.SQLITE_IOERR: (
        StorageUnavailable,
        "the disk failed to read or write; look for a quota, a limit or a failing device",
    ),
    # Opening the log's index failed, most likely for lack of space.
    sqlite3.SQLITE_IOERR_SHMSIZE: (StorageFull, "the disk is full; free some space and try again"),
    sqlite3.SQLITE_READONLY: (
        StorageReadOnly,
        "the database may not be written; check permissions",
    ),
    sqlite3.SQLITE_CANTOPEN: (StorageUnavailable, "the database file cannot be opened"),
    sqlite3.SQLITE_CORRUPT: (StorageCorrupt, _DAMAGED),
    sqlite3.SQLITE_NOTADB: (StorageCorrupt, "the file is not a SQLite database"),
}
_PRIMARY_CODE: Final = 0xFF
_UNFORESEEN: Final[tuple[type[StorageError], str]] = (StorageError, "the database refused")
# The driver's own error, without a code; it quotes the text.
_NO_TEXT: Final = "Could not decode to UTF-8"
_SCRUB_PATIENCE_MS: Final = 500

# Without statistics SQLite assumes about ten memories per user, and scans them rather than use a
# more selective index. Measured statistics would differ from user to user, so typical ones are
# stored once: plans are the same on an empty and a full store.

_ROWS: Final = 1_000_000
_PER_USER: Final = 10_000

TYPICAL: Final[dict[tuple[str, str], tuple[int, ...]]] = {
    # (table, index): rows, then rows that share the first column, the first two, …
    ("users", "users"): (100, 1),
    ("themes", "themes"): (10_000, 100, 1),
    ("items", "items"): (_ROWS, _PER_USER, 1),
    ("items", "ix_items_created"): (_ROWS, _PER_USER, 2, 1),
    ("items", "ix_items_updated"): (_ROWS, _PER_USER, 2, 1),
    ("items", "ix_items_active"): (_ROWS, _PER_USER, _PER_USER // 10, 2, 1, 1, 1),
    ("items", "uq_items_text"): (_ROWS, _PER_USER, _PER_USER // 10, 1, 1, 1),
    ("items", "uq_items_key"): (_ROWS // 10, _PER_USER // 10, 2, 1, 1),
    ("items", "ix_items_expires"): (_ROWS // 100, _PER_USER // 100, 2),
    ("items", "ix_items_importance"): (_ROWS // 10, _PER_USER // 10, 300, 1),
    ("items", "ix_items_confidence"): (_ROWS // 2, _PER_USER // 2, 1_000, 1),
    ("items", "ix_items_access_count"): (_ROWS // 10, _PER_USER // 10, 100, 1),
    ("items", "ix_items_last_accessed_at"): (_ROWS // 10, _PER_USER // 10, 2, 1),
    ("items", "ix_items_purge"): (_ROWS // 100, _PER_USER // 100, 2),
    ("items", "ix_items_rated"): (_ROWS // 100, _PER_USER // 100, 20, 1),
    ("items", "ix_items_project"): (_ROWS // 10, _PER_USER // 10, 100, 2, 1),
    ("items", "ix_items_thread"): (_ROWS // 2, _PER_USER // 2, 50, 2, 1),
    ("history", "history"): (_ROWS, _PER_USER, 1),
    ("history", "ix_history_item"): (_ROWS, _PER_USER, 2, 1),
    ("history", "ix_history_new_ref"): (_ROWS // 10, _PER_USER // 10, 2, 1),
    ("history", "ix_history_old_ref"): (_ROWS // 10, _PER_USER // 10, 2, 1),
    ("links", "links"): (10_000, 10, 1),
    ("links", "ix_links_owner"): (10_000, 10, 2),
    ("threads", "threads"): (10_000, 100, 1),
    ("threads", "ix_threads_updated"): (10_000, 100, 2, 1),
    ("threads", "ix_threads_project"): (1_000, 10, 5, 2, 1),
    ("turns", "uq_turns_position"): (_ROWS, _PER_USER, 100, 1),
    ("turns", "uq_turns_message"): (_ROWS, _PER_USER, 100, 1),
    ("turns", "ix_turns_unnamed"): (_ROWS // 2, _PER_USER // 2, 100, 1),
    ("turn_pieces", "turn_pieces"): (_ROWS // 100, _PER_USER // 100, 1),
    ("turn_pieces", "ix_turn_pieces_turn"): (_ROWS // 100, _PER_USER // 100, 10),
    ("item_index", "sqlite_autoindex_item_index_1"): (_ROWS, _PER_USER, 1),
    ("item_index", "ix_item_index_stamp"): (_ROWS, _PER_USER, 2),
    ("item_index", "ix_item_index_text"): (_ROWS, _PER_USER, 1),
    ("item_index", "ix_item_index_made"): (_ROWS, *[_PER_USER] * 5),
    ("item_index", "ix_item_index_pending"): (_ROWS // 100, _PER_USER // 100, 1),
    ("turn_index", "sqlite_autoindex_turn_index_1"): (_ROWS, _PER_USER, 1),
    ("turn_index", "ix_turn_index_stamp"): (_ROWS, _PER_USER, 2),
    ("turn_index", "ix_turn_index_text"): (_ROWS, _PER_USER, 1),
    ("turn_index", "ix_turn_index_made"): (_ROWS, *[_PER_USER] * 5),
    ("turn_index", "ix_turn_index_pending"): (_ROWS // 100, _PER_USER // 100, 1),
    ("relations", "relations"): (_ROWS, _PER_USER, 3, 1),
    ("relations", "ix_relations_high"): (_ROWS, _PER_USER, 3, 1),
}

# Closing any descriptor of a file drops all POSIX locks of the process on it. Each driver's SQLite
# guards against this, but two drivers do not know of each other.

_open: Final["weakref.WeakSet[SqliteBackend]"] = weakref.WeakSet()


def is_open_here(path: Path) -> bool:
    return any(_same(one.path, path) for one in list(_open) if not one.is_closed)


def _refuse_two_drivers(plan: "ConnectionPlan") -> None:
    """Ensure that a file is open with one driver only. Raises DatabaseKeyMismatch: this process has
    it open with a key, and this is without, or reversed."""
    for one in list(_open):
        differs = one.is_encrypted != (plan.key is not None)
        if differs and not one.is_closed and _same(one.path, plan.path):
            here = "with a key" if one.is_encrypted else "without a key"
            raise DatabaseKeyMismatch(f"{plan.path}: this process has it open {here}")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _text_index_damage(connection: sa.Connection) -> list[str]:
    """One line per text index that is damaged or lacks terms."""
    repair = "rebuild it with: ricordo reindex --all"
    problems = []
    for kind in INDEXED:
        try:
            # Reads every page of the index.
            vocabulary = sa.table(f"{kind.name}_vocabulary", sa.column("doc"))
            indexed = connection.execute(sa.select(sa.func.sum(vocabulary.c.doc))).scalar_one() or 0
        except sa.exc.DatabaseError as error:
            problem = getattr(error, "orig", None) or error
            problems.append(f"the text index of {kind.name}s is damaged ({problem}); {repair}")
            continue
        rows = connection.execute(sa.select(kind.index.c.terms)).scalars()
        expected = sum(len(set(terms.split())) for terms in rows)
        if indexed != expected:
            problems.append(
                f"the text index of {kind.name}s has {indexed} entries instead of {expected};"
                f" {repair}"
            )
    return problems


def write_copy(driver: Any, path: Path) -> None:
    """Write a snapshot of the database to an existing empty file.

    Readers and writers go on. The copy of an encrypted file has the same key.
    """
    driver.execute("VACUUM INTO ?", (str(path),))


def _lock_out_others(driver: Any, is_busy: Callable[[Exception], bool]) -> bool:
    """Lock out all other connections while this one is open; False where there are any.

    Without WAL one connection at a time can use a file, and SQLite refuses to leave WAL mode while
    another connection, even an idle one, is open.
    """
    driver.execute("PRAGMA locking_mode = EXCLUSIVE")  # a lock that was taken stays
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            driver.execute("PRAGMA journal_mode = DELETE")
            driver.execute("BEGIN EXCLUSIVE")
            driver.execute("COMMIT")
            return True
        except Exception as error:
            if not is_busy(error):
                raise
            if time.monotonic() > deadline:
                return False
        time.sleep(_RETRY_SECONDS)


class SqliteBackend:
    """The store in one file. Safe across threads and processes, and after a fork.

    The driver is in autocommit mode and transactions are explicit: writers use ``BEGIN IMMEDIATE``,
    because a transaction that reads first fails when another process writes before it does.
    """

    name = "sqlite"
    overwrites_freed_space = True

    def __init__(self, plan: ConnectionPlan, reader_count: int) -> None:
        self._plan = plan
        self._driver_module = plan.driver()
        self._reader_count = reader_count
        self.search: SearchIndex = SqliteSearch()
        self._closed = False
        _refuse_two_drivers(plan)
        self._set_up()
        _open.add(self)
        fork_safety.reset_in_child(self)
        fork_safety.pause_at_fork(self)

    def _set_up(self) -> None:
        self._turns = Turns(
            self.location, self._plan.busy_timeout_seconds, self._writing_driver, self.explain
        )
        self._is_paused = False
        self._readers = self._engine(self._reader_count)
        self._writers = self._engine(1)
        self._writer: sa.Connection | None = None

    def _engine(self, size: int) -> sa.Engine:
        return sa.create_engine(
            "sqlite://",
            creator=lambda: connect(self._plan),
            module=self._driver_module,
            poolclass=sa.pool.QueuePool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=self._plan.busy_timeout_seconds,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,  # of an error or a log line: they are what people said
            json_deserializer=stored_json,
        )

    def reset_after_fork(self) -> Any:
        """Start afresh in a child process, without touching the parent's connections."""
        inherited = (self._readers, self._writers, self._writer)
        self._set_up()
        return inherited

    def pause_for_fork(self) -> None:
        """Wait for open transactions before a fork.

        SQLite's locks belong to a process: a child that inherits an open transaction would consider
        the file locked for ever. A thread that forks inside its own transaction is not stopped.
        """
        if not self._turns.is_mine:
            with contextlib.suppress(StorageBusy):
                self._turns.take()
                self._is_paused = True

    def resume_after_fork(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._turns.give()

    @property
    def path(self) -> Path:
        return self._plan.path

    @property
    def is_encrypted(self) -> bool:
        return self._plan.key is not None

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def location(self) -> str:
        return str(self._plan.path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        self._check_open()
        with self._readers.connect() as connection, _transaction(connection, "BEGIN"):
            yield connection

    @contextlib.contextmanager
    def writing(self, *, shared: bool = False) -> Iterator[sa.Connection]:
        if shared:
            with self._turns.sharing():
                yield self._writing_connection()
        else:
            with self._exclusive() as connection, _transaction(connection, "BEGIN IMMEDIATE"):
                yield connection

    def act_for(self, connection: sa.Connection, users: Collection[str]) -> None:
        pass  # a file has no users

    def act_for_all(self, connection: sa.Connection, acting: bool = True) -> None:
        pass  # see act_for

    def migrating(self) -> contextlib.AbstractContextManager[sa.Connection]:
        return self.writing()

    def secure(self, connection: sa.Connection) -> None:
        pass  # see act_for

    def owner_elsewhere(self, connection: sa.Connection) -> None:  # noqa: ARG002
        return None

    def confinement_problem(self) -> None:
        return None

    def prepare_planner(self, connection: sa.Connection) -> None:
        """Write the typical figures in place of those of ``ANALYZE``."""
        driver = driver_of(connection)
        driver.execute("ANALYZE sqlite_schema")  # makes the table of statistics
        driver.execute("DELETE FROM sqlite_stat1")
        driver.executemany(
            "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
            [
                (table, index, " ".join(map(str, counts)))
                for (table, index), counts in TYPICAL.items()
            ],
        )
        driver.execute("ANALYZE sqlite_schema")  # makes this connection read them

    def take_ids(self, connection: sa.Connection, series: str, count: int) -> list[int]:
        row = driver_of(connection).execute(
            "UPDATE store SET number = number + ? WHERE name = ? RETURNING number", (count, series)
        )
        last: int = row.fetchone()[0]
        return list(range(last - count + 1, last + 1))

    def keep_ids(self, series: str, ids: Iterable[int]) -> None:
        with self.writing() as connection:
            driver = driver_of(connection)
            found = driver.execute("SELECT number FROM store WHERE name = ?", (series,))
            (present,) = found.fetchone()
            kept = max(ids_within_reach(ids, present), default=present)
            driver.execute(
                "UPDATE store SET number = max(number, ?) WHERE name = ?", (kept, series)
            )

    def ids_given(self, connection: sa.Connection) -> dict[str, int]:
        rows = driver_of(connection).execute("SELECT name, number FROM store")
        return {name: number for name, number in rows if name in ID_SERIES}

    def go_on_after(self, connection: sa.Connection, given: Mapping[str, int]) -> None:
        driver_of(connection).executemany(
            "UPDATE store SET number = max(number, ?) WHERE name = ?",
            [(number, series) for series, number in given.items()],
        )

    def hides_rows(self, connection: sa.Connection) -> bool:  # noqa: ARG002
        return False  # see act_for

    def claim_tables(self, connection: sa.Connection) -> None:
        pass  # a writer has the file, and take_over checks for others

    def one_import_at_a_time(self, connection: sa.Connection) -> None:
        pass  # there is one writer at a time

    def write_copy(self, path: Path) -> None:
        """Write a snapshot of the database to an existing empty file."""
        self._check_open()
        with self._readers.connect() as connection:
            write_copy(driver_of(connection), path)

    def take_over(self, other: "SqliteBackend") -> None:
        """Replace the contents by those of another file, in one transaction. Raises StorageBusy:
        another program, or another part of this one, has the file open."""
        with self._only_connection() as driver, other._exclusive() as source:
            driver_of(source).backup(driver)

    def require_alone(self) -> None:
        """Ensure that nobody else has the file open. Raises StorageBusy: somebody has, even if they
        do nothing at the moment."""
        with self._only_connection():
            pass

    @contextlib.contextmanager
    def _only_connection(self) -> Iterator[Any]:
        """The only connection to the file, in this process or any."""
        with self._exclusive() as writer:
            writer.close()
            self._writer = None
            self._readers.dispose()
            self._writers.dispose()
            with contextlib.closing(connect(self._plan)) as driver:
                if not _lock_out_others(driver, self._is_busy):
                    raise StorageBusy(
                        f"{self.location}: other programs have the database open; stop the service,"
                        " its workers and whatever else uses it, then try again"
                    )
                yield driver

    def _is_busy(self, error: Exception) -> bool:
        return isinstance(self.explain(error), StorageBusy)

    def scrub(self) -> bool:
        # VACUUM rewrites the file without its free pages; the old pages are then only in the log,
        # which can be truncated once no reader needs it.
        try:
            with self._exclusive() as connection:
                driver = driver_of(connection)
                driver.execute("VACUUM")
                # A short timeout, so that a long reader does not block all writers.
                driver.execute(f"PRAGMA busy_timeout = {_SCRUB_PATIENCE_MS}")
                try:
                    blocked, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    usual = int(self._plan.busy_timeout_seconds * 1000)
                    driver.execute(f"PRAGMA busy_timeout = {usual}")
        except self._driver_module.OperationalError as error:
            if self._is_busy(error):
                return False
            raise
        return not blocked

    def check(self) -> list[str]:
        try:
            with self.reading() as connection:
                rows = driver_of(connection).execute("PRAGMA integrity_check(20)").fetchall()
                found = [row[0] for row in rows if row[0] != "ok"]
                return found or _text_index_damage(connection)
        except self._driver_module.DatabaseError as error:
            # Damage, above all of an encrypted page, can prevent the check from starting.
            if isinstance(self.explain(error), StorageCorrupt):
                return [str(error)]
            raise

    def size_bytes(self, connection: sa.Connection) -> int:
        sizes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        return int(driver_of(connection).execute(sizes).fetchone()[0])

    def explain(self, error: Exception) -> StorageError | None:
        if isinstance(error, sa.exc.TimeoutError):
            return StorageBusy("every reader is in use; try again")
        original = getattr(error, "orig", None) or error
        code = getattr(original, "sqlite_errorcode", None)
        if isinstance(original, UnicodeDecodeError):  # SQLite quotes the damage, the driver fails
            return StorageCorrupt(f"{self.location}: {_DAMAGED}")
        if not isinstance(original, self._driver_module.Error):
            return None
        if code is None and str(original).startswith(_NO_TEXT):
            return StorageCorrupt(f"{self.location}: {_DAMAGED} (a text is not UTF-8)")
        code = code or 0
        file = self._plan.path
        cannot_open = code & _PRIMARY_CODE == sqlite3.SQLITE_CANTOPEN
        if cannot_open and file.is_file() and not os.access(file.parent, os.W_OK):
            return StorageReadOnly(
                f"{self.location}: the folder may not be written, and SQLite keeps its log in it;"
                f" make it writable, or copy the file elsewhere ({original})"
            )
        kind, advice = _ERRORS.get(code) or _ERRORS.get(code & _PRIMARY_CODE, _UNFORESEEN)
        return kind(f"{self.location}: {advice} ({original})")

    def is_retryable(self, error: Exception) -> bool:  # noqa: ARG002
        return False  # BEGIN IMMEDIATE puts writers in a row; there is nothing to lose against

    def connections_in_use(self) -> int:
        assert isinstance(self._readers.pool, sa.pool.QueuePool)
        return self._readers.pool.checkedout() + self._turns.is_taken

    def close(self) -> None:
        self._closed = True
        with self._turns.alone(however_long=True):
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self._readers.dispose()
        self._writers.dispose()

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[sa.Connection]:
        with self._turns.alone():
            yield self._writing_connection()

    def _writing_connection(self) -> sa.Connection:
        self._check_open()
        if self._writer is None:
            self._writer = self._writers.connect()
        return self._writer

    def _writing_driver(self) -> Any:
        return driver_of(self._writing_connection())

    def _check_open(self) -> None:
        if self._closed:
            raise StorageClosed(f"{self.location}: this Memory was closed")


@contextlib.contextmanager
def _transaction(connection: sa.Connection, begin: str) -> Iterator[None]:
    driver = driver_of(connection)
    driver.execute(begin)
    try:
        yield
        driver.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself on some errors, such as a full disk.
        if driver.in_transaction:
            driver.execute("ROLLBACK")
        raise
