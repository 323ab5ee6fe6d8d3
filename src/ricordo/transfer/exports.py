"""Exporting users as JSON Lines."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from ricordo.errors import InvalidValue, UserNotFound
from ricordo.model.vocabulary import ProposalState
from ricordo.storage.database import Database
from ricordo.storage.tables import group_members, link_offers, links, users
from ricordo.storage.users import has_user
from ricordo.transfer.rows import TABLE_OF_KIND, end_line, exported_columns, header_line, line_of

_ROWS_AT_ONCE: Final = 1_000


def export_lines(database: Database, only: str | None) -> Iterator[str]:
    """The lines of an export of one user, or of all, from one snapshot. Raises UserNotFound."""
    with database.read_all() if only is None else database.read(only) as reading:
        connection = reading.connection
        if only is not None and not has_user(connection, only):
            raise UserNotFound(only)
        every_user = sa.select(users.c.user_id).order_by(users.c.user_id)
        user_ids = connection.execute(every_user).scalars().all() if only is None else [only]
        yield header_line()
        rows = 0
        for user_id in user_ids:
            for kind, table in TABLE_OF_KIND.items():
                with contextlib.closing(_table_lines(connection, kind, table, user_id)) as lines:
                    for line in lines:
                        yield line
                        rows += 1
        yield end_line(rows)


def export_file(database: Database, only: str | None, path: Path) -> int:
    """Write an export to a file, atomically; the number of lines. Raises UserNotFound: nothing is
    stored for this user; InvalidValue: the file cannot be written."""
    count = 0
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    except OSError as error:
        raise _unwritable(path, error) from None
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            for line in export_lines(database, only):
                file.write(line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def _unwritable(path: Path, error: OSError) -> InvalidValue:
    return InvalidValue("path", f"{path} cannot be written ({error.strerror})")


def _table_lines(
    connection: sa.Connection, kind: str, table: sa.Table, user_id: str
) -> Generator[str, None, None]:
    others = {links: links.c.owner_id, group_members: group_members.c.space_id}
    owner = others.get(table, table.c.user_id)
    shown = [column.label(name) for name, column in exported_columns(table).items()]
    decided = link_offers.c.state == ProposalState.REJECTED.value
    wanted = (
        sa.select(*shown)
        .where(owner == user_id, decided if table is link_offers else sa.true())
        .order_by(*table.primary_key.columns)
        .execution_options(yield_per=_ROWS_AT_ONCE)
    )
    # Closed even if the caller stops early: on PostgreSQL it is a server-side cursor.
    with connection.execute(wanted) as found:
        for row in found.mappings():
            yield line_of(kind, row)


Progress = Callable[[int, int], None]
"""Called with the work done and the total."""


def no_progress(done: int, total: int) -> None:
    """The default: no progress display."""
