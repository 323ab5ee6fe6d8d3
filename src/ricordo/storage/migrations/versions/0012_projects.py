"""The project of memories, conversations and proposals: the same text or key in two projects is
two memories.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Words

revision = "0012"
down_revision = "0011"

_PROJECT = sa.text("coalesce(project_id, '')")
_ACTIVE = "status = 'active'"
_KEYED = f'{_ACTIVE} AND "key" IS NOT NULL'
_OF_PROJECT = "project_id IS NOT NULL"


def upgrade() -> None:
    """Add the columns, and make the unique indexes again with them."""
    for table in ("items", "threads", "proposals"):
        op.add_column(table, sa.Column("project_id", Words))
    text = ["user_id", "theme", "content_hash", sa.text("coalesce(\"key\", '')"), _PROJECT]
    for name, where, columns in (
        ("uq_items_text", _ACTIVE, text),
        ("uq_items_key", _KEYED, ["user_id", "key", "theme", _PROJECT]),
    ):
        op.drop_index(name, "items")
        _create(name, "items", where, columns, unique=True)
    _create("ix_items_project", "items", _OF_PROJECT, ["user_id", "project_id", "created_at", "id"])
    threads = ["user_id", "project_id", "updated_at", "thread_id"]
    _create("ix_threads_project", "threads", _OF_PROJECT, threads)


def _create(
    name: str, table: str, where: str, columns: Sequence[Any], unique: bool = False
) -> None:
    condition = sa.text(where)
    op.create_index(
        name,
        table,
        columns,
        unique=unique,
        sqlite_where=condition,
        postgresql_where=condition,
    )
