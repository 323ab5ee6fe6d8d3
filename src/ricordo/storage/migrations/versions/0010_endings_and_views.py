"""Since when what a turn says is no longer so, and the memories whose changes a conversation was
notified of ahead of the others.
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.sql import Json, Moment

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add both columns."""
    op.add_column("turns", sa.Column("ended_at", Moment))
    op.add_column("thread_views", sa.Column("ahead", Json))
