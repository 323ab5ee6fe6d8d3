"""The composition root: the one place that reads the environment and puts the parts together."""

from ricordo.wiring.backups import check_backup, restore_backup
from ricordo.wiring.databases import (
    TEMPORARY,
    database_file,
    database_key,
    file_opener,
    open_database,
)
from ricordo.wiring.environment import ENVIRONMENT_PREFIX, read_settings
from ricordo.wiring.opening import files_folder, open_memory

__all__ = [
    "ENVIRONMENT_PREFIX",
    "TEMPORARY",
    "check_backup",
    "database_file",
    "database_key",
    "file_opener",
    "files_folder",
    "open_database",
    "open_memory",
    "read_settings",
    "restore_backup",
]
