"""What formation needs: how far threads are formed, proposals, summaries, events, counters.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

from ricordo.storage.columns import Json, Moment, Words

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_SERIES = "event_ids"


def upgrade() -> None:
    """Make the tables; conversations that are already stored count as not formed yet."""
    _create_formation()
    _create_proposals()
    _create_summaries()
    _create_events()
    _create_tallies()
    _start_event_ids()


def _create_formation() -> None:
    op.create_table(
        "formation",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("thread_id", Words, primary_key=True),
        sa.Column("formed_position", sa.Integer, nullable=False),
        sa.Column("observed_at", Moment, nullable=False),
        sa.Column("formed_at", Moment),
        sa.ForeignKeyConstraint(
            ["user_id", "thread_id"],
            ["threads.user_id", "threads.thread_id"],
            name="fk_formation_threads",
        ),
        sqlite_with_rowid=False,
    )


def _create_proposals() -> None:
    op.create_table(
        "proposals",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("state", Words, nullable=False),
        sa.Column("fields", Json, nullable=False),
        sa.Column("content_hash", Words, nullable=False),
        sa.Column("draft", Json),
        sa.Column("quote", Words),
        sa.Column("signals", Json, nullable=False),
        sa.Column("thread_id", Words),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("decided_at", Moment),
        sa.Column("decided_by", Words),
        sa.Column("item_id", sa.BigInteger),
        sa.CheckConstraint("kind IN ('consent', 'corroboration')", name=op.f("ck_proposals_kind")),
        sa.CheckConstraint(
            "state IN ('open', 'approved', 'rejected', 'expired')", name=op.f("ck_proposals_state")
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_proposals_state", "proposals", ["user_id", "state", "id"])
    op.create_index("ix_proposals_text", "proposals", ["user_id", "content_hash"])


def _create_summaries() -> None:
    op.create_table(
        "summaries",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("content", Words, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("made_by", Words, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("node", Words, nullable=False),
        sa.Column("op", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("thread_id", Words),
        sa.Column("item_id", sa.BigInteger),
        sa.Column("theme", Words),
        sa.Column("similarity", sa.Double),
        sa.Column("detail", Words),
        sa.CheckConstraint("status IN ('ok', 'skipped', 'error')", name=op.f("ck_events_status")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_events_at", "events", ["user_id", "at"])


def _create_tallies() -> None:
    op.create_table(
        "tallies",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("day", Words, primary_key=True),
        sa.Column("name", Words, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def _start_event_ids() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence(_SERIES)))
    else:
        store = sa.table("store", sa.column("name"), sa.column("number"))
        op.bulk_insert(store, [{"name": _SERIES, "number": 0}])
