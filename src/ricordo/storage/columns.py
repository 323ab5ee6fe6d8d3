"""Column types and SQL expressions that mean the same on SQLite and PostgreSQL."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from ricordo.errors import StorageCorrupt
from ricordo.model.checks import format_moment

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
    ``storage/backend.py``, many at a time.
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


# Not sa.Boolean: for that SQLAlchemy writes "… = 1" on SQLite, which keeps indexes from being used.
_TRUTH = sa.types.NullType()


class has_tag(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """True where a JSON array of texts has an element equal to the given text."""

    type = _TRUTH
    inherit_cache = True


@compiles(has_tag, "sqlite")
def _has_tag_sqlite(element: has_tag, compiler: SQLCompiler, **kw: Any) -> str:
    array, wanted = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"EXISTS (SELECT 1 FROM json_each({array}) WHERE json_each.value = {wanted})"  # noqa: S608 - compiled parts


@compiles(has_tag, "postgresql")
def _has_tag_postgresql(element: has_tag, compiler: SQLCompiler, **kw: Any) -> str:
    array, wanted = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"jsonb_exists({array}, {wanted})"


class among(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """True where a value is one of a list bound as a single parameter.

    Unlike ``IN`` with one parameter per value, the statement's text does not depend on the length
    of the list, so it can be prepared once. Bind the list with :func:`bound_list`.
    """

    type = _TRUTH
    inherit_cache = True


@compiles(among, "sqlite")
def _among_sqlite(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    value, listed = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"{value} IN (SELECT value FROM json_each({listed}))"  # noqa: S608 - compiled parts


@compiles(among, "postgresql")
def _among_postgresql(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    value, listed = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"{value} = ANY({listed})"


class surely_among(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """A value is one of what a sub-select finds: something that follows from the other conditions,
    said for PostgreSQL to find an index by.

    SQLite finds one by the others, and would only check it for nothing.
    """

    type = _TRUTH
    inherit_cache = True


@compiles(surely_among, "sqlite")
def _surely_among_sqlite(element: surely_among, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ARG001
    return "1"


@compiles(surely_among, "postgresql")
def _surely_among_postgresql(element: surely_among, compiler: SQLCompiler, **kw: Any) -> str:
    value, found = (compiler.process(clause, **kw) for clause in element.clauses)
    return (
        f"{value} = ANY (ARRAY{found})"  # an array is worked out first, and an index asked with it
    )


class vector_bytes(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """A stored vector as raw bytes, which is much faster to read than pgvector's text."""

    type = sa.LargeBinary()
    inherit_cache = True


@compiles(vector_bytes, "sqlite")
def _vector_bytes_sqlite(element: vector_bytes, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(next(iter(element.clauses)), **kw)


@compiles(vector_bytes, "postgresql")
def _vector_bytes_postgresql(element: vector_bytes, compiler: SQLCompiler, **kw: Any) -> str:
    return f"vector_send({compiler.process(next(iter(element.clauses)), **kw)})"


def bound_list(name: str, member: sa.types.TypeEngine[Any] = Words) -> sa.BindParameter[Any]:
    """A parameter that takes a whole list of texts (or of ``member``)."""
    return sa.bindparam(name, type_=sa.JSON().with_variant(postgresql.ARRAY(member), "postgresql"))
