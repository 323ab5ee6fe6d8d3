"""What a database must be able to search for us; ``sqlite/`` and ``postgres/`` do it.

The text index and the vector index are derived from ``item_index`` and ``turn_index``: they can be
thrown away and made again (``ricordo reindex --all``) without losing anything.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import sqlalchemy as sa

from ricordo.model.embedding import VectorModel
from ricordo.storage.index_tables import item_index, turn_index
from ricordo.storage.tables import items, turns

if TYPE_CHECKING:
    from ricordo.storage.vectors import Row

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
