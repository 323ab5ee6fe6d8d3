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
    """Parse a time as SQLite stores it.

    Raises:
        StorageCorrupt: it is not a time.
    """
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise StorageCorrupt(_DAMAGED) from None


def stored_json(text: str) -> Any:
    """Parse JSON as SQLite stores it.

    Raises:
        StorageCorrupt: it is not JSON.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        raise StorageCorrupt(_DAMAGED) from None


def stored_choice(kind: type[E], name: str) -> E:
    """Parse a stored enumeration value.

    Raises:
        StorageCorrupt: there is no such value.
    """
    try:
        return kind(name)
    except ValueError:
        raise StorageCorrupt(_DAMAGED) from None


class Moment(sa.types.TypeDecorator[datetime]):
    """A time in UTC: ``timestamptz`` on PostgreSQL, sortable ISO text on SQLite."""

    impl = sa.TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.Text())
        return dialect.type_descriptor(sa.TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        return format_moment(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
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
    """pgvector's column type without a fixed width: each model has its own."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"


class Vector(sa.types.TypeDecorator[Any]):
    """A vector: pgvector's type on PostgreSQL, 32-bit floats in a blob on SQLite.

    Takes a numpy array. To read it, select ``vector_bytes(column)`` and decode many at a time with
    ``backend.matrix_of``.
    """

    impl = sa.LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.LargeBinary())
        return dialect.type_descriptor(_PgVector())

    def process_bind_param(
        self, value: "np.ndarray[Any, np.dtype[np.float32]] | None", dialect: sa.Dialect
    ) -> Any:
        if value is None:
            return None
        if dialect.name == "sqlite":
            return value.tobytes()
        return "[" + ",".join(map(repr, value.tolist())) + "]"


# Not sa.Boolean: SQLAlchemy writes "… = 1" for it on SQLite, which defeats indexes.
_TRUTH = sa.types.NullType()


class has_tag(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """True where a JSON array of texts contains the given text."""

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
    """True where a value is in a list bound as one parameter.

    Unlike ``IN``, the SQL text does not depend on the length of the list, so it can be prepared
    once. Bind the list with :func:`bound_list`.
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
    """A redundant condition that lets PostgreSQL use an index: the value is in a sub-select.

    SQLite needs no such hint and ignores it.
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
