"""Indexes for lists by importance, confidence, recalls and the last recall, and of what took the
place of a memory.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_UNUSUAL = {
    "importance": "importance <> 2",
    "confidence": "confidence <> 90",
    "access_count": "access_count <> 0",
    "last_accessed_at": "last_accessed_at IS NOT NULL",
}


def upgrade() -> None:
    """Make them, of the rows that have not the usual value."""
    for column, condition in _UNUSUAL.items():
        where = sa.text(condition)
        op.create_index(
            f"ix_items_{column}",
            "items",
            ["user_id", column, "id"],
            sqlite_where=where,
            postgresql_where=where,
        )
    for column in ("new_ref", "old_ref"):
        where = sa.text(f"{column} <> item_id")
        op.create_index(
            f"ix_history_{column}",
            "history",
            ["user_id", column, "revision"],
            sqlite_where=where,
            postgresql_where=where,
        )
