"""What means the same on both databases: column types, expressions, prepared statements, pages."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import replacement_traverse

from ricordo.errors import StorageCorrupt
from ricordo.model.checks import format_moment
from ricordo.model.record import Page, cursor_moment, decode_cursor, encode_cursor

Condition = sa.ColumnElement[bool]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Row = np.ndarray[tuple[int], np.dtype[np.float32]]
Converter = Callable[[Any], Any]
E = TypeVar("E", bound=StrEnum)

_DAMAGED: Final = "a stored value cannot be read: the database is damaged; restore a backup"
_PG_HEADER_BYTES: Final = 4  # pgvector sends its width and two unused bytes first
Words: Final = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")
"""Text that compares and sorts by code point on both databases."""

# Not sa.Boolean: SQLAlchemy writes "… = 1" for it on SQLite, which defeats indexes.
_TRUTH = sa.types.NullType()
_moment_text = lru_cache(maxsize=64)(format_moment)  # a write has its own time in many places


def stored_moment(text: str) -> datetime:
    """Parse a time as SQLite stores it. Raises StorageCorrupt: it is not a time."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise StorageCorrupt(_DAMAGED) from None


def stored_json(text: str) -> Any:
    """Parse JSON as SQLite stores it. Raises StorageCorrupt: it is not JSON."""
    if text == "[]":  # most tags
        return []
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        raise StorageCorrupt(_DAMAGED) from None


def stored_choice(kind: type[E], name: str) -> E:
    """Parse a stored enumeration value. Raises StorageCorrupt: there is no such value."""
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


class Json(sa.types.TypeDecorator[Any]):
    """``jsonb`` on PostgreSQL, text on SQLite."""

    impl = sa.JSON(none_as_null=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.JSON(none_as_null=True))
        from sqlalchemy.dialects.postgresql import JSONB  # takes as long to load as all our tables

        return dialect.type_descriptor(JSONB(none_as_null=True))


class _PgVector(sa.types.UserDefinedType[Any]):
    """pgvector's column type without a fixed width: each model has its own."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"


class Vector(sa.types.TypeDecorator[Any]):
    """A vector: pgvector's type on PostgreSQL, 32-bit floats in a blob on SQLite.

    Takes a numpy array. To read it, select ``vector_bytes(column)`` and decode many at a time with
    :func:`matrix_of`.
    """

    impl = sa.LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.LargeBinary())
        return dialect.type_descriptor(_PgVector())

    def process_bind_param(self, value: Row | None, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        return value.tobytes() if dialect.name == "sqlite" else vector_text(value)


def vector_text(vector: Row) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def matrix_of(connection: sa.Connection, stored: Sequence[bytes]) -> Matrix:
    """Decode vectors of one width, selected with ``vector_bytes``, one per row."""
    if not stored:
        return np.zeros((0, 0), np.float32)
    if connection.dialect.name == "sqlite":
        flat = np.frombuffer(b"".join(stored), "<f4")
    else:
        flat = np.frombuffer(b"".join(sent[_PG_HEADER_BYTES:] for sent in stored), ">f4")
    return flat.astype(np.float32, copy=False).reshape(len(stored), -1)


def dot_products(rows: Matrix, vector: Row) -> Row:
    """Of each row with a vector, in this thread: BLAS would share a large matrix among threads
    that wait by spinning, which on busy cores takes ten times as long."""
    return np.vecdot(rows, vector)  # type: ignore[no-any-return]


def compiled_as(function: type[FunctionElement[Any]], *, sqlite: str, postgresql: str) -> None:
    """Define the SQL of a function on each database; ``{0}``, ``{1}`` are its arguments."""

    def define(dialect: str, template: str) -> None:
        @compiles(function, dialect)
        def compiled(element: FunctionElement[Any], compiler: SQLCompiler, **kw: Any) -> str:
            arguments = element.clauses if "{" in template else ()
            return template.format(*(compiler.process(one, **kw) for one in arguments))

    define("sqlite", sqlite)
    define("postgresql", postgresql)


class has_tag(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """True where a JSON array of texts contains the given text."""

    type = _TRUTH
    inherit_cache = True


compiled_as(
    has_tag,
    sqlite="EXISTS (SELECT 1 FROM json_each({0}) WHERE json_each.value = {1})",
    postgresql="jsonb_exists({0}, {1})",
)


class among(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """True where a value is in a list bound as one parameter.

    Unlike ``IN``, the SQL text does not depend on the length of the list, so it can be prepared
    once. Bind the list with :func:`bound_list`.
    """

    type = _TRUTH
    inherit_cache = True


compiled_as(among, sqlite="{0} IN (SELECT value FROM json_each({1}))", postgresql="{0} = ANY({1})")


class joined_texts(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """The texts of a column in one, with commas between them; NULL where there are none."""

    type = sa.Text()
    inherit_cache = True


compiled_as(joined_texts, sqlite="group_concat({0}, ',')", postgresql="string_agg({0}, ',')")


class surely_among(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """A redundant condition that lets PostgreSQL use an index: the value is in a sub-select.

    The array is computed first, and the index is searched for its members. SQLite needs no such
    hint and ignores it.
    """

    type = _TRUTH
    inherit_cache = True


compiled_as(surely_among, sqlite="1", postgresql="{0} = ANY (ARRAY{1})")


class vector_bytes(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function it is
    """A stored vector as raw bytes, which is much faster to read than pgvector's text."""

    type = sa.LargeBinary()
    inherit_cache = True


