"""Every id that a model's endpoint gave to a user, not of responses alone, and the agent."""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Moment, Words

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Make the table, with the responses of the former one."""
    op.create_table(
        "upstream_ids",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id_hash", Words, primary_key=True),
        sa.Column("kind", Words, nullable=False),
        sa.Column("thread_id", Words, nullable=False),
        sa.Column("agent_id", Words),
        sa.Column("at", Moment, nullable=False),
        sa.CheckConstraint(
            "kind IN ('response', 'conversation', 'item')", name=op.f("ck_upstream_ids_kind")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_upstream_ids_at", "upstream_ids", ["user_id", "at"])
    op.execute(
        "INSERT INTO upstream_ids (user_id, id_hash, kind, thread_id, at)"
        " SELECT user_id, response_hash, 'response', thread_id, at FROM upstream_responses"
    )
    op.drop_table("upstream_responses")
