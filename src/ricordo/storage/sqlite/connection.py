"""Connections to a SQLite file, plain or encrypted with SQLCipher, and the turns of its writers."""

import contextlib
import functools
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final, NoReturn

from ricordo.errors import (
    DatabaseKeyMismatch,
    InvalidValue,
    StorageBusy,
    StorageError,
    StorageUnavailable,
    needs_extra,
)
from ricordo.frozen import dataclass

# The key is derived from the passphrase and the salt at the start of the file like SQLCipher's own
# (PBKDF2-HMAC-SHA512), so that other tools open the file with the same passphrase. It is derived
# here once, because SQLCipher would do it for every connection, which takes a fraction of a second.

PLAIN_START: Final = b"SQLite format 3\0"
_ROUNDS: Final = 256_000
_KEY_BYTES: Final = 32
_PAGE_BYTES: Final = 4_096
_MANY_VALUES: Final = 240  # of 256: what a page of noise has, and no page of a plain file
_ANY_KEY: Final = "x'" + "00" * _KEY_BYTES + "'"
_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_RETRY_SECONDS: Final = 0.01
_CHECKPOINT_PAGES: Final = 4_000  # 16 MB of log between checkpoints, each of which delays a write


def encrypting_driver() -> Any:
    """SQLCipher's driver, compatible with the standard library's. Raises StorageUnavailable: it is
    not installed."""
    try:
        from sqlcipher3 import dbapi2
    except ImportError:
        raise StorageUnavailable(needs_extra("an encrypted database", "encrypted")) from None
    return dbapi2


class DatabaseKey:
    """The passphrase of a file; never shown."""

    def __init__(self, passphrase: str) -> None:
        """Keep a passphrase. Raises InvalidValue: it is empty, or cannot be encoded as UTF-8."""
        if not passphrase:
            raise InvalidValue("setting database_key", "must not be empty")
        try:
            self._passphrase = passphrase.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidValue("setting database_key", "is not valid text") from None

    def __repr__(self) -> str:
        return "DatabaseKey(***)"

    def specification(self, salt: bytes) -> str:
        """The raw key and salt for SQLCipher, in hexadecimal."""
        return f"x'{_derived(self._passphrase, salt).hex()}{salt.hex()}'"

    def specification_for(self, path: Path) -> str:
        """The key that opens a file, or that will encrypt an empty one. Raises DatabaseKeyMismatch:
        the file is not encrypted."""
        salt = salt_of(path)
        if salt == PLAIN_START:
            raise DatabaseKeyMismatch(
                f"{path}: the database is not encrypted, but a key is set: unset"
                " RICORDO_DATABASE_KEY, or run ricordo database encrypt"
            )
        return self.specification(salt)


