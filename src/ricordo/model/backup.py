"""What a backup holds, and what a restore did."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ricordo.model.record import Record

LEFT_OUT: Final = (
    "what opens users' own API keys: secret.key in the home folder, or RICORDO_SECRET_KEY",
    "the files of the home folder: prompts, profiles, mirrors",
    "the policy file",
)
"""What belongs to a store, is not in its database, and so in none of its backups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport(Record):
    """A backup that was made, or looked through and found sound.

    ``version`` and ``schema`` are those of the ricordo that made it and of its tables, ``database``
    what it was made from: ``sqlite`` or ``postgresql``. ``rows`` has every table with anything of a
    user's. ``left_out`` is what has to be kept elsewhere.
    """

    path: str
    made_at: datetime
    version: str
    schema: str
    database: str
    size_bytes: int
    rows: Mapping[str, int]
    left_out: tuple[str, ...] = LEFT_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport(Record):
    """A backup that is now what a store holds.

    ``schema`` is that of the store, ``migrated_from`` that of the backup where it was older.
    ``replaced`` says that the store had something before.
    """

    path: str
    made_at: datetime
    database: str
    schema: str
    migrated_from: str | None
    replaced: bool
    rows: Mapping[str, int]
    left_out: tuple[str, ...] = LEFT_OUT
