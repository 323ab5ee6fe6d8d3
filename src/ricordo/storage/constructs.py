"""The few SQL expressions that the two databases spell differently."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from ricordo.storage.columns import Words

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
