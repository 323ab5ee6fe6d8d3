"""The schema's steps, one Alembic chain for both databases."""

from typing import Final

CHAIN: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
"""Every step in order, so that an up-to-date database is recognised without loading Alembic."""

HEAD: Final = CHAIN[-1]

VERSION_TABLE: Final = "alembic_version"
"""Where a database says which of them it has had."""

BACKUP_MANIFEST: Final = "backup_manifest"
"""The table that makes a file a backup, and no store that can be used."""
