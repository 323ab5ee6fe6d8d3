"""Statements that are compiled once and run on the driver's own cursor.

Running a Core statement costs 40 to 80 µs of bookkeeping, as much as a whole SQLite transaction
should. The handful of statements on the path of every write have a fixed shape, so their SQL text
and value conversions are worked out once per dialect. They are still built from ``tables.py``.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ricordo.storage.columns import Moment

Converter = Callable[[Any], Any]


class Prepared:
    """A Core statement ready to run on either database."""

    def __init__(self, statement: sa.sql.expression.Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: sa.Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Execute once and return the rows, if the statement gives any.

        Values come back as the driver gives them: select only texts and numbers.
        """
        compiled = self._for(connection.dialect)
        cursor = _driver(connection).execute(compiled.sql, compiled.bind(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return rows

    def run_typed(
        self, connection: sa.Connection, values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Like :meth:`run`, with every value as its column's type gives it: times, JSON, flags."""
        converters = self._for(connection.dialect).results
        return [
            tuple(
                value if convert is None else convert(value)
                for value, convert in zip(row, converters, strict=True)
            )
            for row in self.run(connection, values)
        ]

    def run_many(self, connection: sa.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute once per row of values, as one batch."""
        compiled = self._for(connection.dialect)
        cursor = _driver(connection).cursor()
        try:
            cursor.executemany(compiled.sql, [compiled.bind(values) for values in rows])
        finally:
            cursor.close()

    def _for(self, dialect: sa.Dialect) -> "_Compiled":
        found = self._compiled.get(dialect.name)
        if found is None:
            found = self._compiled[dialect.name] = _Compiled(self._statement, dialect)
        return found


class _Compiled:
    """The SQL text of a statement and how its values reach the driver."""

    def __init__(self, statement: sa.sql.expression.Executable, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        selected = getattr(statement, "selected_columns", ())
        self.results = [_result_converter(column.type, dialect) for column in selected]
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._constants: dict[str, Any] = constants
        self._converters: dict[str, Converter | None] = {
            name: bind.type.dialect_impl(dialect).bind_processor(dialect)
            for bind, name in compiled.bind_names.items()
        }
        self._positions: list[tuple[str, Converter | None]] | None = None
        if compiled.positiontup is not None:
            names = compiled.positiontup
            self._positions = [(name, self._converters[name]) for name in names]

    def bind(self, values: Mapping[str, Any]) -> Any:
        if self._constants:
            values = {**self._constants, **values}
        if self._positions is not None:
            return [
                values[name] if convert is None else convert(values[name])
                for name, convert in self._positions
            ]
        return {
            name: values[name] if convert is None else convert(values[name])
            for name, convert in self._converters.items()
        }


def _result_converter(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Converter | None:
    """How a driver's value becomes that of a column; None where it already is."""
    if isinstance(kind, sa.Float):
        return None
    if isinstance(kind, Moment) and dialect.name == "sqlite":
        return _moment  # ten times as fast as the way through SQLAlchemy
    return kind.dialect_impl(dialect).result_processor(dialect, None)


def _moment(stored: str | None) -> datetime | None:
    return None if stored is None else datetime.fromisoformat(stored)


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection
