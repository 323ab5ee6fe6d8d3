"""The migrations, one Alembic chain for both databases."""

from typing import Final

CHAIN: Final = ("0007", "0008")
"""Every step since release 0.1.0, to recognise an up-to-date database without loading Alembic."""

HEAD: Final = CHAIN[-1]

VERSION_TABLE: Final = "alembic_version"
"""Where a database says which of them it has had."""

BACKUP_MANIFEST: Final = "backup_manifest"
"""The table that makes a file a backup, and no store that can be used."""
