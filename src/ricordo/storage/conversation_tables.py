"""The tables of prompts, long conversations and programs; a part of ``tables.py``."""

from typing import Final

import sqlalchemy as sa

from ricordo.storage.columns import Moment, Words
from ricordo.storage.schema import CLUSTERED, metadata

thread_views: Final = sa.Table(
    "thread_views",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("looked_at", Moment, nullable=False),
    **CLUSTERED,
)
"""Up to which revision each conversation was told of changes. It need not have any turns yet."""

compactions: Final = sa.Table(
    "compactions",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("last_position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("first_position", sa.Integer, nullable=False),
    sa.Column("day", Words, nullable=False),
    sa.Column("summary", Words, nullable=False),
    sa.Column("bridge", Words, nullable=False),
    sa.Column("made_by", Words, nullable=False),
    sa.Column("at", Moment, nullable=False),
    sa.ForeignKeyConstraint(["user_id", "thread_id"], ["threads.user_id", "threads.thread_id"]),
    sa.Index("ix_compactions_day", "user_id", "day", "at"),
    **CLUSTERED,
)
"""What was said in a stretch of a conversation, in short: ``summary`` for the day's log, and
``bridge``, which tells the conversation up to here. The turns themselves stay."""

checkpoints: Final = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("state", Words, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("updated_at", Moment, nullable=False),
)
"""The state of a program per conversation, as the text of one JSON value: exactly what was saved,
which a JSON column would not keep."""

graph_checkpoints: Final = sa.Table(
    "graph_checkpoints",
    metadata,
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
# The order in which they are listed, whatever thread and namespace.
sa.Index(
    "ix_graph_checkpoints_order",
    graph_checkpoints.c.user_id,
    graph_checkpoints.c.checkpoint_id,
    graph_checkpoints.c.thread_id,
    graph_checkpoints.c.namespace,
)
sa.Index("ix_graph_checkpoints_run", graph_checkpoints.c.user_id, graph_checkpoints.c.run_id)

graph_channels: Final = sa.Table(
    "graph_channels",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("thread_id", Words, primary_key=True),
    sa.Column("namespace", Words, primary_key=True),
    sa.Column("channel", Words, primary_key=True),
    sa.Column("version", Words, primary_key=True),
    sa.Column("format", Words, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""The values of a graph's channels, each version once, however many checkpoints refer to it."""

graph_writes: Final = sa.Table(
    "graph_writes",
    metadata,
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
"""What a graph's tasks have written since a checkpoint."""

store_entries: Final = sa.Table(
    "store_entries",
    metadata,
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
"""Entries of a program's key-value store. ``item_id`` is the memory by which one is found."""
sa.Index("ix_store_entries_item", store_entries.c.user_id, store_entries.c.item_id)
sa.Index(
    "ix_store_entries_expires",
    store_entries.c.user_id,
    store_entries.c.expires_at,
    sqlite_where=store_entries.c.expires_at.is_not(None),
    postgresql_where=store_entries.c.expires_at.is_not(None),
)
