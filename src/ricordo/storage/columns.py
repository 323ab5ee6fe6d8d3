"""Column types that mean the same on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ricordo.model.times import format_moment


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
