"""Column types that mean the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ricordo.model.times import format_moment

if TYPE_CHECKING:
    import numpy as np


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

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """A stored time as UTC."""
        if value is None:
            return None
        if isinstance(value, str):
            return datetime.fromisoformat(value)
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
