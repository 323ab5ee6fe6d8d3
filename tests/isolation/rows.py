"""A row of each table for a user, made from what the schema says of its columns alone."""

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from ricordo.storage.sql import Moment, Vector
from ricordo.storage.tables import OWNED_TABLES, links

_numbers = itertools.count(1_000)
_ALLOWED = re.compile(r"(\w+) IN \('([^']*)'")


def row_of(table: sa.Table, user_id: str, number: int) -> dict[str, Any]:
    """A row that every constraint of the table allows."""
    words: dict[str, str] = {}
    for constraint in table.constraints:
        if isinstance(constraint, sa.CheckConstraint):
            words |= dict(_ALLOWED.findall(str(constraint.sqltext)))
    row = {column.name: _value(column, words, number) for column in table.columns}
    row["user_id"] = user_id
    if "low_id" in row:
        row["high_id"] = row["low_id"] + 1
    if table is links:
        row["owner_id"] = user_id  # of nobody else's, unless a test says so
    return row


def rows_of(user_id: str) -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """One row for every table with a user's rows, in an order in which they can be inserted."""
    number = next(_numbers)
    for table in reversed(OWNED_TABLES):
        yield table, row_of(table, user_id, number)


def _value(column: sa.Column[Any], words: dict[str, str], number: int) -> Any:
    if column.name in words:
        return words[column.name]
    if column.name in ("theme", "slug", "thread_id"):  # what foreign keys lead to
        return "one"
    if column.name in ("confidence", "importance"):
        return 3
    for kind, value in (
        (sa.Text, f"{column.name} {number}"),
        (Moment, datetime(2026, 1, 1, tzinfo=UTC)),
        (sa.JSON, {}),
        (Vector, None),
        (sa.Boolean, False),
        (sa.LargeBinary, b""),
    ):
        if isinstance(column.type, kind):
            return value
    return number
