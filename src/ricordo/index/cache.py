"""An LRU cache of users' indexes, kept up to date.

Each search reads the position of the user's index in the database view that it answers from. A
stale index loads what any process wrote since and drops deleted rows; it is rebuilt only after the
stored index was. The least recently used indexes are evicted when they take too much memory.
"""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.index.user_index import TurnIndex, UserIndex
from ricordo.model.embedding import VectorModel
from ricordo.storage.search_rows import (
    IndexPosition,
    count_indexed,
    index_position,
    index_since,
    indexed_ids,
    linked_index,
    whole_index,
)
from ricordo.storage.sql import Row, matrix_of
from ricordo.storage.tables import ITEMS, TURNS, Indexed

_ROW_BYTES: Final = 600  # terms, ids and bookkeeping of one row, roughly and rather too much
_WIDTH_GUESS: Final = 384
_MAX_INDEXES: Final = 10_000  # also of users who have nothing stored
_INDEX_OF: Final[dict[str, type[UserIndex]]] = {ITEMS.name: UserIndex, TURNS.name: TurnIndex}


class _Kept:
    """A cached index, and the position it is a copy of."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.user_index: UserIndex | None = None
        self.position: IndexPosition | None = None
        self.model: VectorModel | None = None
        self.nbytes = 0


class IndexCache:
    """Indexes by kind and user. Thread- and fork-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._taken_bytes = 0

    def reset_after_fork(self) -> Any:
        """A thread that the child does not have may hold a lock."""
        inherited = (self._lock, self._kept)
        self._set_up()
        return inherited

    @contextlib.contextmanager
    def borrow(
        self, connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None
    ) -> Iterator[UserIndex | None]:
        """A user's index, current with this database view and locked for one search.

        None where it is too large for memory.
        """
        position = index_position(connection, user_id)
        key = (kind.name, user_id)
        kept = self._entry(key)
        with kept.lock:
            if not self._is_current(kept, position, model):
                self._bring_up_to_date(connection, kept, kind, user_id, position, model)
                self._make_room(key, kept)
            yield kept.user_index

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
                dropped = self._kept.pop((kind, user_id), None)
                self._taken_bytes -= 0 if dropped is None else dropped.nbytes

    @property
    def nbytes(self) -> int:
        return self._taken_bytes

    def _entry(self, key: tuple[str, str]) -> _Kept:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _Kept()
            self._kept.move_to_end(key)
            return kept

    def _is_current(self, kept: _Kept, position: IndexPosition, model: VectorModel | None) -> bool:
        """True if the index has everything in this view.

        It may have more, from a later search: results are looked up in the caller's view.
        """
        has = kept.position
        return (
            has is not None
            and has.created == position.created
            and has.stamp >= position.stamp
            and kept.model == model
        )

    def _bring_up_to_date(
        self,
        connection: sa.Connection,
        kept: _Kept,
        kind: Indexed,
        user_id: str,
        position: IndexPosition,
        model: VectorModel | None,
    ) -> None:
        same_index = (
            kept.position is not None
            and kept.position.created == position.created
            and kept.position.epoch == position.epoch
            and kept.model == model
        )
        if not (same_index and _follow(connection, kept, kind, user_id, position)):
            kept.user_index = kept.position = None  # or there would be two in memory for a while
            kept.user_index = self._load(connection, kind, user_id, model)
        elif kept.user_index is not None and not self._fits(kept.user_index.size):
            kept.user_index = None
        kept.position, kept.model = position, model

    def _fits(self, rows: int) -> bool:
        return rows * (_WIDTH_GUESS * 4 + _ROW_BYTES) <= self._max_bytes

    def _load(
        self, connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None
    ) -> UserIndex | None:
        rows = count_indexed(connection, kind, user_id)
        if not self._fits(rows):
            return None
        user_index = _INDEX_OF[kind.name](rows)
        for page in whole_index(connection, kind, user_id, model):
            _fill(connection, user_index, page)
        return user_index

    def _make_room(self, key: tuple[str, str], changed: _Kept) -> None:
        nbytes = 0 if changed.user_index is None else changed.user_index.nbytes
        with self._lock:
            if self._kept.get(key) is not changed:
                return  # dropped while it was being filled
            self._taken_bytes += nbytes - changed.nbytes
            changed.nbytes = nbytes
            while len(self._kept) > 1 and (
                self._taken_bytes > self._max_bytes or len(self._kept) > _MAX_INDEXES
            ):
                _, dropped = self._kept.popitem(last=False)
                self._taken_bytes -= dropped.nbytes


def _follow(
    connection: sa.Connection, kept: _Kept, kind: Indexed, user_id: str, to: IndexPosition
) -> bool:
    """Bring an index to a later position.

    False where too much was removed and it must be rebuilt.
    """
    user_index, behind = kept.user_index, kept.position
    if user_index is None or behind is None or user_index.needs_compacting:
        return False
    newer = index_since(connection, kind, user_id, kept.model, behind.stamp)
    gone: list[int] = []
    if behind.removals != to.removals:
        gone = _gone(connection, user_index, kind, user_id, newer)
        if not user_index.can_remove(len(gone)):
            return False
    kept.position = None  # one that is stopped half way is not gone on with
    user_index.remove(gone)
    _fill(connection, user_index, newer)
    return True


def _gone(
    connection: sa.Connection,
    user_index: UserIndex,
    kind: Indexed,
    user_id: str,
    newer: Sequence[tuple[Any, ...]],
) -> list[int]:
    """Rows that are gone from the database; ``newer`` is not added yet.

    Reads all ids only if their number shows a difference: the removed rows may be of the other
    kind.
    """
    unseen = sum(row[0] not in user_index.row_of for row in newer)
    if count_indexed(connection, kind, user_id) == user_index.size + unseen:
        return []
    had = np.fromiter(user_index.row_of, np.int64, user_index.size)
    there = indexed_ids(connection, kind, user_id)
    gone: list[int] = np.setdiff1d(had, there, assume_unique=True).tolist()
    return gone


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
