"""An LRU cache of users' indexes, kept up to date.

Each search reads the position of the user's index in the database view that it answers from. A
stale index loads what any process wrote since and drops deleted rows; it is rebuilt only after the
stored index was. The least recently used indexes are evicted when they take too much memory.
"""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.index.user_index import TurnIndex, UserIndex
from ricordo.model.embedding import VectorModel
from ricordo.storage.database import ReadTransaction
from ricordo.storage.search_rows import (
    IndexPosition,
    count_indexed,
    index_since,
    indexed_ids,
    linked_index,
    position_in,
    whole_index,
)
from ricordo.storage.sql import Row, matrix_of
from ricordo.storage.tables import ITEMS, TURNS, Indexed

_ROW_BYTES: Final = 600  # terms, ids and bookkeeping of one row, roughly and rather too much
_WIDTH_GUESS: Final = 384
_MAX_INDEXES: Final = 10_000  # also of users who have nothing stored
_INDEX_OF: Final[dict[str, type[UserIndex]]] = {ITEMS.name: UserIndex, TURNS.name: TurnIndex}


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """The values used last. Thread- and fork-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def reset_after_fork(self) -> Any:
        """A thread that the child does not have may hold the lock."""
        inherited = (self._lock, self._values)
        self._set_up()
        return inherited

    def get(self, key: Key) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)

    def drop(self, key: Key) -> None:
        with self._lock:
            self._values.pop(key, None)


class _CachedIndex:
    """An index, and the position it is a copy of."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.user_index: UserIndex | None = None
        self.position: IndexPosition | None = None
        self.model: VectorModel | None = None
        self.nbytes = 0

    def is_current(self, position: IndexPosition, model: VectorModel | None) -> bool:
        """True if the index has everything in this view.

        It may have more, from a later search: results are looked up in the caller's view.
        """
        return (
            self.position is not None
            and self.position.created == position.created
            and self.position.stamp >= position.stamp
            and self.model == model
        )


class IndexCache:
    """Indexes by kind and user. Thread- and fork-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _CachedIndex] = OrderedDict()
        self._nbytes = 0

    def reset_after_fork(self) -> Any:
        """A thread that the child does not have may hold a lock."""
        inherited = (self._lock, self._entries)
        self._set_up()
        return inherited

    @contextlib.contextmanager
    def borrow(
        self, view: ReadTransaction, kind: Indexed, user_id: str, model: VectorModel | None
    ) -> Iterator[UserIndex | None]:
        """A user's index, current with this view and locked for one search.

        None where it is too large for memory.
        """
        position = position_in(view, user_id)
        key = (kind.name, user_id)
        with self._lock:
            entry = self._entries.setdefault(key, _CachedIndex())
            self._entries.move_to_end(key)
        with entry.lock:
            if not entry.is_current(position, model):
                self._bring_up_to_date(view.connection, entry, kind, user_id, position, model)
                self._make_room(key, entry)
            yield entry.user_index

    def last(self, kind: Indexed, user_id: str) -> UserIndex | None:
        """A user's index as it is, perhaps outdated and not locked; None where there is none."""
        with self._lock:
            entry = self._entries.get((kind.name, user_id))
            return None if entry is None else entry.user_index

    def shared_with(
        self, connection: sa.Connection, viewer: str, model: VectorModel | None
    ) -> UserIndex:
        """An index of the few memories shared with a user, for one search."""
        user_index = UserIndex()
        _fill(connection, user_index, linked_index(connection, viewer, model))
        return user_index

    def forget(self, user_id: str) -> None:
        with self._lock:
            for kind in _INDEX_OF:
                dropped = self._entries.pop((kind, user_id), None)
                self._nbytes -= 0 if dropped is None else dropped.nbytes

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def _bring_up_to_date(
        self,
        connection: sa.Connection,
        entry: _CachedIndex,
        kind: Indexed,
        user_id: str,
        position: IndexPosition,
        model: VectorModel | None,
    ) -> None:
        same_index = (
            entry.position is not None
            and entry.position.created == position.created
            and entry.position.epoch == position.epoch
            and entry.model == model
        )
        if not (same_index and _catch_up(connection, entry, kind, user_id, position)):
            entry.user_index = entry.position = None  # or there would be two in memory for a while
            rows = count_indexed(connection, kind, user_id)
            if self._fits(rows):
                user_index = _INDEX_OF[kind.name](rows)
                for page in whole_index(connection, kind, user_id, model):
                    _fill(connection, user_index, page)
                entry.user_index = user_index
        elif entry.user_index is not None and not self._fits(entry.user_index.size):
            entry.user_index = None
        entry.position, entry.model = position, model

    def _fits(self, rows: int) -> bool:
        return rows * (_WIDTH_GUESS * 2 + _ROW_BYTES) <= self._max_bytes

    def _make_room(self, key: tuple[str, str], entry: _CachedIndex) -> None:
        nbytes = 0 if entry.user_index is None else entry.user_index.nbytes
        with self._lock:
            if self._entries.get(key) is not entry:
                return  # dropped while it was being filled
            self._nbytes += nbytes - entry.nbytes
            entry.nbytes = nbytes
            while len(self._entries) > 1 and (
                self._nbytes > self._max_bytes or len(self._entries) > _MAX_INDEXES
            ):
                _, dropped = self._entries.popitem(last=False)
                self._nbytes -= dropped.nbytes


def _catch_up(
    connection: sa.Connection, entry: _CachedIndex, kind: Indexed, user_id: str, to: IndexPosition
) -> bool:
    """Bring an index to a later position.

    False where too much was removed and it must be rebuilt.
    """
    user_index, behind = entry.user_index, entry.position
    if user_index is None or behind is None or user_index.needs_compacting:
        return False
    newer = index_since(connection, kind, user_id, entry.model, behind.stamp)
    removed: list[int] = []
    if behind.removals != to.removals:
        removed = _removed_ids(connection, user_index, kind, user_id, newer)
        if not user_index.can_remove(len(removed)):
            return False
    entry.position = None  # an update that is interrupted is not continued
    user_index.remove(removed)
    _fill(connection, user_index, newer)
    return True


def _removed_ids(
    connection: sa.Connection,
    user_index: UserIndex,
    kind: Indexed,
    user_id: str,
    newer: Sequence[tuple[Any, ...]],
) -> list[int]:
    """The rows that were deleted from the database; ``newer`` is not added yet.

    Reads all ids only if their number shows a difference: the removed rows may be of the other
    kind.
    """
    unseen = sum(row[0] not in user_index.row_of for row in newer)
    if count_indexed(connection, kind, user_id) == user_index.size + unseen:
        return []
    had = np.fromiter(user_index.row_of, np.int64, user_index.size)
    there = indexed_ids(connection, kind, user_id)
    removed: list[int] = np.setdiff1d(had, there, assume_unique=True).tolist()
    return removed


def _fill(
    connection: sa.Connection, user_index: UserIndex, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Add rows to an index; vectors of one width are decoded together."""
    vectors: list[Row | None] = [None] * len(rows)
    for width in {len(row[2]) for row in rows if row[2] is not None}:
        places = [n for n, row in enumerate(rows) if row[2] is not None and len(row[2]) == width]
        matrix = matrix_of(connection, [rows[place][2] for place in places])
        for place, vector in zip(places, matrix, strict=True):
            vectors[place] = vector
    user_index.take(rows, vectors)
