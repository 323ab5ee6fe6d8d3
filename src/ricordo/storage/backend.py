"""The contract of a database; ``sqlite/`` and ``postgres/`` implement it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import sqlalchemy as sa

from ricordo.errors import StorageBusy, StorageError
from ricordo.frozen import dataclass
from ricordo.limits import MAX_IMPORTED_ID_GAP
from ricordo.model.embedding import VectorModel
from ricordo.storage.sql import Condition, Row
from ricordo.storage.tables import Indexed

TermRows = Sequence[tuple[int, str]]
"""Ids of rows, each with its terms."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Rows with at least one of the terms, the most promising first.

    ``terms_by_id`` has all terms of each row; ``frequency`` counts the owners' rows with each term.
    """

    terms_by_id: Mapping[int, str]
    frequency: Mapping[str, int]


class SearchIndex(Protocol):
    """Search inside the database, for users whose index is not kept in memory.

    The text and vector indexes are derived from ``item_index`` and ``turn_index``: ``ricordo
    reindex --all`` rebuilds them without loss.
    """

    def create(self, connection: sa.Connection) -> None: ...

    def rebuild(self, connection: sa.Connection) -> None:
        """Build the indexes again from the stored terms and vectors."""
        ...

    def put(
        self, connection: sa.Connection, kind: Indexed, user_id: str, rows: TermRows
    ) -> None: ...

    def drop(self, connection: sa.Connection, kind: Indexed, user_id: str, rows: TermRows) -> None:
        """Remove rows from the text index; the terms must be those that were put."""
        ...

    def drop_owner(self, connection: sa.Connection, kind: Indexed, user_id: str) -> None:
        """Remove a user's rows from the text index, while their terms are still stored."""
        ...

    def matches(
        self,
        connection: sa.Connection,
        kind: Indexed,
        owners: Collection[str],
        terms: Sequence[str],
        where: Condition,
        limit: int,
    ) -> Matches: ...

    def vocabulary(self, connection: sa.Connection, kind: Indexed, user_id: str) -> list[str]: ...

    def nearest(
        self,
        connection: sa.Connection,
        kind: Indexed,
        model: VectorModel,
        query: Row,
        where: Condition,
        limit: int,
    ) -> list[tuple[int, float]]: ...

    def compact(self, connection: sa.Connection) -> None:
        """Purge dropped rows from the text index."""
        ...


class RaceLost(StorageBusy):
    """The transaction lost against another one and may be run again."""


def ids_within_reach(ids: Iterable[int], present: int) -> list[int]:
    """The ids that an import may keep: not too far beyond the present one."""
    return [one for one in ids if one <= present + MAX_IMPORTED_ID_GAP]


class Backend(Protocol):
    """One database; the contract tests run on every implementation."""

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> str:
        """Where the data is, without the password."""
        ...

    @property
    def search(self) -> SearchIndex: ...

    def reading(self) -> AbstractContextManager[sa.Connection]: ...

    def writing(self, *, shared: bool = False) -> AbstractContextManager[sa.Connection]:
        """A transaction: commits at the end of the block, rolls back when it raises.

        ``shared``: other shared writes of this process may be committed together with this one. It
        is stored when the block has ended, whatever becomes of the others; only a commit that
        fails, fails for all. For short blocks that wait for nothing.
        """
        ...

    def act_for(self, connection: sa.Connection, users: Collection[str]) -> None:
        """Let the transaction see and change the rows of these users only.

        Before this call it can see nobody's rows. A no-op without row-level security.
        """
        ...

    def act_for_all(self, connection: sa.Connection, acting: bool = True) -> None:
        """Let the transaction see and change everybody's rows, or end that."""
        ...

    def migrating(self) -> AbstractContextManager[sa.Connection]:
        """A transaction under the migration lock."""
        ...

    def secure(self, connection: sa.Connection) -> None:
        """Set up row-level security after a migration."""
        ...

    def owner_elsewhere(self, connection: sa.Connection) -> str | None:
        """The role that owns the tables, if it is another one: only it may migrate."""
        ...

    def confinement_problem(self) -> str | None:
        """Why row-level security does not bind the connected role; None if it does."""
        ...

    def prepare_planner(self, connection: sa.Connection) -> None:
        """Give the query planner its statistics after a migration."""
        ...

    def take_ids(self, connection: sa.Connection, series: str, count: int) -> list[int]:
        """New ids in ascending order; an id is never given out twice."""
        ...

    def keep_ids(self, series: str, ids: Iterable[int]) -> None:
        """Reserve these ids, in a transaction of its own, so that they are not given out later.

        Waits for ids being taken. Ids far beyond the present ones are ignored, so that one import
        file cannot use up the series.
        """
        ...

    def ids_given(self, connection: sa.Connection) -> dict[str, int]:
        """The last id given out per series; no later one is stored yet."""
        ...

    def go_on_after(self, connection: sa.Connection, given: Mapping[str, int]) -> None:
        """Continue each series after these ids, and after those already given out."""
        ...

    def hides_rows(self, connection: sa.Connection) -> bool:
        """True where the connected role may not see every row."""
        ...

    def claim_tables(self, connection: sa.Connection) -> None:
        """Lock the tables until the transaction ends. Raises StorageBusy: others have the database
        open, even if they do nothing at the moment."""
        ...

    def one_import_at_a_time(self, connection: sa.Connection) -> None:
        """Wait for other imports, so that two do not choose the same ids."""
        ...

    @property
    def overwrites_freed_space(self) -> bool:
        """True where :meth:`scrub` overwrites deleted rows."""
        ...

    def scrub(self) -> bool:
        """Release the space of deleted rows; True when it was also overwritten."""
        ...

    def check(self) -> list[str]: ...

    def size_bytes(self, connection: sa.Connection) -> int: ...

    def explain(self, error: Exception) -> StorageError | None:
        """Translate a driver's error; None when it is not a database fault."""
        ...

    def is_retryable(self, error: Exception) -> bool:
        """True where the transaction lost against another one and may be run again."""
        ...

    def connections_in_use(self) -> int: ...

    def close(self) -> None: ...
