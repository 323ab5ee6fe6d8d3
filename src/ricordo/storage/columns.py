"""Column types that mean the same on SQLite and PostgreSQL."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ricordo.errors import StorageCorrupt
from ricordo.model.times import format_moment

if TYPE_CHECKING:
    import numpy as np

_DAMAGED: Final = "a stored value cannot be read: the database is damaged; restore a backup"

E = TypeVar("E", bound=StrEnum)


def stored_moment(text: str) -> datetime:
    """A time as SQLite keeps it.

    Raises:
        StorageCorrupt: it is none.
    """
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise StorageCorrupt(_DAMAGED) from None


def stored_json(text: str) -> Any:
    """A JSON value as SQLite keeps it.

    Raises:
        StorageCorrupt: it is none.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        raise StorageCorrupt(_DAMAGED) from None


def stored_choice(kind: type[E], name: str) -> E:
    """One of the values of an enumeration as it is kept.

    Raises:
        StorageCorrupt: there is no such value.
    """
    try:
        return kind(name)
    except ValueError:
        raise StorageCorrupt(_DAMAGED) from None


class Moment(sa.types.TypeDecorator[datetime]):
    """A time in UTC: ``timestamptz`` on PostgreSQL; on SQLite fixed-width ISO text, which sorts
    like the time and can be read by a person who opens the file."""

    impl = sa.TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """The column's type in this database."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.Text())
        return dialect.type_descriptor(sa.TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        """A time as this database stores it."""
        if value is None or dialect.name != "sqlite":
            return value
        return format_moment(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        """A stored time as UTC."""
        if value is None:
            return None
        if dialect.name == "sqlite":
            return stored_moment(value)
        return value.astimezone(UTC)  # type: ignore[no-any-return]


Words: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""Text that compares and sorts by code point on both databases."""

Json: Final = sa.JSON(none_as_null=True).with_variant(
    postgresql.JSONB(none_as_null=True), "postgresql"
)


class _PgVector(sa.types.UserDefinedType[Any]):
    """The column type of pgvector, without a fixed width: each model has its own."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """The type's name in DDL."""
        return "vector"


class Vector(sa.types.TypeDecorator[Any]):
    """A row of numbers: pgvector's type on PostgreSQL, 32-bit floats in a blob on SQLite.

    Takes a numpy array. To read it, select ``vector_bytes(column)`` and decode that with
    ``storage/vectors.py``, many at a time.
    """

    impl = sa.LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """The column's type in this database."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.LargeBinary())
        return dialect.type_descriptor(_PgVector())

    def process_bind_param(
        self, value: "np.ndarray[Any, np.dtype[np.float32]] | None", dialect: sa.Dialect
    ) -> Any:
        """A vector as this database stores it."""
        if value is None:
            return None
        if dialect.name == "sqlite":
            return value.tobytes()
        return "[" + ",".join(map(repr, value.tolist())) + "]"
