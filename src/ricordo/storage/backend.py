"""What a database must be able to do for us; ``sqlite/`` and ``postgres/`` do it."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import sqlalchemy as sa

from ricordo.errors import StorageBusy, StorageError
from ricordo.limits import MAX_IMPORTED_ID_GAP
from ricordo.storage.search_index import SearchIndex


class LostToAnother(StorageBusy):
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
