"""What the rows of a SQLite file add up to: how many each table has, and a hash over all of them.

Every table counts that has rows of its own, also those that the text index consists of, so that a
single changed value anywhere is found. The statistics of the planner do not: nothing rests on them.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from ricordo.storage.migrations import BACKUP_MANIFEST

_PIECE_CHARS: Final = 1_048_576  # a row has up to 16 MB, so that rows are not counted
# Without a root page it is virtual: its rows are in other tables, which are listed themselves.
_TABLES: Final = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> ? ORDER BY name"
)


@dataclass(frozen=True, slots=True)
class TableSum:
    """How many rows a table has, and the SHA-256 over them in the order of their key."""

    rows: int
    sha256: str


def sums_of(connection: sa.Connection) -> dict[str, TableSum]:
    """What every table of the file adds up to, by its name."""
    driver: Any = connection.connection.dbapi_connection
    names = [row[0] for row in driver.execute(_TABLES, (BACKUP_MANIFEST,))]
    return {name: _sum_of(driver, name) for name in names}


def _sum_of(driver: Any, table: str) -> TableSum:
    described = driver.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    columns = [_quoted(row[1]) for row in described]
    keyed = sorted((row[5], _quoted(row[1])) for row in described if row[5])
    order = [name for _, name in keyed] or columns
    rows = driver.execute(
        f"SELECT {', '.join(columns)} FROM {_quoted(table)} ORDER BY {', '.join(order)}"  # noqa: S608 - quoted names
    )
    digest = hashlib.sha256("\n".join(columns).encode())
    count, waiting, chars = 0, [], 0
    for row in rows:
        # As Python writes it in ASCII: no two different rows are written alike, and every version
        # of Python writes it so.
        written = ascii(row)
        count += 1
        waiting.append(written)
        chars += len(written)
        if chars > _PIECE_CHARS:
            digest.update(_lines(waiting))
            waiting, chars = [], 0
    digest.update(_lines(waiting))
    return TableSum(count, digest.hexdigest())


def _lines(written: list[str]) -> bytes:
    return "".join(f"\n{line}" for line in written).encode("ascii")


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
