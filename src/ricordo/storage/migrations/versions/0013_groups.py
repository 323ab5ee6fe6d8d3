"""Groups of users who share a space, and their members."""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Moment, Words

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "groups",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("title", Words),
        sa.Column("created_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "group_members",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("space_id", Words, primary_key=True),
        sa.Column("role", Words, nullable=False),
        sa.Column("added_by", Words),
        sa.Column("created_at", Moment, nullable=False),
        sa.CheckConstraint(
            "role IN ('read', 'write', 'manage')", name=op.f("ck_group_members_role")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_group_members_space", "group_members", ["space_id", "user_id"])