compiled_as(vector_bytes, sqlite="{0}", postgresql="vector_send({0})")


def bound_list(name: str, member: sa.types.TypeEngine[Any] = Words) -> sa.BindParameter[Any]:
    """A parameter that takes a whole list of texts (or of ``member``)."""
    return sa.bindparam(name, type_=sa.JSON().with_variant(sa.ARRAY(member), "postgresql"))


def with_values(condition: Condition, values: Mapping[str, Any]) -> Condition:
    """A condition on parameters as one on their values."""

    def valued(element: Any, **_: Any) -> Any:
        if isinstance(element, sa.BindParameter) and element.key in values:
            return sa.literal(values[element.key], element.type)
        return None

    return replacement_traverse(condition, {}, valued)


def driver_of(connection: sa.Connection) -> Any:
    """The driver's own connection."""
    return connection.connection.dbapi_connection


class PreparedStatement:
    """A Core statement that is compiled once per dialect.

    Running a Core statement costs 40 to 80 µs of bookkeeping, as much as a whole SQLite
    transaction. Columns of a partial index's condition (``state``, ``status``) are compared with
    literals: with bound values SQLite plans the statement again on every run.
    """

    def __init__(self, statement: sa.sql.expression.Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: sa.Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Execute and return the rows, if any.

        Values come back as the driver returns them: select only texts and numbers.
        """
        compiled = self._for(connection.dialect)
        cursor = driver_of(connection).execute(compiled.sql, compiled.bind(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return rows

    def run_typed(
        self, connection: sa.Connection, values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Like :meth:`run`, with values converted by their column types: times, JSON, flags."""
        converters = self._for(connection.dialect).results
        rows = self.run(connection, values)
        if not converters:
            return rows
        found = []
        for row in map(list, rows):
            for place, convert in converters:
                if row[place] is not None:  # which is None in every type
                    row[place] = convert(row[place])
            found.append(tuple(row))
        return found

    def run_named(
        self, connection: sa.Connection, values: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Like :meth:`run_typed`, each row by the names of its columns."""
        names = self._for(connection.dialect).names
        return [dict(zip(names, row, strict=True)) for row in self.run_typed(connection, values)]

    def run_many(self, connection: sa.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        compiled = self._for(connection.dialect)
        _run_each(connection, compiled.sql, [compiled.bind(values) for values in rows])

    def run_rows(self, connection: sa.Connection, rows: Iterable[list[Any]]) -> None:
        """Insert rows whose values stand in the order of the table's columns."""
        compiled = self._for(connection.dialect)
        _run_each(connection, compiled.sql, [compiled.bind_row(row) for row in rows])

    def _for(self, dialect: sa.Dialect) -> "_Compiled":
        found = self._compiled.get(dialect.name)
        if found is None:
            found = self._compiled[dialect.name] = _Compiled(self._statement, dialect)
        return found


def _run_each(connection: sa.Connection, sql: str, bound: list[Any]) -> None:
    cursor = driver_of(connection).cursor()
    try:
        if len(bound) == 1:
            cursor.execute(sql, bound[0])
        else:
            cursor.executemany(sql, bound)
    finally:
        cursor.close()


def upsert(table: sa.Table, *, replacing: bool) -> PreparedStatement:
    """Insert a whole row; on a conflict replace the row with the same key, or keep it."""
    names = [column.name for column in table.columns]
    key = [column.name for column in table.primary_key.columns]
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    action = f"DO UPDATE SET {changed}" if replacing else "DO NOTHING"
    statement = sa.text(
        f"INSERT INTO {table.name} ({', '.join(names)})"  # noqa: S608 - names of tables.py
        f" VALUES ({', '.join(f':{name}' for name in names)})"
        f" ON CONFLICT ({', '.join(key)}) {action}"
    )
    typed = [column for column in table.columns if isinstance(column.type, Moment | Json | sa.JSON)]
    return PreparedStatement(
        statement.bindparams(*(sa.bindparam(column.name, type_=column.type) for column in typed))
    )


class _Compiled:
    def __init__(self, statement: sa.sql.expression.Executable, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        selected = getattr(statement, "selected_columns", ())
        self.names = [getattr(column, "name", "") for column in selected]
        converters = [_result_converter(column.type, dialect) for column in selected]
        self.results = [(place, convert) for place, convert in enumerate(converters) if convert]
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._constants: dict[str, Any] = constants
        kinds = {name: bind.type for bind, name in compiled.bind_names.items()}
        self._by_position = compiled.positiontup is not None
        self._names: list[str] = compiled.positiontup if self._by_position else list(kinds)
        bound = [_bind_converter(kinds[name], dialect) for name in self._names]
        self._conversions = [(place, convert) for place, convert in enumerate(bound) if convert]

    def bind(self, values: Mapping[str, Any]) -> Any:
        if self._constants:
            values = {**self._constants, **values}
        bound = [values[name] for name in self._names]
        for place, convert in self._conversions:
            value = bound[place]
            if value is not None:  # which is NULL for every type
                bound[place] = convert(value)
        return bound if self._by_position else dict(zip(self._names, bound, strict=True))

    def bind_row(self, row: list[Any]) -> Any:
        for place, convert in self._conversions:
            value = row[place]
            if value is not None:
                row[place] = convert(value)
        return row if self._by_position else dict(zip(self._names, row, strict=True))


def _bind_converter(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Converter | None:
    """How a value is converted for the driver; None for no conversion."""
    if dialect.name == "sqlite":  # faster than SQLAlchemy for what every write has
        if isinstance(kind, Moment):
            return _moment_text
        if isinstance(kind, Json | sa.JSON):
            return _json_text
    implemented: Any = kind.dialect_impl(dialect)
    if isinstance(implemented, sa.ARRAY) and isinstance(implemented.item_type, sa.Integer):
        return _array_of_numbers  # which the driver would write one by one
    return implemented.bind_processor(dialect)  # type: ignore[no-any-return]


def _array_of_numbers(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _json_text(value: Any) -> str:
    if not value and isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value, default=format_moment)


def _result_converter(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Converter | None:
    """How a driver's value is converted; None for no conversion."""
    if isinstance(kind, sa.Float):
        return None
    if dialect.name == "sqlite":  # ten times as fast as SQLAlchemy
        if isinstance(kind, Moment):
            return stored_moment
        if isinstance(kind, Json):
            return stored_json
    return kind.dialect_impl(dialect).result_processor(dialect, None)


def plan_by_values(connection: sa.Connection) -> None:
    """Plan each statement in the rest of this transaction for its actual values.

    PostgreSQL switches to a generic plan after some runs. For a theme or conversation with most of
    a user's memories, or hardly any, that plan reads a hundred times too much. No-op on SQLite.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")


T = TypeVar("T")
Read = Callable[[sa.RowMapping], T]


def page_by_id(
    connection: sa.Connection,
    wanted: sa.Select[Any],
    read: Read[T],
    kind: str,
    column: sa.Column[int],
    limit: int,
    cursor: str | None,
    *,
    descending: bool = False,
) -> Page[T]:
    """A page in the order of an id; ``kind`` is that of the cursors. Raises InvalidCursor: the
    cursor was not given out by this list."""
    if cursor is not None:
        (last,) = decode_cursor(kind, cursor, (int,))
        wanted = wanted.where(column < last if descending else column > last)
    ordered = wanted.order_by(column.desc() if descending else column).limit(limit + 1)
    rows = connection.execute(ordered).mappings().all()
    more = encode_cursor(kind, [rows[limit - 1][column]]) if len(rows) > limit else None
    return Page(tuple(read(row) for row in rows[:limit]), more)


def page_by_time(
    connection: sa.Connection,
    wanted: sa.Select[Any],
    read: Read[T],
    kind: str,
    at: sa.Column[Any],
    key: sa.Column[str],
    limit: int,
    cursor: str | None,
) -> Page[T]:
    """A page with the latest first, by ``key`` among equals; ``kind`` is that of the cursors.
    Raises InvalidCursor: the cursor was not given out by this list."""
    if cursor is not None:
        moment, last = decode_cursor(kind, cursor, (str, str))
        reached = cursor_moment(moment)
        wanted = wanted.where(sa.or_(at < reached, sa.and_(at == reached, key < last)))
    ordered = wanted.order_by(at.desc(), key.desc()).limit(limit + 1)
    rows = connection.execute(ordered).mappings().all()
    more = None
    if len(rows) > limit:
        more = encode_cursor(kind, [format_moment(rows[limit - 1][at]), rows[limit - 1][key]])
    return Page(tuple(read(row) for row in rows[:limit]), more)
