"""What the service needs: who may come in, and what was asked before.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Json, Moment, Words

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "api_keys",
        sa.Column("id", Words, primary_key=True),
        sa.Column("secret_hash", Words, nullable=False),
        sa.Column("name", Words, nullable=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("user_id", Words),
        sa.Column("agent_id", Words),
        sa.Column("categories", Json),
        sa.Column("permissions", Json, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment),
        sa.Column("revoked_at", Moment),
        sa.Column("last_used_at", Moment),
        sa.CheckConstraint("kind IN ('user', 'agent', 'service')", name=op.f("ck_api_keys_kind")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_api_keys_user", "api_keys", ["user_id"])
    op.create_table(
        "kept_answers",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("idempotency_key", Words, primary_key=True),
        sa.Column("request_hash", Words, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", Json),
        sa.Column("body", sa.LargeBinary),
        sa.Column("at", Moment, nullable=False),
    )
    op.create_index("ix_kept_answers_at", "kept_answers", ["user_id", "at"])
