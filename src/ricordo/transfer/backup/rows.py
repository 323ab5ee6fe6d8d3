"""Copying every row from one database to another, a few at a time, whichever the two are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from ricordo.limits import BACKUP_ROWS_AT_ONCE, BACKUP_WIDE_ROWS_AT_ONCE
from ricordo.storage.backend import matrix_of
from ricordo.storage.columns import Vector, vector_bytes
from ricordo.storage.tables import (
    ID_SERIES,
    checkpoints,
    graph_channels,
    graph_checkpoints,
    graph_writes,
    kept_answers,
    metadata,
    store,
    store_entries,
)

_WIDE: Final = frozenset(
    (checkpoints, graph_channels, graph_checkpoints, graph_writes, kept_answers, store_entries)
)
"""Tables a row of which can have many megabytes."""


def copy_rows(source: sa.Connection, target: sa.Connection) -> None:
    """Copy all rows of every table, in an order in which those that refer to others come later.

    Numbers that are given out next are no rows on one of the databases: see ``Backend.ids_given``.
    """
    for table in metadata.sorted_tables:
        insert = sa.insert(table)
        for rows in _pages(source, table):
            target.execute(insert, rows)


def count_rows(connection: sa.Connection) -> dict[str, int]:
    """How many rows each table has, whatever the database."""
    return {
        table.name: connection.execute(
            sa.select(sa.func.count()).select_from(table).where(_copied(table))
        ).scalar_one()
        for table in metadata.sorted_tables
    }


def _pages(source: sa.Connection, table: sa.Table) -> Iterator[Sequence[Mapping[str, Any]]]:
    at_once = BACKUP_WIDE_ROWS_AT_ONCE if table in _WIDE else BACKUP_ROWS_AT_ONCE
    vectors = [column.name for column in table.columns if isinstance(column.type, Vector)]
    columns = [
        vector_bytes(column).label(column.name) if column.name in vectors else column
        for column in table.columns
    ]
    wanted = sa.select(*columns).where(_copied(table)).order_by(*table.primary_key.columns)
    with source.execute(wanted.execution_options(yield_per=at_once)) as found:
        for page in found.mappings().partitions():
            rows = [dict(row) for row in page]
            for name in vectors:
                _decode(source, rows, name)
            yield rows


def _decode(source: sa.Connection, rows: list[dict[str, Any]], name: str) -> None:
    for row in rows:
        if row[name] is not None:
            row[name] = matrix_of(source, [row[name]])[0]


def _copied(table: sa.Table) -> sa.ColumnElement[bool]:
    return table.c.name.not_in(ID_SERIES) if table is store else sa.true()
