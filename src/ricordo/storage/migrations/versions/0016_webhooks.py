"""Webhooks, how far each has come, and what they sent last."""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Json, Moment, Words

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make the three tables."""
    op.create_table(
        "webhooks",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", Words, primary_key=True),
        sa.Column("url", Words, nullable=False),
        sa.Column("events", Json, nullable=False),
        sa.Column("project_id", Words),
        sa.Column("sealed_secret", Words, nullable=False),
        sa.Column("sealed_old_secret", Words),
        sa.Column("old_secret_until", Moment),
        sa.Column("state", Words, nullable=False),
        sa.Column("reason", Words),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("failing_since", Moment),
        sa.Column("next_attempt_at", Moment),
        sa.Column("last_error", Words),
        sa.Column("last_delivered_at", Moment),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.CheckConstraint("state IN ('active', 'paused')", name=op.f("ck_webhooks_state")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "webhook_cursors",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("webhook_id", Words, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("ahead_to", sa.BigInteger, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("sending_to", sa.BigInteger),
        sa.Column("message_id", Words),
        sqlite_with_rowid=False,
    )
    pending = sa.text("ahead_to > revision")
    op.create_index(
        "ix_webhook_cursors_pending",
        "webhook_cursors",
        ["user_id", "webhook_id"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("webhook_id", Words, nullable=False),
        sa.Column("message_id", Words, nullable=False),
        sa.Column("type", Words, nullable=False),
        sa.Column("first_revision", sa.BigInteger),
        sa.Column("last_revision", sa.BigInteger),
        sa.Column("changes", sa.Integer, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("delivered", sa.Boolean, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("milliseconds", sa.Integer, nullable=False),
        sa.Column("error", Words),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_webhook_deliveries_webhook", "webhook_deliveries", ["user_id", "webhook_id", "id"]
    )
