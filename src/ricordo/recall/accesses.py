"""Counting which memories are recalled, in batches, off the path of a search."""

import logging
import threading
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo import forks
from ricordo.errors import StorageError
from ricordo.storage.columns import Moment, Words
from ricordo.storage.database import Database, retried
from ricordo.storage.prepared import Prepared
from ricordo.storage.tables import items

MAX_WAITING: Final = 10_000
"""How many memories may wait to be counted before a search writes them itself."""

_log = logging.getLogger(__name__)
_last = sa.bindparam("last", type_=Moment)

_count: Final = Prepared(
    sa.update(items)
    .where(
        items.c.user_id == sa.bindparam("of_user", type_=Words),
        items.c.id == sa.bindparam("of_id", type_=sa.BigInteger),
    )
    .values(
        access_count=items.c.access_count + sa.bindparam("times", type_=sa.BigInteger),
        # Another process may have written a later time before.
        last_accessed_at=sa.case(
            (items.c.last_accessed_at > _last, items.c.last_accessed_at), else_=_last
        ),
    )
)


class AccessCounter:
    """Remembers what was recalled until it is written. Safe from many threads and after a fork.

    What a process has not written when it is killed is lost, which is harmless: these counts
    only say what is used often.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, int], tuple[int, datetime]] = {}

    def reset_after_fork(self) -> Any:
        """What the parent counted is the parent's to write."""
        inherited = (self._lock, self._waiting)
        self._set_up()
        return inherited

    def note(self, user_id: str, ids: list[int], now: datetime) -> None:
        """Memories were recalled."""
        with self._lock:
            for item_id in ids:
                times, _ = self._waiting.get((user_id, item_id), (0, now))
                self._waiting[user_id, item_id] = (times + 1, now)
            full = len(self._waiting) > MAX_WAITING
        if full:
            try:
                self.flush()
            except StorageError as error:  # the search goes on; it is counted later
                _log.warning("what was recalled is not counted yet: %s", error)

    def flush(self) -> int:
        """Write what was counted; of how many memories.

        Raises:
            StorageError: it could not be written; it is counted later.
        """
        with self._lock:
            taken, self._waiting = self._waiting, {}
        try:
            self._write(taken)
        except BaseException:
            with self._lock:
                for key, (times, last) in taken.items():
                    more, newer = self._waiting.get(key, (0, last))
                    self._waiting[key] = (times + more, max(last, newer))
            raise
        return len(taken)

    @retried
    def _write(self, taken: dict[tuple[str, int], tuple[int, datetime]]) -> None:
        if not taken:
            return
        with self.database.transaction() as connection:
            # In one order, so that two processes do not wait for each other's rows.
            _count.run_many(
                connection,
                [
                    {"of_user": user_id, "of_id": item_id, "times": times, "last": last}
                    for (user_id, item_id), (times, last) in sorted(taken.items())
                ],
            )
