"""What search needs: terms and vectors, relations, and where users' vectors are made.

Revision ID: 0002
Revises: 0001
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Moment, Vector, Words

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables that search reads; upkeep fills them for what is already stored."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.add_column("store", sa.Column("text", Words))
    for name in ("index_stamp", "index_epoch"):
        op.add_column("users", _counter(name))
    for of in ("item", "turn"):
        _create_index_table(f"{of}_index")
    _create_relations()
    _create_embedding_settings()


def _counter(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _create_index_table(name: str) -> None:
    op.create_table(
        name,
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
        sa.CheckConstraint("state IN ('pending', 'ready', 'error')", name=op.f(f"ck_{name}_state")),
    )
    waiting = sa.text("state = 'pending'")
    op.create_index(f"ix_{name}_stamp", name, ["user_id", "stamp"])
    op.create_index(f"ix_{name}_text", name, ["user_id", "text_hash"])
    op.create_index(
        f"ix_{name}_pending",
        name,
        ["user_id", "id"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )


def _create_relations() -> None:
    op.create_table(
        "relations",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("low_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("high_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("similarity", sa.Double, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.CheckConstraint("low_id < high_id", name=op.f("ck_relations_order")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_relations_high", "relations", ["user_id", "high_id", "low_id"])


def _create_embedding_settings() -> None:
    op.create_table(
        "embedding_settings",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("provider", Words, nullable=False),
        sa.Column("model", Words),
        sa.Column("base_url", Words),
        sa.Column("sealed_key", Words),
        sa.Column("dimensions", sa.Integer),
        sa.Column("updated_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )
