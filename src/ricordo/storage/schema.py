"""What all tables of the schema share."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

metadata: Final = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def one_of(column: str, allowed: Iterable[StrEnum]) -> sa.CheckConstraint:
    """A constraint: the column has a word of a vocabulary."""
    values = ", ".join(f"'{member.value}'" for member in allowed)
    return sa.CheckConstraint(f"{column} IN ({values})", name=column)


CLUSTERED: Final[dict[str, Any]] = {"sqlite_with_rowid": False}
"""On SQLite, rows lie in the order of the primary key: one user's together, one index less."""
