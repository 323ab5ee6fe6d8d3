"""The pieces of long turns. Those that are there are cut when their terms are next brought up to
date, which the next opening of the store plans.
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Words

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table, and have long turns indexed again."""
    op.create_table(
        "turn_pieces",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("turn_id", sa.BigInteger, nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("end", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_turn_pieces_turn", "turn_pieces", ["user_id", "turn_id"])
    op.execute(
        "UPDATE turn_index SET analyser = '' WHERE EXISTS"
        " (SELECT 1 FROM turns WHERE turns.user_id = turn_index.user_id"
        " AND turns.id = turn_index.id AND length(turns.content) > 1000)"
    )
    op.execute("DELETE FROM store WHERE name = 'analyser'")
