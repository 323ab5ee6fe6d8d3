"""Writers of one process take turns on one connection; those that wait together share a commit."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from ricordo.errors import StorageBusy, StorageError

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
        """A turn without an open transaction.

        Raises:
            StorageBusy: others have been writing for too long.
        """
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
        """Wait for a turn, and commit what others have left open.

        Raises:
            StorageBusy: others have been writing for too long.
        """
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
