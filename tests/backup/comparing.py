"""Everything that a store holds, and what it answers, in a form that both databases share."""

from typing import Any

import sqlalchemy as sa

from ricordo import Memory
from ricordo.storage.sql import Vector, matrix_of, vector_bytes
from ricordo.storage.tables import ID_SERIES, metadata, store

# Restoring moves them on, so that no copy of the index in memory is taken for the present one.
MOVED_ON = {"index_stamp", "index_epoch"}


def rows_of(memory: Memory) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table in the order of its key; vectors as the bytes of their numbers."""
    with memory.database.read_all() as view:
        return {table.name: _rows(view.connection, table) for table in metadata.sorted_tables}


def _rows(connection: sa.Connection, table: sa.Table) -> list[tuple[Any, ...]]:
    kept = [column for column in table.columns if column.name not in MOVED_ON]
    vectors = [isinstance(column.type, Vector) for column in kept]
    columns = [
        vector_bytes(column).label(column.name) if is_vector else column
        for column, is_vector in zip(kept, vectors, strict=True)
    ]
    wanted = sa.select(*columns).order_by(*table.primary_key.columns)
    if table is store:  # on one of the databases they are no rows
        wanted = wanted.where(store.c.name.not_in(ID_SERIES))
    return [
        tuple(
            matrix_of(connection, [value])[0].tobytes() if is_vector and value else value
            for value, is_vector in zip(row, vectors, strict=True)
        )
        for row in connection.execute(wanted)
    ]


def ids_given(memory: Memory) -> dict[str, int]:
    with memory.database.read_all() as view:
        return memory.database.backend.ids_given(view.connection)
