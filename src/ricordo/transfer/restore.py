"""Restoring a backup, all or nothing.

The backup is verified first, and an older one is migrated in a copy. Then a SQLite file is
replaced, or the rows of a PostgreSQL database, in one transaction.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import sqlalchemy as sa

from ricordo.errors import AccessDenied, StorageError, StoreNotEmpty
from ricordo.files.disk import file_errors, make_folder
from ricordo.frozen import dataclass, field
from ricordo.model.reports import RestoreReport
from ricordo.storage.database import Database
from ricordo.storage.migration import HEAD, upgrade, version_of
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connection import Use
from ricordo.storage.tables import OWNED_TABLES, metadata, users
from ricordo.storage.webhooks import pause_all
from ricordo.transfer.backup import (
    Manifest,
    copy_rows,
    count_rows,
    recognised,
    remove_manifest,
    verified,
)
from ricordo.transfer.drafts import FileOpener, copy_into, draft_beside, opened


@dataclass(frozen=True, slots=True)
class _FormerState:
    """The state of a store before: whether it has rows, its sequences, and its index stamp."""

    anything: bool = False
    ids: Mapping[str, int] = field(default_factory=dict)
    last_stamp: int = 0


def restore_backup(
    target: Database, path: Path, open_file: FileOpener, *, replace: bool
) -> RestoreReport:
    """Restore a backup into an empty or new store or, with ``replace``, any.

    Raises:
        InvalidValue: there is no such file.
        InvalidBackup: it is no backup, or is damaged or was changed.
        DatabaseTooNew: a newer ricordo made the backup, or the store.
        StoreNotEmpty: the store has rows, and ``replace`` is off.
        StorageBusy: other programs have the store open.
        AccessDenied: the tables belong to another role.
        StorageError: the database failed. In all cases the store is unchanged.
    """
    into = _into_file if isinstance(target.backend, SqliteBackend) else _into_server
    manifest, replaced, rows = into(target, path, open_file, replace)
    return RestoreReport(
        path=str(path),
        made_at=manifest.made_at,
        database=target.backend.location,
        schema=HEAD,
        migrated_from=None if manifest.schema == HEAD else manifest.schema,
        replaced=replaced,
        rows={name: rows[name] for name in sorted(table.name for table in OWNED_TABLES)},
    )


_Restored = tuple[Manifest, bool, dict[str, int]]


def _into_file(target: Database, path: Path, open_file: FileOpener, replace: bool) -> _Restored:
    backend = target.backend
    assert isinstance(backend, SqliteBackend)
    with opened(path, Use.READ, open_file) as backup:
        recognised(backup, path)
    make_folder(backend.path.parent)
    with _up_to_date_copy(path, backend.path, open_file) as (copy, manifest):
        former = _FormerState()
        with file_errors(backend.path):
            exists = backend.path.exists() and backend.path.stat().st_size > 0
        if exists:
            with target.our_errors():
                backend.require_alone()
            former = _former_state(target)
        _require_empty(target, former, replace)
        with copy.transaction() as connection:
            _continue_from(copy, connection, former)
            rows = count_rows(connection)
        assert isinstance(copy.backend, SqliteBackend)
        with target.our_errors():
            backend.take_over(copy.backend)
    with target.read_all() as reading:
        _require_same(target, rows, count_rows(reading.connection))
    return manifest, former.anything, rows


@contextlib.contextmanager
def _up_to_date_copy(
    path: Path, beside: Path, open_file: FileOpener
) -> Iterator[tuple[Database, Manifest]]:
    """A private copy of a backup as an ordinary store of the current schema."""
    with draft_beside(beside) as draft:
        copy_into(draft, path)
        with opened(draft, Use.DRAFT, open_file) as copy:
            manifest = verified(copy, path)
            with copy.transaction() as connection:
                remove_manifest(connection)
            upgrade(copy)
            yield copy, manifest


def _into_server(target: Database, path: Path, open_file: FileOpener, replace: bool) -> _Restored:
    with _present_backup(path, open_file) as (backup, manifest):
        _require_empty(target, _former_state(target), replace)
        upgrade(target)
        with backup.read_all() as reading, target.transaction() as connection:
            target.backend.claim_tables(connection)
            former = _read_state(target, connection)
            _require_empty(target, former, replace)
            names = ", ".join(table.name for table in metadata.sorted_tables)
            connection.exec_driver_sql(f"TRUNCATE {names}")
            copy_rows(reading.connection, connection)
            given = backup.backend.ids_given(reading.connection)
            target.backend.go_on_after(connection, given)
            _continue_from(target, connection, former)
            rows = count_rows(reading.connection)
            _require_same(target, rows, count_rows(connection))
    return manifest, former.anything, rows


@contextlib.contextmanager
def _present_backup(path: Path, open_file: FileOpener) -> Iterator[tuple[Database, Manifest]]:
    """A verified backup as a store of the current schema: the file itself, or a migrated copy."""
    with opened(path, Use.READ, open_file) as backup:
        manifest = verified(backup, path)
        if manifest.schema == HEAD:
            yield backup, manifest
            return
    with _up_to_date_copy(path, path, open_file) as found:
        yield found


def _former_state(target: Database) -> _FormerState:
    """The state of a store of any schema version, or of none. Raises AccessDenied."""
    if version_of(target) is None:
        return _FormerState()
    with target.read_all() as reading:
        owner = target.backend.owner_elsewhere(reading.connection)
        if owner is not None:
            raise AccessDenied(
                f"{target.backend.location}: only the role that owns the tables, {owner!r}, can"
                " restore a backup"
            )
        return _read_state(target, reading.connection)


def _read_state(target: Database, connection: sa.Connection) -> _FormerState:
    there = set(sa.inspect(connection).get_table_names())
    some = (
        sa.exists(sa.select(sa.literal(1)).select_from(table))
        for table in OWNED_TABLES
        if table.name in there
    )
    return _FormerState(
        anything=bool(connection.execute(sa.select(sa.or_(*some))).scalar()),
        ids=target.backend.ids_given(connection),
        last_stamp=_last_stamp(connection),
    )


def _last_stamp(connection: sa.Connection) -> int:
    columns = {column["name"] for column in sa.inspect(connection).get_columns(users.name)}
    if users.c.index_stamp.name not in columns:  # from before there was search
        return 0
    return connection.execute(sa.select(sa.func.max(users.c.index_stamp))).scalar() or 0


def _require_empty(target: Database, former: _FormerState, replace: bool) -> None:
    if former.anything and not replace:
        raise StoreNotEmpty(
            f"{target.backend.location} is not empty: restore into an empty store, or"
            " replace all that is in this one"
        )


def _continue_from(restored: Database, connection: sa.Connection, former: _FormerState) -> None:
    """Never reuse an id of the former contents, and invalidate indexes of it in other processes.

    Webhooks are paused: a copy must not send what the original sends.
    """
    pause_all(connection, "the store was restored from a backup", restored.clock())
    restored.backend.go_on_after(connection, former.ids)
    now = int(restored.clock().timestamp() * 1_000_000)  # like the first stamp of every user
    stamp = max(now, former.last_stamp, _last_stamp(connection)) + 1
    connection.execute(sa.update(users).values(index_stamp=stamp, index_epoch=stamp))


def _require_same(target: Database, wanted: dict[str, int], found: dict[str, int]) -> None:
    if wanted != found:
        raise StorageError(f"{target.backend.location}: rows are missing in the copy")
