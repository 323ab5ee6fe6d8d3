"""The tables that search reads: terms, vectors, relations; a part of ``tables.py``."""

from typing import Final

import sqlalchemy as sa

from ricordo.model.vocabulary import VectorState
from ricordo.storage.columns import Moment, Vector, Words
from ricordo.storage.schema import CLUSTERED, metadata, one_of


def _index_table(of: str) -> sa.Table:
    """What search reads of a memory or turn: its terms, and its vector or why it has none."""
    name = f"{of}_index"
    table = sa.Table(
        name,
        metadata,
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("stamp", sa.BigInteger, nullable=False),
        sa.Column("analyser", Words, nullable=False),
        sa.Column("terms", Words, nullable=False),
        sa.Column("text_hash", Words, nullable=False),
        sa.Column("state", Words, nullable=False),
        sa.Column("provider", Words),
        sa.Column("model", Words),
        sa.Column("dimensions", sa.Integer),
        sa.Column("error", Words),
        sa.Column("vector", Vector),
        one_of("state", VectorState),
    )
    sa.Index(f"ix_{name}_stamp", table.c.user_id, table.c.stamp)
    sa.Index(f"ix_{name}_text", table.c.user_id, table.c.text_hash)
    # Counts how far vectors have come without touching the rows, which are as wide as those.
    made = (table.c.state, table.c.provider, table.c.model, table.c.dimensions)
    sa.Index(f"ix_{name}_made", table.c.user_id, *made)
    waiting = table.c.state == "pending"
    sa.Index(
        f"ix_{name}_pending",
        table.c.user_id,
        table.c.id,
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    return table


item_index: Final = _index_table("item")
turn_index: Final = _index_table("turn")

relations: Final = sa.Table(
    "relations",
    metadata,
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("low_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("high_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("similarity", sa.Double, nullable=False),
    sa.Column("created_at", Moment, nullable=False),
    sa.CheckConstraint("low_id < high_id", name="order"),
    sa.Index("ix_relations_high", "user_id", "high_id", "low_id"),
    **CLUSTERED,
)
"""Two memories of one user that are about the same; each pair once, the lower id first."""
