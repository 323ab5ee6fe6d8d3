"""Sessions of the web page that were signed out of, and which agent recorded a turn.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Json, Moment, Words

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and the column."""
    op.add_column("turns", sa.Column("observed_by", Json))
    op.create_table(
        "ended_sessions",
        sa.Column("id", Words, primary_key=True),
        sa.Column("until", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
