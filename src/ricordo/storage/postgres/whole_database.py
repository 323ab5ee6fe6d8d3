"""What concerns a database as a whole: whether all of it is seen, who uses it, how far ids are."""

import time
from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from ricordo.storage.tables import ID_SERIES, metadata

APPLICATION: Final = "ricordo"
"""What our connections are called in the server's list."""

_PATIENCE_SECONDS: Final = 2.0  # the server takes a moment to notice that somebody has gone
_RETRY_SECONDS: Final = 0.02
_OTHERS: Final = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s AND pid <> pg_backend_pid()
"""


def hides_rows(connection: sa.Connection) -> bool:
    """True where row-level security binds the role that is connected."""
    names = [table.name for table in metadata.sorted_tables]
    asked = "SELECT bool_or(row_security_active(name)) FROM unnest(CAST(%s AS text[])) AS name"
    return bool(connection.exec_driver_sql(asked, (names,)).scalar_one())


def ids_given(connection: sa.Connection) -> dict[str, int]:
    """The last number of each series. They belong to no snapshot: it is read as of now."""
    last = {}
    for series in ID_SERIES:
        found = f"SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM {series}"  # noqa: S608 - ours
        last[series] = int(connection.exec_driver_sql(found).scalar_one())
    return last


def set_ids(connection: sa.Connection, last: Mapping[str, int]) -> None:
    """Have each series go on after a number. No rollback takes that back."""
    for series, number in last.items():
        connection.exec_driver_sql(
            "SELECT setval(%s::regclass, greatest(%s, 1), %s)", (series, number, number > 0)
        )


def users_of(connection: sa.Connection) -> int:
    """How many other connections of ricordo the database has, also those that do nothing."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        # Within a transaction, the list is otherwise the same at every look.
        connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")
        found = int(connection.exec_driver_sql(_OTHERS, (APPLICATION,)).scalar_one())
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(_RETRY_SECONDS)
