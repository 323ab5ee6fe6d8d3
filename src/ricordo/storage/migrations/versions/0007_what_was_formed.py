"""What leads from conversations to the memories formed from them, and back, without a long search;
and what counts active memories and their vectors without reading them.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the indexes."""
    in_a_thread = sa.text("thread_id IS NOT NULL")
    op.create_index(
        "ix_items_thread",
        "items",
        ["user_id", "thread_id", "message_id", "valid_from"],
        sqlite_where=in_a_thread,
        postgresql_where=in_a_thread,
    )
    unnamed = sa.text("message_id IS NULL")
    op.create_index(
        "ix_turns_unnamed",
        "turns",
        ["user_id", "thread_id", "at"],
        sqlite_where=unnamed,
        postgresql_where=unnamed,
    )
    active = sa.text("status = 'active'")
    op.create_index(
        "ix_items_active",
        "items",
        ["user_id", "theme", "created_at", "id", "expires_at", "status"],
        sqlite_where=active,
        postgresql_where=active,
    )
    for name in ("item_index", "turn_index"):
        op.create_index(
            f"ix_{name}_made", name, ["user_id", "state", "provider", "model", "dimensions"]
        )
