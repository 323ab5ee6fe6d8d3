"""Statements that are compiled once and run on the driver's own cursor."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from ricordo.model.checks import format_moment
from ricordo.storage.sql_types import Moment, stored_moment

Converter = Callable[[Any], Any]


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
        cursor = _driver(connection).execute(compiled.sql, compiled.bind(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return rows

    def run_typed(
        self, connection: sa.Connection, values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Like :meth:`run`, with values converted by their column types: times, JSON, flags."""
        converters = self._for(connection.dialect).results
        return [
            tuple(
                value if convert is None else convert(value)
                for value, convert in zip(row, converters, strict=True)
            )
            for row in self.run(connection, values)
        ]

    def run_many(self, connection: sa.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        compiled = self._for(connection.dialect)
        bound = [compiled.bind(values) for values in rows]
        cursor = _driver(connection).cursor()
        try:
            if len(bound) == 1:
                cursor.execute(compiled.sql, bound[0])
            else:
                cursor.executemany(compiled.sql, bound)
        finally:
            cursor.close()

    def _for(self, dialect: sa.Dialect) -> "_Compiled":
        found = self._compiled.get(dialect.name)
        if found is None:
            found = self._compiled[dialect.name] = _Compiled(self._statement, dialect)
        return found


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
    moments = [column.name for column in table.columns if isinstance(column.type, Moment)]
    return PreparedStatement(
        statement.bindparams(*(sa.bindparam(name, type_=Moment) for name in moments))
    )


class _Compiled:
    def __init__(self, statement: sa.sql.expression.Executable, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        selected = getattr(statement, "selected_columns", ())
        self.results = [_result_converter(column.type, dialect) for column in selected]
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._constants: dict[str, Any] = constants
        kinds = {name: bind.type for bind, name in compiled.bind_names.items()}
        self._by_position = compiled.positiontup is not None
        self._names: list[str] = compiled.positiontup if self._by_position else list(kinds)
        self._pick = _picker(self._names)
        converters = [_bind_converter(kinds[name], dialect) for name in self._names]
        self._conversions = [
            (place, convert) for place, convert in enumerate(converters) if convert is not None
        ]

    def bind(self, values: Mapping[str, Any]) -> Any:
        if self._constants:
            values = {**self._constants, **values}
        bound = list(self._pick(values))
        for place, convert in self._conversions:
            value = bound[place]
            if value is not None:  # which is NULL for every type
                bound[place] = convert(value)
        return bound if self._by_position else dict(zip(self._names, bound, strict=True))


def _picker(names: Sequence[str]) -> Callable[[Mapping[str, Any]], Iterable[Any]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: [values[name] for name in names]


def _bind_converter(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Converter | None:
    """How a value is converted for the driver; None for no conversion."""
    if dialect.name == "sqlite":  # the quickest way for what every write has
        if isinstance(kind, Moment):
            return _moment_text
        if isinstance(kind, sa.JSON):
            return _json_text
    return kind.dialect_impl(dialect).bind_processor(dialect)


@lru_cache(maxsize=64)  # a write has its own time in many places
def _moment_text(moment: datetime) -> str:
    return format_moment(moment)


def _json_text(value: Any) -> str:
    if not value and isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value)


def _result_converter(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Converter | None:
    """How a driver's value is converted; None for no conversion."""
    if isinstance(kind, sa.Float):
        return None
    if isinstance(kind, Moment) and dialect.name == "sqlite":
        return _moment  # ten times as fast as the way through SQLAlchemy
    return kind.dialect_impl(dialect).result_processor(dialect, None)


def _moment(stored: str | None) -> datetime | None:
    return None if stored is None else stored_moment(stored)


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection


def plan_by_values(connection: sa.Connection) -> None:
    """Plan each statement in the rest of this transaction for its actual values.

    PostgreSQL switches to a generic plan after some runs. For a theme or conversation with most of
    a user's memories, or hardly any, that plan reads a hundred times too much. No-op on SQLite.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")
