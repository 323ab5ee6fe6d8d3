"""Counts recalled memories and other events outside the search path."""

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo import fork_safety, limits
from ricordo.errors import StorageClosed, StorageError, in_log
from ricordo.storage.activity import add_counts, day_of
from ricordo.storage.database import Database, retried
from ricordo.storage.sql import Moment, PreparedStatement, Words
from ricordo.storage.tables import items

MAX_WAITING: Final = 10_000
"""Above this many pending memories, a search writes the counts itself."""

TIMER_NAME: Final = "ricordo-recalls"


@dataclass(slots=True)
class _Waiting:
    recalled: dict[tuple[str, int], tuple[int, datetime]] = field(default_factory=dict)
    """By owner and memory: the count, and the last time."""

    tallies: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By user, day and name."""

    def __len__(self) -> int:
        return len(self.recalled) + len(self.tallies)


_log = logging.getLogger(__name__)
_last = sa.bindparam("last", type_=Moment)

_count: Final = PreparedStatement(
    sa.update(items)
    .where(
        items.c.user_id == sa.bindparam("of_user", type_=Words),
        items.c.id == sa.bindparam("of_id", type_=sa.BigInteger),
    )
    .values(
        access_count=items.c.access_count + sa.bindparam("times", type_=sa.BigInteger),
        # Another process may have written a later time.
        last_accessed_at=sa.case(
            (items.c.last_accessed_at > _last, items.c.last_accessed_at), else_=_last
        ),
    )
)


class AccessCounter:
    """Collects counts of recalls until they are written. Thread- and fork-safe.

    The first pending count starts a timer that writes all of them, since upkeep forgets what was
    not recalled for long. Jobs, upkeep and closing write earlier and stop it. A killed process
    loses at most a minute of counts.
    """

    def __init__(
        self, database: Database, flush_seconds: float = limits.RECALL_FLUSH_SECONDS
    ) -> None:
        self.database = database
        self._flush_seconds = flush_seconds
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        # One flush at a time: close waits for the timer's.
        self._flushing = threading.Lock()
        self._waiting = _Waiting()
        self._timer: threading.Timer | None = None
        self._has_logged = False

    def reset_after_fork(self) -> Any:
        """Drop the counts and the timer of the parent, which keeps them."""
        inherited = (self._lock, self._flushing, self._waiting, self._timer)
        self._set_up()
        return inherited

    def note(self, user_id: str, ids: Iterable[int], now: datetime) -> None:
        """Count a recall of these memories. Not inside a transaction."""
        with self._lock:
            recalled = self._waiting.recalled
            for item_id in ids:
                times, _ = recalled.get((user_id, item_id), (0, now))
                recalled[user_id, item_id] = (times + 1, now)
        self._wait()

    def count(self, user_id: str, counts: Mapping[str, int], now: datetime) -> None:
        """Add to a user's counters of the day. Not inside a transaction."""
        with self._lock:
            for name, count in counts.items():
                self._waiting.tallies[user_id, day_of(now), name] += count
        self._wait()

    def _wait(self) -> None:
        """Schedule a flush, or flush now if there is much."""
        with self._lock:
            self._start_timer()
            full = len(self._waiting) > MAX_WAITING
        if full:
            self.flush_or_log()

    def flush(self) -> int:
        """Write the counts; returns the number of memories. Raises StorageError: it could not be
        written; it is counted later."""
        with self._flushing:
            taken = self._take()
            try:
                self._write(taken)
            except BaseException as error:
                self._put_back(taken)
                if not isinstance(error, StorageClosed):  # there it never works again
                    with self._lock:
                        self._start_timer()
                raise
            self._has_logged = False
            return len(taken.recalled)

    def flush_or_log(self) -> None:
        """Write the counts; a failure is logged once and retried later."""
        try:
            self.flush()
        except StorageClosed:
            pass  # nobody is left to try again
        except StorageError as error:
            if not self._has_logged:
                _log.warning("what was recalled is not counted yet: %s", in_log(error))
            self._has_logged = True

    def _start_timer(self) -> None:
        """Call it with the lock acquired."""
        if self._timer is not None or not self._waiting:
            return
        timer = threading.Timer(self._flush_seconds, self.flush_or_log)
        timer.name = TIMER_NAME
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # no thread to be had: the search goes on, the next one tries again
            return
        self._timer = timer

    def _take(self) -> _Waiting:
        """Take all pending counts and stop the timer."""
        with self._lock:
            taken, self._waiting = self._waiting, _Waiting()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return taken

    def _put_back(self, taken: _Waiting) -> None:
        with self._lock:
            self._waiting.tallies.update(taken.tallies)
            recalled = self._waiting.recalled
            for key, (times, last) in taken.recalled.items():
                more, newer = recalled.get(key, (0, last))
                recalled[key] = (times + more, max(last, newer))

    @retried
    def _write(self, taken: _Waiting) -> None:
        if not taken:
            return
        # In one order, so that two processes do not deadlock.
        rows = [
            {"of_user": user_id, "of_id": item_id, "times": times, "last": last}
            for (user_id, item_id), (times, last) in sorted(taken.recalled.items())
        ]
        whose = {key[0] for key in taken.recalled} | {key[0] for key in taken.tallies}
        with self.database.transaction_for(whose) as connection:
            if rows:
                _count.run_many(connection, rows)
            if taken.tallies:
                add_counts(connection, taken.tallies)
