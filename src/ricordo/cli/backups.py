"""Backups of a whole store: ``backup make``, ``backup check`` and ``backup restore``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo.cli.migrating import schema_of
from ricordo.cli.options import Store
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import untouched_database
from ricordo.errors import StorageUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ricordo.model.reports import BackupReport, RestoreReport

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_STEP: Final = 1_000

NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the backup.")]
BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file of that name.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace all that the store holds, if it holds anything.")
]


def make(*, path: NewFile, force: Force = False, store: Store) -> None:
    """Write all that the store holds to one file, while others go on using it.

    The store is not migrated for it. On PostgreSQL, run it as the role that owns the tables.

    Example: ricordo backup make ricordo-monday.backup
    """
    from ricordo.transfer.backup import make_backup
    from ricordo.wiring import file_opener, read_settings

    with (
        untouched_database(store) as database,
        working("Backing up", wanted=not store.as_json),
    ):
        if schema_of(database) is None:
            raise StorageUnavailable(f"{database.backend.location}: there is no store to back up")
        settings = read_settings(os.environ, store.settings())
        report = make_backup(database, path, file_opener(settings), force=force)
    answer(store.as_json, report, lambda found: _described("Backed up", found))


def check(*, path: BackupFile, store: Store) -> None:
    """Look whether a file is a sound backup. It reads all of it, and changes nothing.

    Example: ricordo backup check ricordo-monday.backup
    """
    from ricordo.wiring import check_backup

    with working("Checking the backup", wanted=not store.as_json):
        report = check_backup(path, **store.settings())
    answer(store.as_json, report, lambda found: _described("Sound", found))


def restore(*, path: BackupFile, replace: Replace = False, store: Store) -> None:
    """Have a new or empty store hold what a backup does, on either database.

    Stop the service and all other programs that use the store first. The whole backup is checked
    before anything is changed; whatever goes wrong, the store is as it was.

    Example: ricordo backup restore ricordo-monday.backup --replace
    """
    from ricordo.wiring import restore_backup

    with working("Restoring", wanted=not store.as_json):
        report = restore_backup(path, replace=replace, **store.settings())
    answer(store.as_json, report, _told)


def _described(done: str, report: "BackupReport") -> str:
    made = f"{report.made_at:%Y-%m-%d %H:%M} UTC"
    first = (
        f"{done}: {report.path}, {_size(report.size_bytes)}, {_holds(report.rows)};"
        f" made {made} by ricordo {report.version} from {report.database}."
    )
    return f"{first}\n{_elsewhere(report.left_out)}"


def _told(report: "RestoreReport") -> str:
    made = f"{report.made_at:%Y-%m-%d %H:%M} UTC"
    migrated = "" if report.migrated_from is None else f", migrated from {report.migrated_from}"
    instead = " in place of what it held" if report.replaced else ""
    first = (
        f"Restored {_holds(report.rows)}, as of {made}{migrated}, to {report.database}{instead}."
    )
    return f"{first}\n{_elsewhere(report.left_out)}"


def _holds(rows: "Mapping[str, int]") -> str:
    users, items, turns = (rows.get(name, 0) for name in ("users", "items", "turns"))
    return f"users {users}, memories {items}, turns {turns}"


def _elsewhere(left_out: tuple[str, ...]) -> str:
    return f"Not in it: {'; '.join(left_out)}."


def _size(size_bytes: float) -> str:
    for unit in _UNITS:
        if size_bytes < _STEP or unit == _UNITS[-1]:
            break
        size_bytes /= _STEP
    return f"{size_bytes:.0f} {unit}" if unit == _UNITS[0] else f"{size_bytes:.1f} {unit}"
