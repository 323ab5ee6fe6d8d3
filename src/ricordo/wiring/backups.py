"""Restoring and checking backups, with the settings of a store."""

import os
from pathlib import Path
from typing import Any

from ricordo.clock import Clock, system_clock
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.reports import BackupReport, RestoreReport
from ricordo.transfer import backup, restore
from ricordo.wiring.databases import TEMPORARY, file_opener, open_database
from ricordo.wiring.environment import read_settings


def restore_backup(
    path: str | Path,
    url: str | Path | None = None,
    *,
    replace: bool = False,
    clock: Clock = system_clock,
    **settings: Any,
) -> RestoreReport:
    """Have a store hold what a backup does; see ``ricordo.restore_backup``.

    Raises:
        InvalidInput, InvalidBackup, StoreNotEmpty, AccessDenied, StorageError.
    """
    if url is not None:
        settings["url"] = str(url)
    chosen = read_settings(os.environ, settings)
    if chosen.url == TEMPORARY:
        raise InvalidValue("url", "a temporary store would be gone at once; name another")
    database, clean_up = open_database(chosen, clock)
    try:
        return restore.restore_backup(
            database,
            checks.path("path", path),
            file_opener(chosen, clock),
            replace=checks.flag("replace", replace),
        )
    finally:
        database.backend.close()
        clean_up()


def check_backup(path: str | Path, **settings: Any) -> BackupReport:
    """What is in a backup, once it was found sound; see ``ricordo.check_backup``.

    Raises:
        InvalidInput, InvalidBackup, StorageError.
    """
    chosen = read_settings(os.environ, settings)
    return backup.check_backup(checks.path("path", path), file_opener(chosen))