@functools.lru_cache(maxsize=16)
def _derived(passphrase: bytes, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha512", passphrase, salt, _ROUNDS, _KEY_BYTES)


def unlock(connection: Any, specification: str) -> None:
    """Set the key of a connection, before anything else."""
    connection.execute("PRAGMA cipher_log_level = NONE")  # standard error is not its place
    connection.execute(f'PRAGMA key = "{specification}"')


def salt_of(path: Path) -> bytes:
    """The first bytes of a file, or random ones where it is empty.

    Read by SQLite itself: opening and closing the file in this process would drop SQLite's locks on
    it.
    """
    with contextlib.closing(encrypting_driver().connect(path)) as connection:
        unlock(connection, _ANY_KEY)
        (salt,) = connection.execute("PRAGMA cipher_salt").fetchone()
    return bytes.fromhex(salt)


def looks_encrypted(path: Path) -> bool:
    """True for whole pages without SQLite's header; only for a file that cannot be opened."""
    try:
        with path.open("rb") as file:
            start = file.read(_PAGE_BYTES)
        whole_pages = path.stat().st_size % _PAGE_BYTES == 0
    except OSError:
        return False
    return whole_pages and len(set(start)) >= _MANY_VALUES


class Use(Enum):
    STORE = "a store: many programs may read and write it at once"
    DRAFT = "a new file that nobody else opens; its creator makes it durable"
    READ = "a file that must not be changed, not even by being opened"


@dataclass(frozen=True, slots=True)
class ConnectionPlan:
    """Path, durability and key of a file.

    ``synchronous`` FULL survives a power cut after every acknowledged write; NORMAL survives a
    crash of the process, and may lose the last writes when the machine loses power.
    """

    path: Path
    synchronous: str
    busy_timeout_seconds: float
    key: DatabaseKey | None = None
    use: Use = Use.STORE

    def driver(self) -> Any:
        """The driver module for this file. Raises StorageUnavailable: there is a key, but what
        encrypts is not installed."""
        return sqlite3 if self.key is None else encrypting_driver()


def connect(plan: ConnectionPlan) -> Any:
    """A connection in autocommit mode, for one thread at a time. Raises DatabaseKeyMismatch: the
    file is encrypted with another key, or is and should not be; StorageUnavailable: the folder or
    file cannot be made."""
    if plan.use is not Use.READ:
        make_private_file(plan.path)
    specification = None if plan.key is None else plan.key.specification_for(plan.path)
    try:
        return _opened(plan, specification)
    except plan.driver().DatabaseError as error:
        if not is_no_database(error):
            raise
        if plan.key is None and looks_encrypted(plan.path):
            raise DatabaseKeyMismatch(
                f"{plan.path}: the database is encrypted, and no key is set: set"
                " RICORDO_DATABASE_KEY"
            ) from None
        if plan.key is None:
            raise
        # Another process may have created the file meanwhile, with its own salt.
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
    """True where a driver rejected the header of a file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB


def _opened(plan: ConnectionPlan, specification: str | None) -> Any:
    is_read = plan.use is Use.READ
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
        if plan.use is Use.STORE:
            _switch_to_wal(connection, plan)
            connection.execute(f"PRAGMA synchronous = {plan.synchronous}")
            connection.execute("PRAGMA fullfsync = ON")  # of macOS, whose fsync promises little
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        elif plan.use is Use.DRAFT:  # need not survive a crash
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA synchronous = OFF")
        else:
            connection.execute("SELECT count(*) FROM sqlite_master")  # is it one at all?
        connection.execute("PRAGMA foreign_keys = ON")
        # Deleted text is overwritten at once instead of staying in free pages.
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_key(path: Path) -> NoReturn:
    raise DatabaseKeyMismatch(
        f"{path}: the database is encrypted with another key than RICORDO_DATABASE_KEY, or is not"
        " a database"
    ) from None


def make_private_file(path: Path) -> None:
    """Create the file readable for its owner only. Raises StorageUnavailable: the folder or file
    cannot be made."""
    try:
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        # Only for a new file: closing a descriptor of one in use would drop SQLite's locks on it,
        # and another process could delete the log.
        os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageUnavailable(f"{path}: {error.strerror or error}") from None


def _switch_to_wal(connection: Any, plan: ConnectionPlan) -> None:
    # Switching to WAL does not wait for other processes, so two that open a new file at once would
    # collide.
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


# Writers of one process take turns on one connection; those that wait together share a commit.

_MOST_SHARING: Final = 64
_LONGEST_SHARING_SECONDS: Final = 0.01
"""A bound on how long a write that is done waits for the commit of those after it."""


class _Commit:
    """A transaction that writes share: all of them are stored, or none is."""

    __slots__ = ("began", "driver", "fault", "is_over", "writes")

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.began = time.monotonic()
        self.writes = 0
        self.is_over = False
        self.fault: BaseException | None = None

    @property
    def has_room(self) -> bool:
        lasted = time.monotonic() - self.began
        return self.writes < _MOST_SHARING and lasted < _LONGEST_SHARING_SECONDS


class Turns:
    """One writer at a time, on the connection that ``driver`` opens.

    A shared write that ends while another shared one waits leaves the transaction open for it, and
    returns when it is committed. Each but the first is within a savepoint, so that one that is
    refused leaves no trace and harms nobody. Whoever has the turn last commits for all.
    """

    def __init__(
        self,
        location: str,
        patience_seconds: float,
        driver: Callable[[], Any],
        explain: Callable[[Exception], StorageError | None],
    ) -> None:
        self._location = location
        self._patience_seconds = patience_seconds
        self._driver = driver
        self._explain = explain
        self._lock = threading.Lock()  # of what follows; never held while the database works
        self._is_free = threading.Condition(self._lock)
        self._is_over = threading.Condition(self._lock)
        self._holder: int | None = None
        self._waiting_to_share = 0
        self._open: _Commit | None = None  # changed only by who has the turn

    @property
    def is_taken(self) -> bool:
        return self._holder is not None

    @property
    def is_mine(self) -> bool:
        return self._holder == threading.get_ident()

    @contextlib.contextmanager
    def alone(self, *, however_long: bool = False) -> Iterator[None]:
        """A turn without an open transaction. Raises StorageBusy: others have been writing for too
        long."""
        self.take(however_long=however_long)
        try:
            yield
        finally:
            self.give()

    @contextlib.contextmanager
    def sharing(self) -> Iterator[None]:
        """A write whose transaction others may share. Ends when it is committed.

        Raises:
            StorageBusy: others have been writing for too long.
            StorageError: the transaction failed; nothing of it was stored.
        """
        self._take(shares=True, patience=self._patience_seconds)
        try:
            driver = self._driver()
            commit = self._open
            if commit is None:
                driver.execute("BEGIN IMMEDIATE")
                commit = self._open = _Commit(driver)
            with self._part_of(commit):
                yield
        finally:
            self.give()
        self._wait_for(commit)

    def take(self, *, however_long: bool = False) -> None:
        """Wait for a turn, and commit what others have left open. Raises StorageBusy: others have
        been writing for too long."""
        self._take(shares=False, patience=None if however_long else self._patience_seconds)
        try:
            self._commit()
        except BaseException:
            self.give()
            raise

    def give(self) -> None:
        """End a turn. What is open is committed, unless somebody waits who may share it."""
        with self._lock:
            may_wait = self._open is not None and self._open.has_room and self._waiting_to_share
            if self._open is None or may_wait:
                self._holder = None
                self._is_free.notify()
                return
        try:
            self._commit()
        finally:
            with self._lock:
                self._holder = None
                self._is_free.notify()

    def _take(self, *, shares: bool, patience: float | None) -> None:
        with self._lock:
            self._waiting_to_share += shares
            try:
                was_free = self._is_free.wait_for(lambda: self._holder is None, patience)
            except BaseException:  # interrupted: perhaps the one that others counted on
                self._is_free.notify()
                self._is_over.notify_all()
                raise
            finally:
                self._waiting_to_share -= shares
            if not was_free:
                raise StorageBusy(f"{self._location}: another thread has been writing for too long")
            self._holder = threading.get_ident()

    @contextlib.contextmanager
    def _part_of(self, commit: _Commit) -> Iterator[None]:
        driver = commit.driver
        is_first = commit.writes == 0
        try:
            if not is_first:
                driver.execute("SAVEPOINT part")
            yield
            if not is_first:
                driver.execute("RELEASE part")
        except BaseException as error:
            if is_first:
                self._end(commit, error)
            else:
                self._undo_part(commit, error)
            raise
        commit.writes += 1

    def _undo_part(self, commit: _Commit, error: BaseException) -> None:
        try:
            commit.driver.execute("ROLLBACK TO part")
            commit.driver.execute("RELEASE part")
        except Exception:  # noqa: BLE001 - SQLite has rolled back the whole, as for a full disk
            self._end(commit, error)

    def _commit(self) -> None:
        """Commit what is open; those who wait for it are told of a fault."""
        commit = self._open
        if commit is None:
            return
        try:
            commit.driver.execute("COMMIT")
        except BaseException as error:
            was_stored = not commit.driver.in_transaction and not isinstance(error, Exception)
            self._end(commit, None if was_stored else error)
            if not isinstance(error, Exception):  # this thread was interrupted, others were not
                raise
        else:
            self._end(commit, None)

    def _end(self, commit: _Commit, fault: BaseException | None) -> None:
        self._open = None
        if fault is not None:
            with contextlib.suppress(Exception):  # what failed is told by the fault
                if commit.driver.in_transaction:
                    commit.driver.execute("ROLLBACK")
        with self._lock:
            commit.fault = fault
            commit.is_over = True
            self._is_over.notify_all()

    def _wait_for(self, commit: _Commit) -> None:
        while self._is_mine_to_commit(commit):
            self.give()
        if commit.fault is not None:
            raise self._told(commit.fault) from commit.fault

    def _is_mine_to_commit(self, commit: _Commit) -> bool:
        """Wait for a commit. True, with the turn, where nobody is left who would make it."""
        with self._lock:
            self._is_over.wait_for(
                lambda: commit.is_over or (self._holder is None and not self._waiting_to_share)
            )
            if not commit.is_over:
                self._holder = threading.get_ident()
            return not commit.is_over

    def _told(self, fault: BaseException) -> StorageError:
        """The error of a write that failed with others."""
        known = self._explain(fault) if isinstance(fault, Exception) else None
        interrupted = f"{self._location}: another write in the same commit failed; try again"
        return known or StorageError(interrupted)
