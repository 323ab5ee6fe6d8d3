"""What a database must be able to do; ``sqlite/`` and ``postgres/`` implement it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import numpy as np
import sqlalchemy as sa

from ricordo.errors import StorageBusy, StorageError
from ricordo.limits import MAX_IMPORTED_ID_GAP
from ricordo.model.embedding import VectorModel
from ricordo.storage.tables import item_index, items, turn_index, turns

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Row = np.ndarray[tuple[int], np.dtype[np.float32]]

_PG_HEADER_BYTES: Final = 4  # pgvector sends its width and two unused bytes first


def matrix_of(connection: sa.Connection, stored: Sequence[bytes]) -> Matrix:
    """Vectors of one width, as selected with ``vector_bytes``, one per row."""
    if not stored:
        return np.zeros((0, 0), np.float32)
    if connection.dialect.name == "sqlite":
        flat = np.frombuffer(b"".join(stored), "<f4")
    else:
        flat = np.frombuffer(b"".join(sent[_PG_HEADER_BYTES:] for sent in stored), ">f4")
    return flat.astype(np.float32, copy=False).reshape(len(stored), -1)


# The text index and the vector index are derived from ``item_index`` and ``turn_index``: they can
# be thrown away and made again (``ricordo reindex --all``) without losing anything.

Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Indexed:
    """A table whose rows can be searched, and the table with their terms and vectors."""

    name: str
    source: sa.Table
    index: sa.Table

    def joined(self) -> sa.Join:
        """Each row beside what search reads of it."""
        return self.source.join(self.index, self.same_row())

    def same_row(self) -> Condition:
        """A row and what search reads of it."""
        return sa.and_(
            self.source.c.user_id == self.index.c.user_id, self.source.c.id == self.index.c.id
        )


ITEMS: Final = Indexed("item", items, item_index)
TURNS: Final = Indexed("turn", turns, turn_index)
INDEXED: Final = (ITEMS, TURNS)


@dataclass(frozen=True, slots=True)
class Matches:
    """Rows with at least one of the terms asked for, the most promising first.

    ``terms_by_id`` are all terms of each; ``frequency`` says in how many of the owners' rows each
    asked term stands.
    """

    terms_by_id: Mapping[int, str]
    frequency: Mapping[str, int]


class SearchIndex(Protocol):
    """Searching inside the database, for users whose index is not kept in memory."""

    def create(self, connection: sa.Connection) -> None:
        """Make the text and vector indexes where they are missing."""
        ...

    def rebuild(self, connection: sa.Connection) -> None:
        """Throw the indexes away and make them again from the stored terms and vectors."""
        ...

    def put(
        self,
        connection: sa.Connection,
        kind: Indexed,
        user_id: str,
        rows: Sequence[tuple[int, str]],
    ) -> None:
        """Take rows (id, terms) into the text index."""
        ...

    def drop(
        self,
        connection: sa.Connection,
        kind: Indexed,
        user_id: str,
        rows: Sequence[tuple[int, str]],
    ) -> None:
        """Take rows out of the text index; the terms must be those that were put."""
        ...

    def drop_owner(self, connection: sa.Connection, kind: Indexed, user_id: str) -> None:
        """Take all rows of a user out of the text index, while their terms are still stored."""
        ...

    def matches(
        self,
        connection: sa.Connection,
        kind: Indexed,
        owners: Collection[str],
        terms: Sequence[str],
        where: Condition,
        limit: int,
    ) -> Matches:
        """The owners' rows with any of the terms, among those that ``where`` allows."""
        ...

    def vocabulary(self, connection: sa.Connection, kind: Indexed, user_id: str) -> list[str]:
        """Every term that stands in a user's rows."""
        ...

    def nearest(
        self,
        connection: sa.Connection,
        kind: Indexed,
        model: VectorModel,
        query: "Row",
        where: Condition,
        limit: int,
    ) -> list[tuple[int, float]]:
        """The rows whose vectors are nearest, with their cosines, the nearest first."""
        ...

    def compact(self, connection: sa.Connection) -> None:
        """Leave nothing in the text index of what was dropped."""
        ...


class RaceLost(StorageBusy):
    """The transaction lost against another one and may simply be run again."""


def ids_within_reach(ids: Iterable[int], present: int) -> list[int]:
    """Those of the ids that an import may keep, given where the series stands."""
    return [one for one in ids if one <= present + MAX_IMPORTED_ID_GAP]


