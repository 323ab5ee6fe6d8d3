"""Who was offered a memory of another user and what they said to it, and whom users block; which
agent recorded a turn; and sessions of the web page that were signed out of.

Links that are there stay: they are as good as accepted.
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Json, Moment, Words

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the tables and the column."""
    op.create_table(
        "link_offers",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("item_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("owner_id", Words, nullable=False),
        sa.Column("state", Words, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("decided_at", Moment),
        sa.Column("decided_by", Words),
        sa.CheckConstraint(
            "state IN ('open', 'approved', 'rejected', 'expired')",
            name=op.f("ck_link_offers_state"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_link_offers_owner", "link_offers", ["owner_id", "item_id"])
    op.create_table(
        "blocked_senders",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("sender_id", Words, primary_key=True),
        sa.Column("created_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_blocked_senders_sender", "blocked_senders", ["sender_id"])
    op.add_column("turns", sa.Column("observed_by", Json))
    op.create_table(
        "ended_sessions",
        sa.Column("id", Words, primary_key=True),
        sa.Column("until", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
