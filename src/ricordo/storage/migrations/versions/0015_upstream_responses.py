"""Which conversation a response that a model's endpoint keeps is part of."""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Moment, Words

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "upstream_responses",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("response_hash", Words, primary_key=True),
        sa.Column("thread_id", Words, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_upstream_responses_at", "upstream_responses", ["user_id", "at"])