class Backend(Protocol):
    """One database behind a small contract; the contract suite runs on every implementation."""

    @property
    def name(self) -> str:
        """``sqlite`` or ``postgresql``."""
        ...

    @property
    def location(self) -> str:
        """Where the data is, fit to be shown (never with a password)."""
        ...

    @property
    def search(self) -> SearchIndex:
        """Text and vector search inside the database."""
        ...

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """A connection that sees one consistent state of the database."""
        ...

    def writing(self) -> AbstractContextManager[sa.Connection]:
        """A transaction: committed when the block ends, rolled back when it raises."""
        ...

    def act_for(self, connection: sa.Connection, users: Collection[str]) -> None:
        """Let the transaction see and change the rows of these users, and no others'.

        Until then it acts for nobody. Where the database has no row-level security, nothing.
        """
        ...

    def act_for_all(self, connection: sa.Connection, acting: bool = True) -> None:
        """Let the transaction see and change everybody's rows, or no longer."""
        ...

    def migrating(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that no other migration can run beside."""
        ...

    def secure(self, connection: sa.Connection) -> None:
        """After a migration: have the database itself keep every user's rows apart."""
        ...

    def owner_elsewhere(self, connection: sa.Connection) -> str | None:
        """The role that owns the tables, where that is another one: only it may change them."""
        ...

    def confinement_problem(self) -> str | None:
        """Why the database would not keep users apart for whoever is connected; None if it does."""
        ...

    def prepare_planner(self, connection: sa.Connection) -> None:
        """After a migration: tell the database what it needs to choose its indexes well."""
        ...

    def take_ids(self, connection: sa.Connection, series: str, count: int) -> list[int]:
        """Fresh numbers of a series in ascending order; never given out again."""
        ...

    def keep_ids(self, series: str, ids: Iterable[int]) -> None:
        """Make sure, in a transaction of its own, that these numbers are not given out later.

        Waits for numbers under way. Ids far beyond the present ones are not kept, because one
        file must not use up everybody's numbers.
        """
        ...

    def ids_given(self, connection: sa.Connection) -> dict[str, int]:
        """The last number of each series that was given out; no later one is stored yet."""
        ...

    def go_on_after(self, connection: sa.Connection, given: Mapping[str, int]) -> None:
        """Give out only what comes after these numbers, and after those given out here before."""
        ...

    def hides_rows(self, connection: sa.Connection) -> bool:
        """True where whoever is connected may not see every row, whatever they ask for."""
        ...

    def claim_tables(self, connection: sa.Connection) -> None:
        """Let nobody else read or change the tables until the transaction ends.

        Raises:
            StorageBusy: others have the database open, even if they do nothing at the moment.
        """
        ...

    def one_import_at_a_time(self, connection: sa.Connection) -> None:
        """Wait until no other import is under way, so that two do not choose the same ids."""
        ...

    @property
    def overwrites_freed_space(self) -> bool:
        """True where :meth:`scrub` can make sure that nothing is left of deleted rows."""
        ...

    def scrub(self) -> bool:
        """Give up the space of deleted rows; True when it was overwritten, too."""
        ...

    def check(self) -> list[str]:
        """Problems found by the database's own integrity check; empty when sound."""
        ...

    def size_bytes(self, connection: sa.Connection) -> int:
        """How much space the database takes on its disk."""
        ...

    def explain(self, error: Exception) -> StorageError | None:
        """The error of ours that a driver's error stands for, or None when it is not a fault."""
        ...

    def is_retryable(self, error: Exception) -> bool:
        """True where the transaction lost against another one and may simply be run again."""
        ...

    def connections_in_use(self) -> int:
        """How many connections are handed out right now."""
        ...

    def close(self) -> None:
        """Give back every connection."""
        ...


class Step(StrEnum):
    """What is worth timing by itself."""

    SEARCH = "search"
    SEARCH_TURNS = "search_turns"
    QUERY = "query"
    CONTEXT = "context"
    EMBEDDING = "embedding"


Watch = Callable[[Step], AbstractContextManager[object]]
"""Gives what a step is done inside of. It must not raise by itself."""

_NOBODY: Final = nullcontext()


def unwatched(step: Step) -> AbstractContextManager[object]:  # noqa: ARG001 - nobody is told
    """For a store that nobody watches."""
    return _NOBODY
