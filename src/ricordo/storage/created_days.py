"""How many memories were made on each day (UTC)."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo.storage.constructs import bound_list
from ricordo.storage.prepared import Prepared

_SQLITE: Final = "sqlite"
_POSTGRESQL: Final = "postgresql"

# One count per day over a range of ix_items_created takes a sixth of the time that SQLite needs to
# sort the same rows into groups, and half of PostgreSQL's.
_of_one: Final = {
    _SQLITE: Prepared(
        sa.text(
            "SELECT day.value, (SELECT count(*) FROM items WHERE user_id = :user_id"
            " AND created_at >= day.value AND created_at < date(day.value, '+1 day'))"
            " FROM json_each(:days) AS day"
        ).bindparams(bound_list("days"))
    ),
    _POSTGRESQL: Prepared(
        sa.text(
            "SELECT day, (SELECT count(*) FROM items WHERE user_id = :user_id"
            " AND created_at >= CAST(day AS timestamp) AT TIME ZONE 'UTC'"
            " AND created_at < (CAST(day AS timestamp) + interval '1 day') AT TIME ZONE 'UTC')"
            " FROM unnest(CAST(:days AS text[])) AS day"
        ).bindparams(bound_list("days"))
    ),
}

# Of many users, a count for each of them and each day would be too many: all rows are gone through.
_of_all: Final = {
    _SQLITE: Prepared(
        sa.text(
            "SELECT substr(created_at, 1, 10), count(*) FROM items"
            " WHERE created_at >= :first AND created_at < :end GROUP BY 1"
        )
    ),
    _POSTGRESQL: Prepared(
        sa.text(
            "SELECT CAST(created_at AT TIME ZONE 'UTC' AS date), count(*) FROM items"
            " WHERE created_at >= CAST(CAST(:first AS text) AS timestamp) AT TIME ZONE 'UTC'"
            " AND created_at < CAST(CAST(:end AS text) AS timestamp) AT TIME ZONE 'UTC' GROUP BY 1"
        )
    ),
}


def memories_by_day(
    connection: sa.Connection, user_id: str | None, days: Sequence[str]
) -> dict[str, int]:
    """How many of a user's own memories, or of everybody's, were made on each of some days.

    The days follow each other, as ISO texts. What was purged is not there any more; all else
    counts, whatever became of it.
    """
    kind = connection.dialect.name
    if user_id is not None:
        rows = _of_one[kind].run(connection, {"user_id": user_id, "days": list(days)})
    else:
        end = (date.fromisoformat(days[-1]) + timedelta(days=1)).isoformat()
        rows = _of_all[kind].run(connection, {"first": days[0], "end": end})
    return {str(day): count for day, count in rows}
