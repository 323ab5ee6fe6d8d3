"""What prompts, long conversations and programs need: which changes a conversation was told of,
what was said in short, and the states and entries that programs keep.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Moment, Words

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    _create_thread_views()
    _create_compactions()
    _create_checkpoints()
    _create_graph_checkpoints()
    _create_graph_channels()
    _create_graph_writes()
    _create_store_entries()


def _create_thread_views() -> None:
    op.create_table(
        "thread_views",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("looked_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_compactions() -> None:
    op.create_table(
        "compactions",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("last_position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first_position", sa.Integer, nullable=False),
        sa.Column("day", Words, nullable=False),
        sa.Column("summary", Words, nullable=False),
        sa.Column("bridge", Words, nullable=False),
        sa.Column("made_by", Words, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "thread_id"],
            ["threads.user_id", "threads.thread_id"],
            name=op.f("fk_compactions_threads"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_compactions_day", "compactions", ["user_id", "day", "at"])


def _create_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("state", Words, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
    )


def _create_graph_checkpoints() -> None:
    op.create_table(
        "graph_checkpoints",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("namespace", Words, primary_key=True),
        sa.Column("checkpoint_id", Words, primary_key=True),
        sa.Column("parent_id", Words),
        sa.Column("run_id", Words),
        sa.Column("format", Words, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("metadata_format", Words, nullable=False),
        sa.Column("metadata", sa.LargeBinary, nullable=False),
        sa.Column("at", Moment, nullable=False),
    )
    op.create_index(
        "ix_graph_checkpoints_order",
        "graph_checkpoints",
        ["user_id", "checkpoint_id", "thread_id", "namespace"],
    )
    op.create_index("ix_graph_checkpoints_run", "graph_checkpoints", ["user_id", "run_id"])


def _create_graph_channels() -> None:
    op.create_table(
        "graph_channels",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("namespace", Words, primary_key=True),
        sa.Column("channel", Words, primary_key=True),
        sa.Column("version", Words, primary_key=True),
        sa.Column("format", Words, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )


def _create_graph_writes() -> None:
    op.create_table(
        "graph_writes",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("namespace", Words, primary_key=True),
        sa.Column("checkpoint_id", Words, primary_key=True),
        sa.Column("task_id", Words, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("task_path", Words, nullable=False),
        sa.Column("channel", Words, nullable=False),
        sa.Column("format", Words, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )


def _create_store_entries() -> None:
    op.create_table(
        "store_entries",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("namespace", Words, primary_key=True),
        sa.Column("key", Words, primary_key=True),
        sa.Column("value", Words, nullable=False),
        sa.Column("item_id", sa.BigInteger),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.Column("expires_at", Moment),
        sa.Column("ttl_minutes", sa.Double),
    )
    op.create_index("ix_store_entries_item", "store_entries", ["user_id", "item_id"])
    expiring = sa.text("expires_at IS NOT NULL")
    op.create_index(
        "ix_store_entries_expires",
        "store_entries",
        ["user_id", "expires_at"],
        sqlite_where=expiring,
        postgresql_where=expiring,
    )
